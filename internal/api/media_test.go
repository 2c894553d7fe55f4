package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/wire"
)

// upload uploads something for a person, by the service.
func (w *world) upload(p person, content string) string {
	w.t.Helper()
	u, err := w.media.Begin(w.t.Context(), im.UserID(p.id), int64(len(content)), im.MediaFacts{Name: "a.txt"})
	if err == nil {
		_, err = w.media.Write(w.t.Context(), im.UserID(p.id), u.ID, 0, strings.NewReader(content), nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return u.ID
}

// uploads is an upload of a person's, of bob's for who has none.
func (s *scene) uploads(p person) string {
	if p.id == "" {
		p = s.bob
	}
	s.n++
	return s.upload(p, fmt.Sprint("words ", s.n))
}

// shows is an upload that a message of bob's in the group names.
func (s *scene) shows() string {
	s.t.Helper()
	if s.file == "" {
		s.file = s.uploads(s.bob)
		var r wire.SendMessageResponse
		s.must(s.bob.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: s.group, Content: text("look"), Media: []string{s.file}}, &r)
		s.shown = r.GetSeq()
	}
	return s.file
}

func tusOf(method, path, token, body string, header ...string) request {
	h := http.Header{"Tus-Resumable": {tusVersion}, "Authorization": {"Bearer " + token}}
	if body != "" {
		h.Set("Content-Type", tusType)
	}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return request{method: method, path: path, body: body, header: h}
}

func (w *world) status(what string, q request, want int) *httptest.ResponseRecorder {
	w.t.Helper()
	r := do(w.http, q)
	if r.Code != want {
		w.t.Errorf("%s: %d, not %d: %s", what, r.Code, want, r.Body)
	}
	return r
}

func base(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// What is refused with its first bytes is no upload: no id is told, and nothing is left.
func TestRefusedAtOnce(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	content := strings.Repeat("0123456789", 5000)
	for range 40 { // more than may be open
		r := w.status("a wrong sum at once", tusOf("POST", uploadsPath, ann.token, content, "Upload-Length", "50000", "Upload-Checksum", "sha1 "+base(strings.Repeat("x", 20))), statusChecksum)
		if r.Header().Get("Location") != "" {
			t.Fatal(r.Header())
		}
	}
}

// An upload by tus: begun, gone on with, asked about, complete; then a message names it, and
// who reads that fetches it, until it is taken back.
func TestUpload(t *testing.T) {
	w := newWorld(t)
	ann, bob, eve := w.person("ann"), w.person("bob"), w.person("eve")
	w.befriend(ann, bob)
	content := strings.Repeat("0123456789", 5000)
	r := w.status("begin", tusOf("POST", uploadsPath, ann.token, "", "Upload-Length", "50000", "Upload-Metadata", "filename "+base("C:\\temp\\no\u202etes ä.txt")+",filetype "+base("image/png")+", empty"), http.StatusCreated)
	at := r.Header().Get("Location")
	id := strings.TrimPrefix(at, uploadsPath+"/")
	if !strings.HasPrefix(at, uploadsPath+"/") || r.Header().Get("Upload-Expires") == "" || r.Header().Get("Tus-Resumable") != tusVersion {
		t.Fatal(r.Header())
	}
	how := func(want string) {
		t.Helper()
		r := w.status("how far", tusOf("HEAD", at, ann.token, ""), http.StatusOK)
		if h := r.Header(); h.Get("Upload-Offset") != want || h.Get("Upload-Length") != "50000" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%v, %s wanted", h, want)
		}
	}
	how("0")
	r = w.status("a part", tusOf("PATCH", at, ann.token, content[:20000], "Upload-Offset", "0"), http.StatusNoContent)
	if r.Header().Get("Upload-Offset") != "20000" {
		t.Error(r.Header())
	}
	how("20000")
	w.status("not complete", request{method: "GET", path: mediaPath + id, header: http.Header{"Authorization": {"Bearer " + ann.token}}}, http.StatusNotFound)
	w.status("the same part", tusOf("PATCH", at, ann.token, content[:20000], "Upload-Offset", "0"), http.StatusConflict)
	w.status("another one's", tusOf("PATCH", at, bob.token, content[20000:], "Upload-Offset", "20000"), http.StatusNotFound)
	w.status("another one's", tusOf("HEAD", at, bob.token, ""), http.StatusNotFound)
	w.status("another one's", tusOf("DELETE", at, bob.token, ""), http.StatusNotFound)
	sum := sha256.Sum256([]byte(content[20000:]))
	w.status("a wrong sum", tusOf("PATCH", at, ann.token, content[20000:], "Upload-Offset", "20000", "Upload-Checksum", "sha1 "+base(strings.Repeat("x", 20))), statusChecksum)
	how("20000")
	w.status("the rest", tusOf("PATCH", at, ann.token, content[20000:], "Upload-Offset", "20000", "Upload-Checksum", "sha256 "+base(string(sum[:]))), http.StatusNoContent)
	how("50000")
	chat := dm(ann, bob)
	var sent wire.SendMessageResponse
	w.must(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: chat, Content: text("read this"), Media: []string{id}}, &sent)
	var page wire.ListEntriesResponse
	w.must(bob.token, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: chat}, &page)
	var m *wire.Media
	for _, e := range page.GetEntries() {
		for _, x := range e.GetMedia() {
			m = x
		}
	}
	if m.GetId() != id || m.GetName() != "notes ä.txt" || m.GetMime() != "text/plain" || m.GetBytes() != 50000 {
		t.Fatalf("%v", m)
	}
	fetch := func(who person, query string) *httptest.ResponseRecorder {
		return do(w.http, request{method: "GET", path: mediaPath + id + query, header: http.Header{"Authorization": {"Bearer " + who.token}}})
	}
	place := fmt.Sprintf("?conversation=%s&seq=%d", chat, sent.GetSeq())
	for _, query := range []string{"", place} {
		r = fetch(bob, query)
		if r.Code != 200 || r.Body.String() != content {
			t.Errorf("bob, %q: %d", query, r.Code)
		}
		if r = fetch(eve, query); r.Code != 404 {
			t.Errorf("eve, %q: %d", query, r.Code)
		}
	}
	if h := fetch(bob, "").Header(); h.Get("Content-Disposition") != "attachment; filename*=utf-8''notes%20%C3%A4.txt" || h.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("Cache-Control") != "private, no-cache" || h.Get("Content-Encoding") != "" {
		t.Error(h)
	}
	ranged := do(w.http, request{method: "GET", path: mediaPath + id + place, header: http.Header{"Authorization": {"Bearer " + bob.token}, "Range": {"bytes=49990-"}}})
	if ranged.Code != http.StatusPartialContent || ranged.Body.String() != "0123456789" {
		t.Error(ranged.Code, ranged.Body)
	}
	inLines := do(w.http, request{method: "GET", path: mediaPath + id + place, header: http.Header{"Authorization": {"Bearer " + bob.token}, "Range": {"lines=1-2"}}})
	if inLines.Code != http.StatusOK || inLines.Body.String() != content {
		t.Error("ranges of a unit that nobody knows are ignored:", inLines.Code)
	}
	same := do(w.http, request{method: "GET", path: mediaPath + id, header: http.Header{"Authorization": {"Bearer " + bob.token}, "If-None-Match": {fetch(bob, "").Header().Get("Etag")}}})
	if same.Code != http.StatusNotModified {
		t.Error(same.Code)
	}
	w.status("it is named", tusOf("DELETE", at, ann.token, ""), http.StatusForbidden)
}

