package e2e

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
)

// previewOf waits until a message has a preview, or another one, and returns its title.
func (p *person) previewOf(conversation string, seq uint64, want string) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ms, err := p.Conversation(conversation).History(p.t.Context(), 0, 50)
		if err != nil {
			p.t.Fatal(err)
		}
		got := ""
		for _, m := range ms {
			if m.Seq == seq {
				got = m.Preview.GetTitle()
			}
		}
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s sees the preview %q, want %q", p.User(), got, want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// previews: the first link of a message is looked at once, for all who read it, also for
// who is away; edits and recalls have their way; a site of this machine that is not allowed
// is never reached.
func previews(t *testing.T, w World) {
	asked := new(atomic.Int64)
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(rw, r, "http://"+l.Addr().String(), http.StatusFound)
			return
		}
		asked.Add(1)
		switch r.URL.Path {
		case "/pic.png":
			var b bytes.Buffer
			_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 90, 60)))
			rw.Header().Set("Content-Type", "image/png")
			_, _ = rw.Write(b.Bytes())
		default:
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(rw, `<title>Tea `+r.URL.Path+`</title><meta property="og:image" content="/pic.png">`)
		}
	}))
	defer site.Close()
	hidden := new(atomic.Int64)
	other := &httptest.Server{Listener: l, Config: &http.Server{ReadHeaderTimeout: patience, ConnState: func(net.Conn, http.ConnState) { hidden.Add(1) }}}
	other.Start()
	defer other.Close()
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	befriend(t, ann, bob)
	chat := skein.DM(ann.User(), bob.User())
	first := ann.says(chat, "see "+site.URL+"/green")
	for _, p := range []*person{ann, bob} {
		p.previewOf(chat, first.Seq, "Tea /green")
	}
	none := ann.says(chat, site.URL+"/none", skein.NoPreview())
	bob.leave()
	if err := ann.Conversation(chat).Edit(t.Context(), first.Seq, "rather "+site.URL+"/black"); err != nil {
		t.Fatal(err)
	}
	ann.previewOf(chat, first.Seq, "Tea /black")
	gone := ann.says(chat, site.URL+"/gone")
	ann.previewOf(chat, gone.Seq, "Tea /gone")
	if err := ann.Conversation(chat).Recall(t.Context(), gone.Seq); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{other.URL, site.URL + "/away"} {
		ann.says(chat, link)
	}
	w.Stop(t)
	w.Start(t)
	last := ann.says(chat, site.URL+"/last")
	ann.previewOf(chat, last.Seq, "Tea /last")
	bob = connect(t, w, newDevice(t, w, bob.User(), 0, 2))
	bob.previewOf(chat, first.Seq, "Tea /black")
	bob.previewOf(chat, last.Seq, "Tea /last")
	bob.previewOf(chat, none.Seq, "")
	bob.previewOf(chat, gone.Seq, "")
	// What was looked at before the restart is not looked at again: four pages, and where
	// pictures are kept four pictures.
	if n := asked.Load(); n != 4 && n != 8 {
		t.Errorf("the site was asked %d times", n)
	}
	if n := hidden.Load(); n != 0 {
		t.Errorf("what may not be fetched from was reached %d times", n)
	}
}
