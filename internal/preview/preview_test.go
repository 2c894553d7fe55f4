package preview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// fakeMessages are messages, by their seq, with the links that they want.
type fakeMessages struct {
	mu    sync.Mutex
	wants map[uint64]string
	added map[uint64]im.Preview
	fail  func(seq uint64) error
}

func (f *fakeMessages) WantsPreview(_ context.Context, _ im.ConversationID, seq uint64) (string, time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wants[seq], time.Time{}, nil
}

func (f *fakeMessages) AddPreview(_ context.Context, _ im.ConversationID, seq uint64, p *im.Preview) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(seq); err != nil {
			return err
		}
	}
	f.added[seq] = *p
	delete(f.wants, seq)
	return nil
}

// fakePictures keeps pictures by how long they are.
type fakePictures struct{ n atomic.Int64 }

func (f *fakePictures) KeepSmall(_ context.Context, file []byte) (string, error) {
	if !bytes.HasPrefix(file, []byte("\x89PNG")) {
		return "", errors.New("no picture")
	}
	return "PIC" + strings.Repeat("I", int(f.n.Add(1))), nil
}

func onePixel() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1)))
	return b.Bytes()
}

// teaSite has pages about tea, and counts what is asked of it.
func teaSite(t *testing.T) (string, *atomic.Int64) {
	asked := new(atomic.Int64)
	return siteAt(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h := w.Header()
		h.Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/tea":
			io.WriteString(w, `<title>Tea</title><meta property="og:image" content="/pic.png">`)
		case "/pic.png":
			h.Set("Content-Type", "image/png")
			_, _ = w.Write(onePixel())
		case "/liar.png":
			h.Set("Content-Type", "image/png")
			io.WriteString(w, `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`)
		case "/svg":
			h.Set("Content-Type", "image/svg+xml")
			io.WriteString(w, `<svg xmlns="http://www.w3.org/2000/svg"/>`)
		case "/lying":
			io.WriteString(w, `<title>Liar</title><meta property="og:image" content="/liar.png">`)
		case "/inside":
			io.WriteString(w, `<title>Inside</title><meta property="og:image" content="http://10.0.0.1/pic.png">`)
		case "/untitled":
			io.WriteString(w, `<p>nothing`)
		}
	}), asked
}

func serviceFor(t *testing.T, now *time.Time) (*Service, *fakeMessages) {
	m := &fakeMessages{wants: map[uint64]string{}, added: map[uint64]im.Preview{}}
	return New(Options{Messages: m, Pictures: &fakePictures{}, Allow: loopback, Agent: "test", Now: func() time.Time { return *now }}), m
}

func entry(seq uint64, stored time.Time) im.Entry {
	return im.Entry{Conversation: "dm:a:b", Seq: seq, Sender: "a", Kind: im.EntryMessage, Stored: stored, Body: []byte("see http://x")}
}