// Who may name an upload, and who may fetch what is named: its owner names it, a copy gives
// its readers the right, an edit leaves it, a recall takes it.
func TestNamedUploads(t *testing.T) {
	w := newWorld(t)
	ann, bob, eve := w.person("ann"), w.person("bob"), w.person("eve")
	w.befriend(ann, bob)
	chat, id := dm(ann, bob), w.upload(ann, "words")
	var sent wire.SendMessageResponse
	w.must(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: chat, Content: text("read this"), Media: []string{id}}, &sent)
	fetch := func(who person, query string) *httptest.ResponseRecorder {
		return do(w.http, request{method: "GET", path: mediaPath + id + query, header: http.Header{"Authorization": {"Bearer " + who.token}}})
	}
	place := fmt.Sprintf("?conversation=%s&seq=%d", chat, sent.GetSeq())
	var r *httptest.ResponseRecorder
	// Another one cannot name it, and no message names it twice.
	for what, list := range map[string][]string{"invalid_argument": {id, id}, "too_large": make([]string, 11)} {
		if code := w.call(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: chat, Content: text("x"), Media: list}, nil); string(code) != what {
			t.Errorf("%v: %s", list, code)
		}
	}
	if code := w.call(bob.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: chat, Content: text("mine"), Media: []string{id}}, nil); code != im.CodeNotFound {
		t.Errorf("bob names it: %s", code)
	}
	// A copy gives its readers the right; an edit leaves it; a recall takes it.
	w.befriend(bob, eve)
	w.must(bob.token, "MessageService/ForwardMessages", &wire.ForwardMessagesRequest{Conversation: dm(bob, eve), Messages: []*wire.ForwardSource{{Conversation: chat, Seq: sent.GetSeq()}}}, nil)
	if r = fetch(eve, ""); r.Code != 200 {
		t.Errorf("by a copy: %d", r.Code)
	}
	w.must(ann.token, "MessageService/EditMessage", &wire.EditMessageRequest{Conversation: chat, Seq: sent.GetSeq(), Content: text("read it")}, nil)
	if r = fetch(bob, place); r.Code != 200 {
		t.Errorf("after an edit: %d", r.Code)
	}
	w.must(ann.token, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: chat, Seq: sent.GetSeq()}, nil)
	if r = fetch(bob, place); r.Code != 404 {
		t.Errorf("after a recall: %d", r.Code)
	}
	if r = fetch(eve, ""); r.Code != 200 {
		t.Errorf("by the copy yet: %d", r.Code)
	}
	if code := w.call(ann.token, "MediaService/DeleteMedia", &wire.DeleteMediaRequest{Id: id}, nil); code != im.CodePermissionDenied {
		t.Errorf("deleted while the copy names it: %q", code)
	}
	// What none names any more its owner may delete at once.
	again := w.upload(ann, "words")
	w.must(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: chat, Content: text("a slip"), Media: []string{again}}, &sent)
	w.must(ann.token, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: chat, Seq: sent.GetSeq()}, nil)
	w.must(ann.token, "MediaService/DeleteMedia", &wire.DeleteMediaRequest{Id: again}, nil)
}

