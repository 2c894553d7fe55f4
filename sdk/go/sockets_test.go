package skein_test

import (
	"bytes"
	"context"
	crypto "crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/sdk/go/sqlitestore"
	"github.com/skein-im/skein/wire"
)

// The same conversation over real sockets, with both codecs and the store on disk.
func TestSocketsAndCodecs(t *testing.T) {
	for _, transport := range []string{"ws", "tcp"} {
		for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
			t.Run(transport+" "+codec.Name(), func(t *testing.T) { overSockets(t, transport, codec) })
		}
	}
}

const dm = "dm:alice:bob"

// session is a client with its store on disk.
type session struct {
	t     *testing.T
	ctx   context.Context
	path  string
	url   string
	codec wire.Codec
	c     *skein.Client
	store *sqlitestore.Store
}

func (s *session) dial() {
	s.t.Helper()
	var err error
	if s.store, err = sqlitestore.Open(s.path); err != nil {
		s.t.Fatal(err)
	}
	s.c, err = skein.Dial(s.ctx, s.url, skein.WithToken("tok"), skein.WithStore(s.store), skein.WithCodec(s.codec))
	if err != nil {
		s.t.Fatal(err)
	}
}

// die ends the process as a crash does: what is written is written, nothing is after this.
func (s *session) die() {
	s.store.Close()
	if err := s.c.Conversation(dm).MarkRead(s.ctx, 3); !errors.Is(err, skein.ErrStore) {
		s.t.Errorf("MarkRead: %v", err)
	}
	_ = s.c.Close()
}

func (s *session) send(text string, opts ...skein.SendOption) {
	s.t.Helper()
	if _, err := s.c.Conversation(dm).Send(s.ctx, text, opts...); err != nil {
		s.t.Fatal(err)
	}
}

// wantMessage waits for the next MessageEvent.
func (s *session) wantMessage(text string) {
	s.t.Helper()
	for e := range s.c.Events(s.ctx) {
		if m, ok := e.(*skein.MessageEvent); ok {
			if m.Message.Text != text {
				s.t.Errorf("message = %+v, want %q", m.Message, text)
			}
			return
		}
	}
	s.t.Fatal("no more events")
}

func overSockets(t *testing.T, transport string, codec wire.Codec) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := skein.NewFake(t)
	listen := f.ListenTCP
	if transport == "ws" {
		listen = f.ListenWS
	}
	s := &session{t: t, ctx: ctx, path: filepath.Join(t.TempDir(), "alice.db"), url: listen(), codec: codec}
	s.dial()
	s.send("héllo ✓")
	data := []byte{0, 0xff, 1<<7 + 3}
	s.send("", skein.ContentType("com.example.x"), skein.Data(data))
	f.Say(dm, "bob", "你好")
	s.wantMessage("你好")
	id := s.crashBeforeTheAck(f)
	f.Say(dm, "bob", "while you were out")

	s.dial()
	s.wantMessage("while you were out")
	ms, err := s.c.Conversation(dm).History(ctx, 0, 10)
	if err != nil || len(ms) != 5 {
		t.Fatalf("history = %v, %v", ms, err)
	}
	if !bytes.Equal(ms[1].Data, data) || ms[0].Text != "héllo ✓" || ms[3].ID != id {
		t.Errorf("history = %+v", ms)
	}
	out, err := s.c.Outbox(ctx)
	if err != nil || len(out) != 0 {
		t.Errorf("outbox = %v, %v", out, err)
	}
	if n := len(f.Texts()); n != 5 {
		t.Errorf("%d messages are stored, want 5: %q", n, f.Texts())
	}
	skein.CheckWindow(t, s.c, s.store, f, dm)
	f.HangUp()
	s.send("after a reconnect")
	s.refused(f)
	if err := s.c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := s.store.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// crashBeforeTheAck: stored by the server, but the ack never came and the process died.
func (s *session) crashBeforeTheAck(f *skein.Fake) skein.MessageID {
	f.Answer(func(*wire.Call) *wire.Result {
		b, _ := proto.Marshal(&wire.GetUsersResponse{Users: []*wire.User{{Id: "bob"}}})
		return &wire.Result{Response: &wire.Result_Body{Body: b}}
	})
	f.LoseAcks(true)
	p, err := s.c.Conversation(dm).SendAsync(s.ctx, "was it stored?")
	if err != nil {
		s.t.Fatal(err)
	}
	for len(f.Texts()) < 4 { // a round trip each
		if us, err := s.c.Users().Get(s.ctx, "bob"); err != nil || len(us) != 1 {
			s.t.Fatalf("Get = %v, %v", us, err)
		}
	}
	s.die()
	f.LoseAcks(false)
	return p.ID
}

// refused: banned while connected.
func (s *session) refused(f *skein.Fake) {
	f.Refuse(wire.CodeBanned)
	f.HangUp()
	for e := range s.c.Events(s.ctx) {
		if ev, ok := e.(*skein.StateEvent); ok && ev.State == skein.StateStopped {
			if !errors.Is(ev.Err, skein.ErrBanned) {
				s.t.Errorf("stopped by %v", ev.Err)
			}
			return
		}
	}
	s.t.Error("not stopped")
}

