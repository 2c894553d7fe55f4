package e2e

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// uploader is somebody's way to /media/.
type uploader struct {
	t     *testing.T
	w     World
	token string
}

func (p *person) uploader(w World) uploader { return uploader{p.t, w, p.device.token} }

// ask makes one request. A request that was cut off is an error; every answer is none.
func (u uploader) ask(method, path string, body io.Reader, header ...string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(deadline(u.t), method, u.w.HTTP()+path, body)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+u.token)
	req.Header.Set("Tus-Resumable", "1.0.0")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	all, err := io.ReadAll(resp.Body)
	return resp, all, errors.Join(err, resp.Body.Close())
}

// expect is ask with the status that must come.
func (u uploader) expect(status int, method, path string, body io.Reader, header ...string) (*http.Response, []byte) {
	u.t.Helper()
	resp, all, err := u.ask(method, path, body, header...)
	if err != nil {
		u.t.Fatalf("%s %s: %v", method, path, err)
	}
	if resp.StatusCode != status {
		u.t.Fatalf("%s %s: %s, %d wanted: %s", method, path, resp.Status, status, all)
	}
	return resp, all
}

const uploadsPath = "/media/uploads"

func (u uploader) begin(size int) (id string) {
	u.t.Helper()
	resp, _ := u.expect(http.StatusCreated, "POST", uploadsPath, nil, "Upload-Length", strconv.Itoa(size))
	return strings.TrimPrefix(resp.Header.Get("Location"), uploadsPath+"/")
}

// send sends bytes at an offset.
func (u uploader) send(id string, offset int, r io.Reader) (*http.Response, error) {
	resp, _, err := u.ask("PATCH", uploadsPath+"/"+id, r, "Upload-Offset", strconv.Itoa(offset), "Content-Type", "application/offset+octet-stream")
	return resp, err
}

// offset is how far an upload is.
func (u uploader) offset(id string) int {
	u.t.Helper()
	resp, _ := u.expect(http.StatusOK, "HEAD", uploadsPath+"/"+id, nil)
	n, err := strconv.Atoi(resp.Header.Get("Upload-Offset"))
	if err != nil {
		u.t.Fatal(err)
	}
	return n
}

// rest sends what is missing of an upload.
func (u uploader) rest(id string, content []byte) {
	u.t.Helper()
	at := u.offset(id)
	resp, err := u.send(id, at, bytes.NewReader(content[at:]))
	if err != nil || resp.StatusCode != http.StatusNoContent || resp.Header.Get("Upload-Offset") != strconv.Itoa(len(content)) {
		u.t.Fatalf("%v, %v", resp, err)
	}
}

// up uploads something whole.
func (u uploader) up(content []byte) (id string) {
	u.t.Helper()
	id = u.begin(len(content))
	u.rest(id, content)
	return id
}

// shows sends a message that names uploads.
func (u uploader) shows(conversation, text string, media ...string) uint64 {
	u.t.Helper()
	var r wire.SendMessageResponse
	err := skein.Post(deadline(u.t), u.w.HTTP(), "skein.v1.MessageService/SendMessage", u.token, &wire.SendMessageRequest{
		Conversation: conversation, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}, Media: media,
	}, &r)
	if err != nil {
		u.t.Fatal(err)
	}
	return r.GetSeq()
}

// has fetches an upload, and compares it.
func (u uploader) has(id string, content []byte) {
	u.t.Helper()
	_, got := u.expect(http.StatusOK, "GET", "/media/"+id, nil)
	if sha256.Sum256(got) != sha256.Sum256(content) {
		u.t.Errorf("%s: %d bytes instead of %d, or other ones", id, len(got), len(content))
	}
}

// noise are bytes that no program shows as anything.
func noise(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// sharing: what is uploaded at one node is fetched at any other, by ranges and by links, by
// who may read the message and nobody else.
func sharing(t *testing.T, w World) {
	ann, bob, eve := join(t, w, "ann", 0), join(t, w, "bob", 1), join(t, w, "eve", 2)
	befriend(t, ann, bob)
	a, b, e := ann.uploader(w), bob.uploader(w), eve.uploader(w)
	content := noise(300_000, 1)
	id := a.begin(len(content))
	resp, err := a.send(id, 0, bytes.NewReader(content[:100_000]))
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatal(resp, err)
	}
	if at := a.offset(id); at != 100_000 {
		t.Errorf("it is at %d", at)
	}
	if resp, err := a.send(id, 5, bytes.NewReader(content[5:])); err != nil || resp.StatusCode != http.StatusConflict {
		t.Errorf("at another offset: %v, %v", resp, err)
	}
	a.rest(id, content)
	dm := ann.DM("bob").ID()
	b.expect(http.StatusNotFound, "GET", "/media/"+id, nil)
	seq := a.shows(dm, "look at this", id)
	bob.reaches(dm, seq)
	b.has(id, content)
	a.has(id, content)
	named := fmt.Sprintf("/media/%s?conversation=%s&seq=%d", id, dm, seq)
	resp, part := b.expect(http.StatusPartialContent, "GET", named, nil, "Range", "bytes=250000-250099")
	if !bytes.Equal(part, content[250_000:250_100]) || resp.Header.Get("Content-Range") != "bytes 250000-250099/300000" {
		t.Errorf("a range: %d bytes, %v", len(part), resp.Header)
	}
	resp, _ = b.expect(http.StatusOK, "HEAD", named, nil)
	if resp.ContentLength != 300_000 || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", resp.Header)
	}
	b.expect(http.StatusNotModified, "GET", named, nil, "If-None-Match", resp.Header.Get("ETag"))
	e.expect(http.StatusNotFound, "GET", named, nil)
	e.expect(http.StatusNotFound, "GET", "/media/"+id, nil)
	e.expect(http.StatusNotFound, "HEAD", uploadsPath+"/"+id, nil)
	uploader{t, w, "nobody"}.expect(http.StatusUnauthorized, "GET", named, nil)
	var link wire.LinkMediaResponse
	if err := skein.Post(deadline(t), w.HTTP(), "skein.v1.MediaService/LinkMedia", bob.device.token, &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: id, Conversation: dm, Seq: seq}}, &link); err != nil {
		t.Fatal(err)
	}
	got, err := http.Get(w.HTTP() + link.GetPath())
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(got.Body)
	if err = errors.Join(err, got.Body.Close()); err != nil || got.StatusCode != http.StatusOK || !bytes.Equal(all, content) {
		t.Errorf("a link: %s, %d bytes, %v", got.Status, len(all), err)
	}
	if err := ann.Conversation(dm).Recall(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	b.expect(http.StatusNotFound, "GET", named, nil)
	b.expect(http.StatusNotFound, "GET", "/media/"+id, nil)
}