// Messages get what their links lead to; one link is fetched once for all of them.
func TestLinksAreLookedAt(t *testing.T) {
	site, asked := teaSite(t)
	now := time.Now()
	s, m := serviceFor(t, &now)
	want := map[string]im.Preview{
		"/tea": {Title: "Tea", Image: "PIC"}, "/lying": {Title: "Liar"}, "/inside": {Title: "Inside"},
		"/pic.png": {Image: "PIC"}, "/svg": {}, "/liar.png": {}, "/untitled": {}, "/missing": {},
	}
	var entries []im.Entry
	paths := []string{"/tea", "/tea", "/lying", "/inside", "/pic.png", "/svg", "/liar.png", "/untitled", "/missing", "/tea"}
	for i, p := range paths {
		m.wants[uint64(i+1)] = site + p
		entries = append(entries, entry(uint64(i+1), now))
	}
	if err := s.Handle(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	for i, p := range paths {
		got := m.added[uint64(i+1)]
		w := want[p]
		if w.Title+w.Image == "" {
			if got.URL != "" {
				t.Errorf("%s: %+v", p, got)
			}
			continue
		}
		if got.URL != site+p || got.Title != w.Title || (got.Image != "") != (w.Image != "") {
			t.Errorf("%s: %+v", p, got)
		}
	}
	if m.added[1] != m.added[2] || asked.Load() != 10 { // each page, and three of their pictures, once
		t.Errorf("%d requests; %+v, %+v", asked.Load(), m.added[1], m.added[2])
	}
	// A link that leads to nothing is not asked again for a while, and again after it.
	m.wants[20] = site + "/untitled"
	for _, d := range []time.Duration{0, keepNone + time.Second} {
		before := asked.Load()
		now = now.Add(d)
		if err := s.Handle(t.Context(), []im.Entry{entry(20, now)}); err != nil || (asked.Load() > before) != (d > 0) {
			t.Errorf("after %v: %d requests, %v", d, asked.Load()-before, err)
		}
	}
}

// What is old, recalled, or has no link is not looked at; an edit has its target looked at.
func TestWhatIsLookedAt(t *testing.T) {
	site, asked := teaSite(t)
	now := time.Now()
	s, m := serviceFor(t, &now)
	for i := range uint64(9) {
		m.wants[i] = site + "/tea"
	}
	old, recalled, plain, reaction := entry(1, now.Add(-oldest-time.Second)), entry(2, now), entry(3, now), entry(4, now)
	recalled.Recalled, plain.Body, reaction.Kind, reaction.Target = true, []byte("hello"), im.EntryReaction, 4
	edit := entry(6, now)
	edit.Kind, edit.Target, edit.Body = im.EntryEdit, 5, nil
	if err := s.Handle(t.Context(), []im.Entry{old, recalled, plain, reaction, edit}); err != nil {
		t.Fatal(err)
	}
	if len(m.added) != 1 || m.added[5].Title != "Tea" || asked.Load() != 2 {
		t.Errorf("%+v, %d requests", m.added, asked.Load())
	}
}

// What the stores fail comes again; what refuses for good does not. A picture that was
// thrown away meanwhile is fetched again, once.
func TestWhatFails(t *testing.T) {
	site, asked := teaSite(t)
	now := time.Now()
	for code, again := range map[im.Code]bool{im.CodeUnavailable: true, im.CodeUnknown: true, im.CodeTooLate: false, im.CodePermissionDenied: false} {
		s, m := serviceFor(t, &now)
		m.wants[1] = site + "/tea"
		m.fail = func(uint64) error { return im.Errorf(code, "no") }
		if err := s.Handle(t.Context(), []im.Entry{entry(1, now)}); (err != nil) != again {
			t.Errorf("%s: %v", code, err)
		}
		before := asked.Load()
		m.fail = nil
		if err := s.Handle(t.Context(), []im.Entry{entry(1, now)}); err != nil || m.added[1].Title != "Tea" || asked.Load() != before {
			t.Errorf("%s, again: %v, %+v", code, err, m.added)
		}
	}
	s, m := serviceFor(t, &now)
	m.wants[1] = site + "/tea"
	m.fail = func(uint64) error { return fmt.Errorf("read: %w", im.ErrJournalDamaged) }
	if err := s.Handle(t.Context(), []im.Entry{entry(1, now)}); err != nil {
		t.Errorf("what is damaged comes again, and all others wait for it: %v", err)
	}
	s, m = serviceFor(t, &now)
	m.wants[1] = site + "/tea"
	var tried []string
	m.fail = func(uint64) error { tried = append(tried, "x"); return im.Errorf(im.CodeNotFound, "media") }
	before := asked.Load()
	if err := s.Handle(t.Context(), []im.Entry{entry(1, now)}); err != nil || len(tried) != 2 || asked.Load() != before+4 {
		t.Errorf("%v: tried %d times with %d requests", err, len(tried), asked.Load()-before)
	}
}

// A user has the server fetch so much and no more; another one is not kept waiting by them.
func TestUsersAreBounded(t *testing.T) {
	site, _ := teaSite(t)
	now := time.Now()
	s, m := serviceFor(t, &now)
	s.fetch.all.at = now
	var entries []im.Entry
	for i := range uint64(userBurst + 10) {
		m.wants[i+1] = site + "/tea?" + strings.Repeat("x", int(i))
		entries = append(entries, entry(i+1, now))
	}
	ticks := new(atomic.Int64)
	s.fetch.now = func() time.Time { return now.Add(time.Duration(ticks.Add(1)) * time.Minute) } // hosts are another test's
	if err := s.Handle(t.Context(), entries); err != nil || len(m.added) != userBurst {
		t.Errorf("%d previews of one user, %v", len(m.added), err)
	}
	m.wants[99] = site + "/tea?other"
	other := entry(99, now)
	other.Sender = "b"
	if err := s.Handle(t.Context(), []im.Entry{other}); err != nil || m.added[99].Title != "Tea" {
		t.Errorf("another user: %v", err)
	}
}

// A user whose links lead to sites that take their time has two looked at at once, while
// another's are looked at; and soon none: they pay for the time.
func TestSlowLinksHoldUpTheirUserAlone(t *testing.T) {
	var mu sync.Mutex
	open, most, asked := 0, 0, 0
	release := make(chan struct{})
	now := time.Now()
	s, m := serviceFor(t, new(time.Time))
	s.o.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	slow := siteAt(t, "127.0.0.1:0", func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		open, asked = open+1, asked+1
		most = max(most, open)
		mu.Unlock()
		select {
		case <-release:
		case <-r.Context().Done():
		}
		mu.Lock()
		open--
		now = now.Add(whole)
		mu.Unlock()
	})
	site, _ := teaSite(t)
	var entries []im.Entry
	for i := range uint64(userBurst) {
		m.wants[i+1] = slow + "/?" + strings.Repeat("x", int(i))
		entries = append(entries, entry(i+1, now))
	}
	m.wants[99] = site + "/tea"
	other := entry(99, now)
	other.Sender = "b"
	told := make(chan struct{})
	m.fail = func(seq uint64) error {
		if seq == 99 {
			close(told)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Handle(ctx, append(entries, other)) }()
	select {
	case <-told:
	case err := <-done:
		t.Fatalf("all was done before another user's link: %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if most > userParallel || asked > 3*userParallel {
		t.Errorf("%d at once, and %d in all, of %d", most, asked, userBurst)
	}
}

// Whoever ends the work ends what is being fetched, and that is no outcome.
func TestEndsAtOnce(t *testing.T) {
	entered := make(chan struct{})
	site := siteAt(t, "127.0.0.1:0", func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})
	now := time.Now()
	s, m := serviceFor(t, &now)
	m.wants[1] = site
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Handle(ctx, []im.Entry{entry(1, now)}) }()
	<-entered
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, ok := s.known(site); ok {
		t.Error("it is taken for an outcome")
	}
}

// A picture that makes its reader panic costs its message the preview, and nothing else.
func TestPanicsEndAlone(t *testing.T) {
	site, _ := teaSite(t)
	now := time.Now()
	s, m := serviceFor(t, &now)
	s.o.Pictures = panics{}
	m.wants[1], m.wants[2] = site+"/tea", site+"/lying"
	if err := s.Handle(t.Context(), []im.Entry{entry(1, now), entry(2, now)}); err != nil {
		t.Fatal(err)
	}
	if len(m.added) != 0 {
		t.Errorf("%+v", m.added)
	}
	if f, ok := s.known(site + "/tea"); !ok || f.URL != "" {
		t.Error("it is tried again at once")
	}
}

type panics struct{}

func (panics) KeepSmall(context.Context, []byte) (string, error) { panic("hostile") }
