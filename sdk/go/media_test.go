package skein_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// tus is a server of uploads that answers as a test says.
type tus struct {
	mu     sync.Mutex
	has    string
	begun  int
	answer func(n int, r *http.Request) (status int, body string) // 0: as it should
	asked  []string
	led    bool // to somewhere else
}

func (s *tus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.Header.Get("Authorization"))
	s.led = s.led || r.URL.Path == "/elsewhere"
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if status, text := s.answer(len(s.asked), r); status != 0 {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		fmt.Fprint(w, text)
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.begun++
		s.has = ""
		w.Header().Set("Location", "/media/uploads/"+strings.Repeat("A", 26))
		w.WriteHeader(http.StatusCreated)
	case http.MethodHead:
		w.Header().Set("Upload-Offset", fmt.Sprint(len(s.has)))
	case http.MethodPatch:
		sum := sha256.Sum256(body)
		if r.Header.Get("Upload-Offset") != fmt.Sprint(len(s.has)) || r.Header.Get("Upload-Checksum") != "sha256 "+base64.StdEncoding.EncodeToString(sum[:]) {
			w.WriteHeader(http.StatusConflict)
			return
		}
		s.has += string(body)
		w.Header().Set("Upload-Offset", fmt.Sprint(len(s.has)))
		w.WriteHeader(http.StatusNoContent)
	}
}