// A message that is sent later names uploads, its sender's own alone, and whoever may read
// it may fetch them, from then on.
func TestScheduledMedia(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	w.befriend(ann, bob)
	chat, id := dm(ann, bob), w.upload(ann, "words")
	later := func(media ...string) *wire.ScheduleMessageRequest {
		return &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: chat, Content: text("soon"), Media: media}, AtMs: time.Now().Add(time.Hour).UnixMilli()}
	}
	for field, c := range map[string]struct {
		token string
		req   *wire.ScheduleMessageRequest
		code  im.Code
	}{
		"message.media[0]": {bob.token, later(id), im.CodeNotFound},
		"message.media[1]": {ann.token, later(id, strings.Repeat("A", 26)), im.CodeNotFound},
		"message.media":    {ann.token, later(make([]string, 11)...), im.CodeTooLarge},
	} {
		code, got := w.refusal(c.token, "MessageService/ScheduleMessage", c.req)
		if code != c.code || got != field {
			t.Errorf("%s: %s of %q", field, code, got)
		}
	}
	var kept wire.ScheduleMessageResponse
	w.must(ann.token, "MessageService/ScheduleMessage", later(id), &kept)
	var all wire.ListScheduledResponse
	w.must(ann.token, "MessageService/ListScheduled", &wire.ListScheduledRequest{}, &all)
	if len(all.GetScheduled()) != 1 || !slices.Equal(all.Scheduled[0].GetMessage().GetMedia(), []string{id}) {
		t.Errorf("scheduled: %v", all.GetScheduled())
	}
	if code := w.call(bob.token, "MediaService/LinkMedia", &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: id}}, nil); code != im.CodeNotFound {
		t.Errorf("bob fetches what was not sent: %s", code)
	}
	if code := w.call(ann.token, "MediaService/DeleteMedia", &wire.DeleteMediaRequest{Id: id}, nil); code != im.CodePermissionDenied {
		t.Errorf("thrown away while a message waits for it: %s", code)
	}
}