// The outbox on disk: written, not sent, the process dies; the next one sends
// them with the same ids, in order.
func TestOutboxSurvivesOnDisk(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := skein.NewFake(t)
	url := f.ListenTCP()
	path := filepath.Join(t.TempDir(), "alice.db")
	store, err := sqlitestore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := skein.Dial(ctx, "tcp://127.0.0.1:1", skein.WithToken("tok"), skein.WithStore(store), skein.WithOffline())
	if err != nil {
		t.Fatal(err)
	}
	var ids []skein.MessageID
	var want []string
	for i := range 20 {
		s := fmt.Sprintf("m%02d", i)
		p, err := c.Conversation(dm).SendAsync(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		ids, want = append(ids, p.ID), append(want, s)
	}
	// Killed: what the file holds now is copied as it is, and opened as a new process would.
	crashed := copyFile(t, path)
	_ = c.Close()
	store.Close()
	if store, err = sqlitestore.Open(crashed); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err = skein.Dial(ctx, url, skein.WithToken("tok"), skein.WithStore(store))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n := 0
	for e := range c.Events(ctx) {
		a, ok := e.(*skein.AckEvent)
		if !ok {
			continue
		}
		if a.Message.ID != ids[n] || a.Message.Text != want[n] || a.Message.Seq != uint64(n+1) {
			t.Errorf("ack %d = %+v", n, a.Message)
		}
		if n++; n == len(ids) {
			break
		}
	}
	if fmt.Sprint(f.Texts()) != fmt.Sprint(want) {
		t.Errorf("stored = %v", f.Texts())
	}
}

// copyFile copies a database with its write-ahead log, as a power cut leaves them.
func copyFile(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "crashed.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestTLS(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := skein.NewFake(t)
	wss, tls, trusted := f.ListenTLS()
	for _, url := range []string{wss, tls} {
		c, err := skein.Dial(ctx, url, skein.WithToken("tok"), skein.WithTLS(trusted))
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if _, err := c.Conversation(dm).Send(ctx, "over TLS"); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		// A certificate nobody vouches for is no server of ours.
		c, err = skein.Dial(ctx, url, skein.WithToken("tok"), skein.WithOffline())
		if err != nil {
			t.Fatal(err)
		}
		for e := range c.Events(ctx) {
			if s, ok := e.(*skein.StateEvent); ok && s.State != skein.StateConnecting {
				var bad *crypto.CertificateVerificationError
				if s.State != skein.StateDisconnected || !errors.As(s.Err, &bad) {
					t.Errorf("%s: %v, %v", url, s.State, s.Err)
				}
				break
			}
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// What the server answers instead of the upgrade is the error.
func TestUpgradeRefused(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		_, _ = w.Write([]byte(`{"code":"codec_unsupported","message":"known are …"}`))
	}))
	defer srv.Close()
	_, err := skein.Dial(t.Context(), "ws"+srv.URL[len("http"):], skein.WithToken("tok"))
	if !errors.Is(err, wire.CodeCodecUnsupported) {
		t.Errorf("Dial: %v", err)
	}
}

func TestUnreachableAndBadURLs(t *testing.T) {
	for _, url := range []string{"http://x/ws", "tcp://", "::", "ftp://x"} {
		if _, err := skein.Dial(context.Background(), url, skein.WithToken("x")); err == nil {
			t.Errorf("Dial(%q) succeeded", url)
		}
	}
	if _, err := skein.Dial(context.Background(), "tcp://x:1"); err == nil {
		t.Error("Dial without a token succeeded")
	}
}

// counting counts what is read from the server.
type counting struct {
	net.Conn
	read *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// Deflate is asked for when the program says so, and changes nothing but the bytes.
func TestDeflate(t *testing.T) {
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		f := skein.NewFake(t)
		url := f.ListenWS()
		for i := range 60 {
			f.Say(dm, "bob", fmt.Sprintf("message %d of a chat", i))
		}
		long := strings.Repeat("a long message that goes up deflated. ", 20)
		var bytes [2]int64
		for i, opts := range [][]skein.Option{nil, {skein.WithDeflate()}} {
			var read atomic.Int64
			d := &net.Dialer{}
			opts = append(opts, skein.WithToken("tok"), skein.WithCodec(codec), skein.WithDialer(func(ctx context.Context, network, address string) (net.Conn, error) {
				nc, err := d.DialContext(ctx, network, address)
				return counting{nc, &read}, err
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c, err := skein.Dial(ctx, url, opts...)
			if err != nil {
				t.Fatal(err)
			}
			before := read.Load()
			ms, err := c.Conversation(dm).History(ctx, 61, 50)
			if err != nil || len(ms) != 50 || ms[49].Text != "message 59 of a chat" {
				t.Errorf("%d messages, %v", len(ms), err)
			}
			bytes[i] = read.Load() - before
			if _, err := c.Conversation("dm:alice:carol").Send(ctx, long); err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if got := f.Texts(); got[60] != long || got[61] != long {
			t.Errorf("stored = %q", got[60:])
		}
		if bytes[0] < 2000 || bytes[1] > bytes[0]/3 {
			t.Errorf("%s: a page has %d bytes, with deflate %d", codec.Name(), bytes[0], bytes[1])
		}
	}
}