// uploader is a client of a fake server, with uploads at another one.
func uploader(t *testing.T, s *tus, opts ...skein.Option) *skein.Client {
	t.Helper()
	f := skein.NewFake(t)
	f.Answer(func(*wire.Call) *wire.Result {
		s.mu.Lock()
		defer s.mu.Unlock()
		b, _ := proto.Marshal(&wire.GetMediaResponse{Media: []*wire.Media{{Id: strings.Repeat("A", 26), Bytes: uint64(len(s.has))}}})
		return &wire.Result{Response: &wire.Result_Body{Body: b}}
	})
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	all := append([]skein.Option{
		skein.WithToken("tok"), skein.WithBaseURL(srv.URL), skein.WithBackoff(func(int) time.Duration { return time.Millisecond }),
	}, opts...)
	c, err := skein.Dial(t.Context(), f.ListenTCP(), all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func refusal(code wire.Code) string {
	return fmt.Sprintf(`{"code":%q,"codeNumber":%d,"message":"no"}`, code, code.Info().Number)
}

// What the server, or somebody between, answers: what passes is tried again, where the
// server has it; what does not is the error.
func TestUploadAnswers(t *testing.T) {
	const text = "some bytes"
	at := func(n int, status int, body string) func(int, *http.Request) (int, string) {
		return func(i int, _ *http.Request) (int, string) {
			if i == n {
				return status, body
			}
			return 0, ""
		}
	}
	always := func(method string, status int, body string) func(int, *http.Request) (int, string) {
		return func(_ int, r *http.Request) (int, string) {
			if r.Method == method {
				return status, body
			}
			return 0, ""
		}
	}
	for name, c := range map[string]struct {
		answer func(int, *http.Request) (int, string)
		want   error
		begun  int
	}{
		"as it should":                  {at(0, 0, ""), nil, 1},
		"a gateway without a server":    {at(1, 502, "<html>"), nil, 1},
		"a server that is going":        {at(2, 503, refusal(wire.CodeGoingAway)), nil, 1},
		"too many requests":             {at(1, 429, refusal(wire.CodeRateLimited)), nil, 1},
		"another request writes":        {at(2, 409, refusal(wire.CodeConflict)), nil, 1},
		"a bit was lost":                {at(2, 460, refusal(wire.CodeInvalidArgument)), nil, 1},
		"bits are lost each time":       {always("PATCH", 460, refusal(wire.CodeInvalidArgument)), skein.ErrInvalidArgument, 1},
		"the upload's time is over":     {at(2, 404, refusal(wire.CodeNotFound)), nil, 2},
		"it is never there":             {always("PATCH", 404, refusal(wire.CodeNotFound)), skein.ErrNotFound, 3},
		"no uploads are taken":          {at(1, 501, refusal(wire.CodeUnimplemented)), wire.CodeUnimplemented, 0},
		"a token that is not good":      {at(1, 401, refusal(wire.CodeTokenExpired)), skein.ErrTokenExpired, 0},
		"sent to somebody else":         {at(1, 307, ""), errElse, 0},
		"somebody between says no":      {at(2, 403, "<html>"), errElse, 1},
		"a picture that is no picture":  {at(2, 400, refusal(wire.CodeInvalidArgument)), skein.ErrInvalidArgument, 1},
		"a server without room answers": {at(2, 507, refusal(wire.CodeStorageFull)), nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &tus{answer: c.answer}
			client := uploader(t, s)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			m, err := client.Upload(ctx, &skein.Upload{Body: strings.NewReader(text), Size: int64(len(text))})
			switch {
			case c.want == nil && (err != nil || m.Bytes != uint64(len(text)) || s.has != text):
				t.Errorf("%v, %v; the server has %q", m, err, s.has)
			case c.want == errElse && (err == nil || ctx.Err() != nil):
				t.Errorf("%v, %v", m, err)
			case c.want != nil && c.want != errElse && !errors.Is(err, c.want):
				t.Errorf("%v, %v, want %v", m, err, c.want)
			}
			if s.begun != c.begun || s.led {
				t.Errorf("begun %d times, want %d; was it led elsewhere: %t", s.begun, c.begun, s.led)
			}
		})
	}
}

// errElse: any error.
var errElse = errors.New("else")

// A token that was refused is asked for again, and another one is used.
func TestUploadRenewsItsToken(t *testing.T) {
	s := &tus{answer: func(_ int, r *http.Request) (int, string) {
		if r.Header.Get("Authorization") != "Bearer new" {
			return 401, refusal(wire.CodeTokenExpired)
		}
		return 0, ""
	}}
	c := uploader(t, s, skein.WithTokenSource(func(ctx context.Context) (string, error) {
		if skein.RejectedToken(ctx) == "tok" {
			return "new", nil
		}
		return "tok", nil
	}))
	if _, err := c.Upload(t.Context(), &skein.Upload{Body: strings.NewReader("x"), Size: 1}); err != nil {
		t.Error(err)
	}
	if fmt.Sprint(s.asked) != "[POST Bearer tok POST Bearer new PATCH Bearer new]" {
		t.Errorf("asked %v", s.asked)
	}
}

// What cannot be an upload is refused before anything is sent.
func TestUploadChecks(t *testing.T) {
	s := &tus{answer: func(int, *http.Request) (int, string) { return 0, "" }}
	c := uploader(t, s)
	body := strings.NewReader("some bytes")
	for field, u := range map[string]skein.Upload{
		"body":     {Size: 1},
		"size":     {Body: body},
		"duration": {Body: body, Size: 1, Duration: 50 * 24 * time.Hour},
		"width":    {Body: body, Size: 1, Width: 1<<16 + 1},
		"height":   {Body: body, Size: 1, Height: -1},
		"waveform": {Body: body, Size: 1, Waveform: []byte{101}},
		"name":     {Body: body, Size: 1, Name: "\xff"},
	} {
		_, err := c.Upload(t.Context(), &u)
		var e *skein.Error
		if !errors.As(err, &e) || e.Field != field || !errors.Is(err, skein.ErrInvalidArgument) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := c.Upload(t.Context(), &skein.Upload{Body: body, Size: 1, Waveform: make([]byte, 101)}); !errors.Is(err, skein.ErrTooLarge) {
		t.Errorf("a long waveform: %v", err)
	}
	if _, err := c.Upload(t.Context(), &skein.Upload{Body: body, Size: 11}); !errors.Is(err, skein.ErrShortContent) {
		t.Errorf("a short content: %v", err)
	}
	if s.begun != 0 {
		t.Errorf("%d uploads were begun", s.begun)
	}
	for _, id := range []string{"x", strings.Repeat("a", 26), strings.Repeat("A", 27)} {
		if _, err := c.DM("bob").Send(t.Context(), "x", skein.Attach(id)); !errors.Is(err, skein.ErrInvalidArgument) {
			t.Errorf("names %q: %v", id, err)
		}
	}
	same := strings.Repeat("B", 26)
	if _, err := c.DM("bob").Send(t.Context(), "x", skein.Attach(same, same)); !errors.Is(err, skein.ErrInvalidArgument) {
		t.Errorf("named twice: %v", err)
	}
}

// Close ends an upload that waits for a server.
func TestCloseEndsUploads(t *testing.T) {
	asked := make(chan struct{}, 100)
	s := &tus{answer: func(int, *http.Request) (int, string) { asked <- struct{}{}; return 502, "" }}
	c := uploader(t, s, skein.WithBackoff(func(int) time.Duration { return time.Hour }))
	done := make(chan error, 1)
	go func() {
		_, err := c.Upload(context.Background(), &skein.Upload{Body: strings.NewReader("x"), Size: 1})
		done <- err
	}()
	<-asked
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-done:
		if !errors.Is(err, skein.ErrClosed) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}

// A message with an id of the program's own is one message, however often it is sent.
func TestSameIDSameMessage(t *testing.T) {
	f := skein.NewFake(t)
	c, err := skein.Dial(t.Context(), f.ListenTCP(), skein.WithToken("tok"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id := skein.NewMessageID()
	f.LoseAcks(true)
	first, err := c.Conversation(dm).SendAsync(t.Context(), "once", skein.WithID(id))
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Conversation(dm).SendAsync(t.Context(), "once", skein.WithID(id))
	if err != nil || second != first {
		t.Errorf("again while it is on its way: %v", err)
	}
	if _, err := c.Conversation(dm).SendAsync(t.Context(), "twice", skein.WithID(id)); !errors.Is(err, wire.CodeIdConflict) {
		t.Errorf("another message with the id: %v", err)
	}
	f.LoseAcks(false)
	f.HangUp()
	m, err := second.Wait(t.Context())
	if err != nil || m.ID != id {
		t.Fatalf("%+v, %v", m, err)
	}
	again, err := c.Conversation(dm).Send(t.Context(), "once", skein.WithID(id))
	if err != nil || again.Seq != m.Seq || len(f.Texts()) != 1 {
		t.Errorf("%+v, %v; stored are %q", again, err, f.Texts())
	}
	if out, err := c.Outbox(t.Context()); err != nil || len(out) != 0 {
		t.Errorf("outbox %v, %v", out, err)
	}
}

// The content that shows an upload is of the type that it is (SPEC §11.2).
func TestMediaContent(t *testing.T) {
	for _, c := range []struct {
		m              *wire.Media
		kind, fallback string
	}{
		{&wire.Media{Mime: "image/png", Width: 1, Height: 2, Blurhash: "x"}, "image", "image"},
		{&wire.Media{Mime: "audio/ogg", DurationMs: 5, Waveform: []byte{1}}, "voice", "voice"},
		{&wire.Media{Mime: "audio/mpeg", DurationMs: 5, Name: "song.mp3"}, "file", "song.mp3"},
		{&wire.Media{Mime: "video/mp4", DurationMs: 5, Width: 1, Height: 1}, "video", "video"},
		{&wire.Media{Mime: "video/mp4", Name: "a.mp4"}, "file", "a.mp4"},
		{&wire.Media{Mime: "x/y"}, "file", "file"},
	} {
		got := skein.MediaContent(c.m, "words")
		if got.Type != c.kind || got.Fallback != c.fallback || strings.Contains(got.GetText(), "words") != (c.kind != "voice") {
			t.Errorf("%v: %v", c.m, got)
		}
	}
}