// A picture in the request that begins it; its thumbnail; and a link that holds for its
// user, upload and form alone.
func TestPictureAndLinks(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 700, 350))); err != nil {
		t.Fatal(err)
	}
	r := w.status("all at once", tusOf("POST", uploadsPath, ann.token, b.String(), "Upload-Length", strconv.Itoa(b.Len())), http.StatusCreated)
	if r.Header().Get("Upload-Offset") != strconv.Itoa(b.Len()) {
		t.Error(r.Header())
	}
	id := strings.TrimPrefix(r.Header().Get("Location"), uploadsPath+"/")
	var got wire.GetMediaResponse
	w.must(ann.token, "MediaService/GetMedia", &wire.GetMediaRequest{Media: []*wire.MediaPlace{{Id: strings.Repeat("A", 26)}, {Id: id}}}, &got)
	if len(got.GetMedia()) != 1 || got.Media[0].GetWidth() != 700 || !got.Media[0].GetThumbnail() || got.Media[0].GetMime() != "image/png" {
		t.Fatalf("%v", &got)
	}
	w.must(bob.token, "MediaService/GetMedia", &wire.GetMediaRequest{Media: []*wire.MediaPlace{{Id: id}}}, &got)
	if len(got.GetMedia()) != 0 {
		t.Errorf("bob: %v", &got)
	}
	var link wire.LinkMediaResponse
	w.must(ann.token, "MediaService/LinkMedia", &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: id}, Thumbnail: true}, &link)
	r = w.status("a link", request{method: "GET", path: link.GetPath()}, http.StatusOK)
	if small, _, err := image.Decode(r.Body); err != nil || small.Bounds().Dx() != 320 || r.Header().Get("Content-Disposition") != "inline" {
		t.Error(err, r.Header())
	}
	for what, path := range map[string]string{
		"of another user": strings.Replace(link.GetPath(), ann.id, bob.id, 1), "of the whole": strings.Replace(link.GetPath(), thumbnailPath, "", 1),
		"longer": strings.Replace(link.GetPath(), "until=", "until=9", 1), "of another place": link.GetPath() + "&conversation=grp:g&seq=1",
	} {
		w.status("a link "+what, request{method: "GET", path: path}, http.StatusNotFound)
	}
	w.status("without a token", request{method: "GET", path: mediaPath + id}, http.StatusUnauthorized)
	// A link for a user who may not fetch it, made by who knows how.
	l := media.Link{User: im.UserID(bob.id), Media: id, Until: w.calls.Now().Add(media.LinkTime)}
	w.status("of who may not", request{method: "GET", path: linkPath(l, w.media.Sign(l))}, http.StatusNotFound)
	w.must(ann.token, "MediaService/DeleteMedia", &wire.DeleteMediaRequest{Id: id}, nil)
	w.status("thrown away", request{method: "GET", path: link.GetPath()}, http.StatusNotFound)
}

