package skein_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

func overSockets(t *testing.T, transport string, codec wire.Codec) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := skein.NewFake(t)
	listen := f.ListenTCP
	if transport == "ws" {
		listen = f.ListenWS
	}
	url := listen()
	path := filepath.Join(t.TempDir(), "alice.db")
	dial := func() (*skein.Client, *sqlitestore.Store) {
		store, err := sqlitestore.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := skein.Dial(ctx, url, skein.WithToken("tok"), skein.WithStore(store), skein.WithCodec(codec))
		if err != nil {
			t.Fatal(err)
		}
		return c, store
	}
	end := func(c *skein.Client, s *sqlitestore.Store) {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	nextMessage := func(c *skein.Client) *skein.Message {
		for e := range c.Events(ctx) {
			if m, ok := e.(*skein.MessageEvent); ok {
				return m.Message
			}
		}
		t.Fatal("no more events")
		return nil
	}

	c, store := dial()
	if _, err := c.Conversation(dm).Send(ctx, "héllo ✓"); err != nil {
		t.Fatal(err)
	}
	data := []byte{0, 0xff, 1<<7 + 3}
	if _, err := c.Conversation(dm).Send(ctx, "", skein.ContentType("com.example.x"), skein.Data(data)); err != nil {
		t.Fatal(err)
	}
	f.Say(dm, "bob", "你好")
	if m := nextMessage(c); m.Text != "你好" || m.Seq != 3 {
		t.Errorf("message = %+v", m)
	}
	f.Answer(func(*wire.Call) *wire.Result {
		b, _ := proto.Marshal(&wire.GetUsersResponse{Users: []*wire.User{{Id: "bob"}}})
		return &wire.Result{Response: &wire.Result_Body{Body: b}}
	})
	if us, err := c.Users().Get(ctx, "bob"); err != nil || len(us) != 1 {
		t.Errorf("Get = %v, %v", us, err)
	}
	// Stored by the server, but the ack never came and the process died.
	f.LoseAcks(true)
	p, err := c.Conversation(dm).SendAsync(ctx, "was it stored?")
	if err != nil {
		t.Fatal(err)
	}
	for len(f.Texts()) < 4 {
		if _, err := c.Users().Get(ctx, "bob"); err != nil { // a round trip
			t.Fatal(err)
		}
	}
	store.Close() // what is written is written; nothing is after this
	if err := c.Conversation(dm).MarkRead(ctx, 3); !errors.Is(err, skein.ErrStore) {
		t.Errorf("MarkRead: %v", err)
	}
	_ = c.Close()
	f.LoseAcks(false)
	f.Say(dm, "bob", "while you were out")

	c, store = dial()
	if m := nextMessage(c); m.Text != "while you were out" {
		t.Errorf("message = %+v", m)
	}
	ms, err := c.Conversation(dm).History(ctx, 0, 10)
	if err != nil || len(ms) != 5 {
		t.Fatalf("history = %v, %v", ms, err)
	}
	if !bytes.Equal(ms[1].Data, data) || ms[0].Text != "héllo ✓" || ms[3].ID != p.ID {
		t.Errorf("history = %+v", ms)
	}
	out, err := c.Outbox(ctx)
	if err != nil || len(out) != 0 {
		t.Errorf("outbox = %v, %v", out, err)
	}
	if n := len(f.Texts()); n != 5 {
		t.Errorf("%d messages are stored, want 5: %q", n, f.Texts())
	}
	skein.CheckWindow(t, c, store, f, dm)
	f.HangUp()
	if _, err := c.Conversation(dm).Send(ctx, "after a reconnect"); err != nil {
		t.Fatal(err)
	}
	f.Refuse(wire.CodeBanned)
	f.HangUp()
	for e := range c.Events(ctx) {
		if s, ok := e.(*skein.StateEvent); ok && s.State == skein.StateStopped {
			if !errors.Is(s.Err, skein.ErrBanned) {
				t.Errorf("stopped by %v", s.Err)
			}
			break
		}
	}
	end(c, store)
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
