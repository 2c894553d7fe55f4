package skein

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	dm  = "dm:alice:bob"
	grp = "grp:g1"
)

var bg = context.Background()

// rig is a client of a fake server inside a synctest bubble.
type rig struct {
	*fake
	c      *Client
	store  Store
	events *recorder
	opts   []Option
}

// inBubble runs a test with a fake server, in synthetic time.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{fake: newFake(t), store: NewMemoryStore()}
		f(t, r)
		r.end()
		r.stop()
	})
}

func (r *rig) dial(opts ...Option) *Client {
	r.t.Helper()
	c, err := r.tryDial(opts...)
	if err != nil {
		r.t.Fatalf("Dial: %v", err)
	}
	synctest.Wait()
	return c
}

func (r *rig) tryDial(opts ...Option) (*Client, error) {
	all := append([]Option{
		WithToken("tok"), WithStore(r.store), WithDialer(r.dialer()), WithDevice("d1", wire.DeviceClass_DEVICE_CLASS_OTHER, "test"),
	}, r.opts...)
	if os.Getenv("SKEIN_TEST_LOG") != "" {
		all = append(all, WithLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	}
	c, err := Dial(bg, "tcp://fake", append(all, opts...)...)
	if err == nil {
		r.c = c
		r.events = record(c)
	}
	return c, err
}

// end closes the client and waits for the recorder.
func (r *rig) end() {
	if r.c == nil {
		return
	}
	if err := r.c.Close(); err != nil && !errors.Is(err, ErrStore) {
		r.t.Errorf("Close: %v", err)
	}
	<-r.events.done
	r.c = nil
}

// restart is a new process with the same store.
func (r *rig) restart(opts ...Option) *Client {
	r.t.Helper()
	r.end()
	return r.dial(opts...)
}

// recorder runs an Events loop.
type recorder struct {
	mu   sync.Mutex
	list []Event
	done chan struct{}
}

func record(c *Client) *recorder {
	r := &recorder{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for e := range c.Events(bg) {
			r.mu.Lock()
			r.list = append(r.list, e)
			r.mu.Unlock()
		}
	}()
	return r
}

func (r *recorder) all() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// messages returns the texts of MessageEvents.
func (r *recorder) messages() []string {
	var out []string
	for _, m := range eventsOf[*MessageEvent](r) {
		out = append(out, m.Message.Text)
	}
	return out
}

func eventsOf[E Event](r *recorder) []E {
	var out []E
	for _, e := range r.all() {
		if x, ok := e.(E); ok {
			out = append(out, x)
		}
	}
	return out
}

func eq(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// checkStore compares the client's window of a conversation with the journal.
func (r *rig) checkStore(conversation string) {
	r.t.Helper()
	checkWindow(r.t, r.c, r.store, r.fake, conversation)
}

func checkWindow(t *testing.T, c *Client, store Store, f *fake, conversation string) {
	t.Helper()
	s, err := c.Conversation(conversation).Summary(bg)
	if err != nil {
		t.Errorf("%s: %v", conversation, err)
		return
	}
	f.mu.Lock()
	j := slices.Clone(f.journal[conversation])
	f.mu.Unlock()
	eq(t, conversation+" high", s.High, len(j))
	es, err := store.Entries(bg, conversation, 1, 1<<60, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range j {
		if e.Seq < s.Low || amends(e) {
			continue
		}
		if len(es) == 0 || es[0].Seq != e.Seq {
			t.Fatalf("%s: the window lacks %d of %d, low %d", conversation, i+1, len(j), s.Low)
		}
		if !proto.Equal(es[0], e) {
			t.Errorf("%s %d:\n got %v\nwant %v", conversation, e.Seq, es[0], e)
		}
		es = es[1:]
	}
	eq(t, conversation+" entries that are none of the window", len(es), 0)
}

// pause lets synthetic time pass and everything settle.
func pause(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func texts(ms []*Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Text)
	}
	return out
}