// What is wrong with an upload is told, before anything is kept of it.
func TestUploadRefused(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	begin := func(header ...string) request { return tusOf("POST", uploadsPath, ann.token, "", header...) }
	for what, c := range map[string]struct {
		q    request
		want int
	}{
		"no token":            {request{method: "POST", path: uploadsPath, header: http.Header{"Tus-Resumable": {tusVersion}, "Upload-Length": {"5"}}}, 401},
		"the admin key":       {tusOf("POST", uploadsPath, adminKey, "", "Upload-Length", "5"), 403},
		"no version":          {begin("Tus-Resumable", "", "Upload-Length", "5"), 412},
		"another version":     {begin("Tus-Resumable", "0.2", "Upload-Length", "5"), 412},
		"no length":           {begin(), 400},
		"a length later":      {begin("Upload-Defer-Length", "1"), 400},
		"no number":           {begin("Upload-Length", "many"), 400},
		"nothing":             {begin("Upload-Length", "0"), 400},
		"below nothing":       {begin("Upload-Length", "-1"), 400},
		"too long":            {begin("Upload-Length", "4194305"), 413},
		"no base64":           {begin("Upload-Length", "5", "Upload-Metadata", "filename ###"), 400},
		"two lines":           {begin("Upload-Length", "5", "Upload-Metadata", "filename "+base("a\nb")), 400},
		"no UTF-8":            {begin("Upload-Length", "5", "Upload-Metadata", "filename "+base("\xff")), 400},
		"a long name":         {begin("Upload-Length", "5", "Upload-Metadata", "filename "+base(strings.Repeat("n", 256))), 413},
		"much said":           {begin("Upload-Length", "5", "Upload-Metadata", strings.Repeat("k,", 3000)), 413},
		"loud":                {begin("Upload-Length", "5", "Upload-Metadata", "waveform "+base("\xc8")), 400},
		"a long wave":         {begin("Upload-Length", "5", "Upload-Metadata", "waveform "+base(strings.Repeat("1", 101))), 413},
		"no duration":         {begin("Upload-Length", "5", "Upload-Metadata", "duration_ms "+base("-1")), 400},
		"more than said":      {tusOf("POST", uploadsPath, ann.token, "123456", "Upload-Length", "5"), 413},
		"no picture":          {tusOf("POST", uploadsPath, ann.token, "GIF89a", "Upload-Length", "6"), 400},
		"an unknown checksum": {tusOf("POST", uploadsPath, ann.token, "12345", "Upload-Length", "5", "Upload-Checksum", "md5 x"), 400},
		"a short checksum":    {tusOf("POST", uploadsPath, ann.token, "12345", "Upload-Length", "5", "Upload-Checksum", "sha1 "+base("x")), 400},
		"another method":      {tusOf("PUT", uploadsPath, ann.token, ""), 405},
		"a path":              {tusOf("HEAD", uploadsPath+"/..%2f..%2fkeys", ann.token, ""), 404},
		"nothing there":       {tusOf("HEAD", uploadsPath+"/"+strings.Repeat("A", 26), ann.token, ""), 404},
		"a path to fetch":     {request{method: "GET", path: mediaPath + "..%2fkeys", header: http.Header{"Authorization": {"Bearer " + ann.token}}}, 404},
		"no seq":              {request{method: "GET", path: mediaPath + strings.Repeat("A", 26) + "?conversation=grp:g", header: http.Header{"Authorization": {"Bearer " + ann.token}}}, 400},
	} {
		r := w.status(what, c.q, c.want)
		if c.want >= 400 && c.q.method != "HEAD" {
			if err := w.schemas.failure(r.Body.Bytes()); err != nil {
				t.Errorf("%s: %v: %s", what, err, r.Body)
			}
		}
	}
	at := w.status("begin", begin("Upload-Length", "5"), 201).Header().Get("Location")
	w.status("another type", tusOf("PATCH", at, ann.token, "12345", "Upload-Offset", "0", "Content-Type", "text/plain"), 415)
	w.status("no offset", tusOf("PATCH", at, ann.token, "12345"), 400)
	w.status("too far", tusOf("PATCH", at, ann.token, "5", "Upload-Offset", "4"), 409)
	w.status("given up", tusOf("POST", at, ann.token, "", "X-HTTP-Method-Override", "DELETE"), 204)
	w.status("given up twice", tusOf("DELETE", at, ann.token, ""), 404)
	r := w.status("what it can", request{method: "OPTIONS", path: uploadsPath}, 204)
	if h := r.Header(); h.Get("Tus-Extension") != tusExtensions || h.Get("Tus-Max-Size") != "4194304" || h.Get("Tus-Version") != tusVersion {
		t.Error(h)
	}
	// HTML and SVG are nothing to show, whatever they are called.
	for _, active := range []string{"<html><script>alert(1)</script>", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`} {
		id := w.upload(ann, active)
		r := do(w.http, request{method: "GET", path: mediaPath + id, header: http.Header{"Authorization": {"Bearer " + ann.token}}})
		if h := r.Header(); r.Code != 200 || h.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
			t.Error(r.Code, h)
		}
	}
}

// previews is the picture of the preview of a message of bob's in the group, and that
// message's seq.
func (s *scene) previews() (id string, seq uint64) {
	s.t.Helper()
	const link = "https://tea.example/green"
	var r wire.SendMessageResponse
	s.must(s.bob.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: s.group, Content: text(link)}, &r)
	return s.preview(s.group, r.GetSeq(), link), r.GetSeq()
}

// preview gives a message a preview with a picture, whose id it returns.
func (w *world) preview(c string, seq uint64, link string) string {
	w.t.Helper()
	var b bytes.Buffer
	err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30)))
	id := ""
	if err == nil {
		id, err = w.media.KeepSmall(w.t.Context(), b.Bytes())
	}
	if err == nil {
		err = w.messages.AddPreview(w.t.Context(), im.ConversationID(c), seq, &im.Preview{URL: link, Title: "Tea", Image: id})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// Who reads a message fetches the picture of its preview; nobody else, and nobody any more
// when the message has it no more.
func TestPreviewPictures(t *testing.T) {
	w := newWorld(t)
	ann, bob, cem := w.person("ann"), w.person("bob"), w.person("cem")
	w.befriend(ann, bob)
	chat, link := dm(ann, bob), "https://tea.example/green"
	fetch := func(p person, id string, seq uint64, want int) {
		t.Helper()
		for _, at := range []string{"", "?conversation=" + chat + "&seq=" + strconv.FormatUint(seq, 10)} {
			for _, path := range []string{mediaPath + id, mediaPath + id + thumbnailPath} {
				w.status(p.username+" "+path+at, request{method: "GET", path: path + at, header: http.Header{"Authorization": {"Bearer " + p.token}}}, want)
			}
		}
	}
	say := func() (id string, seq uint64) {
		var r wire.SendMessageResponse
		w.must(ann.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: chat, Content: text("see " + link)}, &r)
		return w.preview(chat, r.GetSeq(), link), r.GetSeq()
	}
	id, seq := say()
	fetch(ann, id, seq, 200)
	fetch(bob, id, seq, 200)
	fetch(cem, id, seq, 404)
	w.must(ann.token, "MessageService/EditMessage", &wire.EditMessageRequest{Conversation: chat, Seq: seq, Content: text("no link")}, nil)
	fetch(ann, id, seq, 404)
	fetch(bob, id, seq, 404)
	id, seq = say()
	w.must(ann.token, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: chat, Seq: seq}, nil)
	fetch(ann, id, seq, 404)
	fetch(bob, id, seq, 404)
	// Nobody names the server's uploads for themselves.
	id, _ = say()
	code := w.call(bob.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: chat, Content: text("mine"), Media: []string{id}}, nil)
	if code != im.CodeNotFound {
		t.Error("named by a user:", code)
	}
}

// The picture of a user or a group is everybody's who is signed in, and nobody's any more
// once another one shows them. An upload of somebody else's is not made public by it.
func TestPictureOfAUser(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	fetch := func(token, id string) int {
		return do(w.http, request{method: "GET", path: mediaPath + id, header: http.Header{"Authorization": {"Bearer " + token}}}).Code
	}
	picture := func(p person, id string) {
		t.Helper()
		w.must(p.token, "UserService/UpdateProfile", &wire.UpdateProfileRequest{Picture: &id}, nil)
	}
	one, two := w.draws(bob, 8), w.draws(bob, 9)
	picture(ann, one)
	if fetch(ann.token, one) != http.StatusNotFound {
		t.Error("who names an upload of another one has it")
	}
	picture(bob, one)
	if fetch(ann.token, one) != http.StatusOK || fetch("", one) != http.StatusUnauthorized {
		t.Error("the picture of bob is not everybody's who is signed in, or a stranger's")
	}
	picture(bob, two)
	if fetch(ann.token, one) != http.StatusNotFound || fetch(ann.token, two) != http.StatusOK {
		t.Error("a picture of before is to be had, or the new one is not")
	}
}
