package story

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/skein-im/skein/wire"
)

// media: Ann uploads a file and sends it, Bob fetches it by a link; what she does not send
// she throws away. A server that takes no uploads says so.
func media(t *teller) {
	sent := t.upload(t.ann, "Tea at five.")
	if t.err == nil && sent == "" {
		none := &wire.MediaPlace{Id: strings.Repeat("A", 26)}
		t.refused(t.ann, "MediaService/GetMedia", &wire.GetMediaRequest{Media: []*wire.MediaPlace{none}}, wire.CodeUnimplemented)
		t.refused(t.ann, "MediaService/LinkMedia", &wire.LinkMediaRequest{Media: none}, wire.CodeUnimplemented)
		t.refused(t.ann, "MediaService/DeleteMedia", &wire.DeleteMediaRequest{Id: none.Id}, wire.CodeUnimplemented)
		return
	}
	spare := t.upload(t.ann, "Tea at four.")
	say := &wire.SendMessageRequest{Conversation: t.tea, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "The plan"}}, Media: []string{sent}}
	var ack wire.SendMessageResponse
	t.call(t.ann, "MessageService/SendMessage", say, &ack)
	t.hears("ann: The plan", t.annPhone, t.annLaptop, t.bobs)
	at := &wire.MediaPlace{Id: sent, Conversation: t.tea, Seq: ack.Seq}
	var known wire.GetMediaResponse
	t.call(t.bob, "MediaService/GetMedia", &wire.GetMediaRequest{Media: []*wire.MediaPlace{at, {Id: spare}}}, &known)
	t.check(len(known.Media) == 1 && known.Media[0].Mime == "text/plain" && known.Media[0].Name == "plan.txt", "Bob knows what Ann sent, and of nothing else", known.Media)
	var link wire.LinkMediaResponse
	t.call(t.bob, "MediaService/LinkMedia", &wire.LinkMediaRequest{Media: at}, &link)
	t.check(t.fetch(link.Path) == "Tea at five.", "Bob reads it by a link", link.Path)
	t.refused(t.bob, "MediaService/DeleteMedia", &wire.DeleteMediaRequest{Id: spare}, wire.CodeNotFound)
	t.call(t.ann, "MediaService/DeleteMedia", &wire.DeleteMediaRequest{Id: spare}, new(wire.DeleteMediaResponse))
}

// upload uploads a file, and returns its id; "" where the server takes none.
func (t *teller) upload(by *person, content string) string {
	if t.err != nil {
		return ""
	}
	r, err := http.NewRequestWithContext(t.ctx, http.MethodPost, t.server.URL+"/media/uploads", strings.NewReader(content))
	if err != nil {
		t.fail("upload: %w", err)
		return ""
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + by.token, "Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream", "Upload-Length": fmt.Sprint(len(content)),
		"Upload-Metadata": "filename cGxhbi50eHQ=",
	} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.fail("upload: %w", err)
		return ""
	}
	err = answer.Body.Close()
	if err == nil && answer.StatusCode == http.StatusNotImplemented {
		return ""
	}
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.fail("upload: %s", answer.Status)
		return ""
	}
	return strings.TrimPrefix(answer.Header.Get("Location"), "/media/uploads/")
}

// fetch is what lies at a link.
func (t *teller) fetch(path string) string {
	if t.err != nil {
		return ""
	}
	r, err := http.NewRequestWithContext(t.ctx, http.MethodGet, t.server.URL+path, nil)
	if err != nil {
		t.fail("fetch: %w", err)
		return ""
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.fail("fetch: %w", err)
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.fail("fetch: %w", err)
	}
	return string(text)
}
