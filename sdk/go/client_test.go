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
	eq(t, conversation+" entries in the window", len(es), s.High+1-s.Low)
	for i, e := range es {
		if e.Seq != s.Low+uint64(i) || e.Seq > uint64(len(j)) {
			t.Fatalf("%s: entry %d of the window has seq %d", conversation, i, e.Seq)
		}
		if !proto.Equal(e, j[e.Seq-1]) {
			t.Errorf("%s %d:\n got %v\nwant %v", conversation, e.Seq, e, j[e.Seq-1])
		}
	}
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

func TestSendAndReceive(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		m, err := c.Conversation(dm).Send(bg, "hi", ReplyTo(0), Mention("bob"))
		if err != nil {
			t.Fatal(err)
		}
		eq(t, "seq", m.Seq, 1)
		eq(t, "status", m.Status, StatusSent)
		r.say(dm, "bob", "hello")
		pause(time.Second)
		r.checkStore(dm)
		eq(t, "messages", r.events.messages(), []string{"hello"})
		acks := eventsOf[*AckEvent](r.events)
		if len(acks) != 1 || acks[0].Message.ID != m.ID {
			t.Errorf("acks = %v", acks)
		}
		out, err := c.Outbox(bg)
		eq(t, "outbox", len(out), 0)
		eq(t, "err", err, nil)
		n, _ := c.Conversation(dm).Unread(bg)
		eq(t, "unread", n, 1)
		rec := frames(r.fake, (*wire.ClientFrame).GetReceived)
		if len(rec) != 1 || rec[0].Seq != 2 {
			t.Errorf("received marks = %v, want one of seq 2", rec)
		}
	})
}

func TestMarksAreCombined(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(dm, "bob", 20)
		pause(time.Second)
		rec := frames(r.fake, (*wire.ClientFrame).GetReceived)
		if len(rec) != 1 || rec[0].Seq != 20 {
			t.Errorf("received marks = %v, want one of seq 20", rec)
		}
	})
}

func TestTicks(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		v := c.Conversation(dm)
		for range 3 {
			if _, err := v.Send(bg, "x"); err != nil {
				t.Fatal(err)
			}
		}
		broadcast(r.fake, &wire.Receipt{Conversation: dm, User: "bob", Received: 2, Read: 1})
		synctest.Wait()
		ms, err := v.History(bg, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var ticks []Status
		for _, m := range ms {
			ticks = append(ticks, m.Status)
		}
		eq(t, "ticks", ticks, []Status{StatusRead, StatusDelivered, StatusSent})
		if n := len(eventsOf[*ReceiptEvent](r.events)); n != 1 {
			t.Errorf("%d receipt events, want 1", n)
		}
		// Who answers has read: seq 4 is bob's.
		r.say(dm, "bob", "answer")
		synctest.Wait()
		s, err := v.Summary(bg)
		eq(t, "peer read after their answer", s.PeerRead, 4)
		eq(t, "err", err, nil)
		if n := len(eventsOf[*ReceiptEvent](r.events)); n != 2 {
			t.Errorf("%d receipt events, want 2", n)
		}
		// Marks reach the store lazily; the next start has them.
		c = r.restart()
		s, err = c.Conversation(dm).Summary(bg)
		if err != nil {
			t.Fatal(err)
		}
		eq(t, "peer read after a restart", s.PeerRead, 4)
	})
}

func TestReadMarks(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.sayMany(dm, "bob", 5)
		synctest.Wait()
		v := c.Conversation(dm)
		if err := v.MarkRead(bg, 3); err != nil {
			t.Fatal(err)
		}
		n, _ := v.Unread(bg)
		eq(t, "unread", n, 2)
		if err := v.MarkRead(bg, 2); err != nil {
			t.Fatal(err)
		}
		n, _ = v.Unread(bg)
		eq(t, "unread after going back", n, 2)
		if err := v.MarkRead(bg, 6); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("a mark beyond the head: %v", err)
		}
		pause(time.Second)
		reads := frames(r.fake, (*wire.ClientFrame).GetRead)
		if len(reads) != 1 || reads[0].Seq != 3 {
			t.Errorf("reads = %v", reads)
		}
		// The user's other device reads on.
		broadcast(r.fake, &wire.Receipt{Conversation: dm, User: "alice", Read: 5})
		synctest.Wait()
		n, _ = v.Unread(bg)
		eq(t, "unread after the other device", n, 0)
		// A lost connection: both marks are told again.
		r.do(func() { r.seen = nil })
		r.hangUp()
		pause(time.Minute / 2)
		reads = frames(r.fake, (*wire.ClientFrame).GetRead)
		if len(reads) == 0 || reads[0].Seq != 5 {
			t.Errorf("reads repeated = %v, want 5", reads)
		}
	})
}

// Own messages move the read mark on the server, which writes marks behind: the
// device repeats what it moved.
func TestOwnMessagesMarksAreRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		if _, err := c.Conversation(dm).Send(bg, "x"); err != nil {
			t.Fatal(err)
		}
		pause(time.Second)
		eq(t, "reads told without need", len(frames(r.fake, (*wire.ClientFrame).GetRead)), 0)
		r.hangUp()
		pause(5 * time.Second)
		reads := frames(r.fake, (*wire.ClientFrame).GetRead)
		if len(reads) != 1 || reads[0].Seq != 1 {
			t.Errorf("reads = %v, want 1 repeated", reads)
		}
		pause(2 * time.Minute) // pings were answered: the marks are safe
		r.hangUp()
		pause(5 * time.Second)
		eq(t, "reads after they were settled", len(frames(r.fake, (*wire.ClientFrame).GetRead)), 1)
	})
}

func TestReconnectResendsInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		var want []string
		var pend []*Pending
		// The first ack is lost with the connection; the rest is sent meanwhile.
		r.do(func() {
			r.onSend = func(*fakeConn, *wire.Send) verdict { return verdict{noAck: true, hangUp: true} }
		})
		for i := range 20 {
			s := fmt.Sprintf("m%d", i)
			want = append(want, s)
			p, err := c.Conversation(dm).SendAsync(bg, s)
			if err != nil {
				t.Fatal(err)
			}
			pend = append(pend, p)
		}
		synctest.Wait()
		r.do(func() { r.onSend = nil })
		for i, p := range pend {
			m, err := p.Wait(bg)
			if err != nil {
				t.Fatal(err)
			}
			eq(t, "seq", m.Seq, i+1)
			eq(t, "id", m.ID, p.ID)
		}
		eq(t, "stored", r.texts(), want)
		synctest.Wait()
		r.checkStore(dm)
		eq(t, "acks", len(eventsOf[*AckEvent](r.events)), 20)
	})
}

func TestPipelinedResendKeepsOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial(WithPipeline(8))
		sends := 0
		var first *fakeConn
		r.onSend = func(fc *fakeConn, _ *wire.Send) verdict {
			if first == nil {
				first = fc
			}
			if fc != first {
				return verdict{}
			}
			sends++ // two are stored, none is answered, the rest is lost
			return verdict{noStore: sends > 2, noAck: true, hangUp: sends == 5}
		}
		var want []string
		var last *Pending
		for i := range 12 {
			s := fmt.Sprintf("m%d", i)
			want = append(want, s)
			last, _ = c.Conversation(dm).SendAsync(bg, s)
		}
		if _, err := last.Wait(bg); err != nil {
			t.Fatal(err)
		}
		eq(t, "stored", r.texts(), want)
	})
}

func TestDuplicateAcks(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.onSend = func(*fakeConn, *wire.Send) verdict { return verdict{ackTwice: true} }
		for range 3 {
			if _, err := c.Conversation(dm).Send(bg, "x"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		r.checkStore(dm)
		eq(t, "acks", len(eventsOf[*AckEvent](r.events)), 3)
	})
}

// An own entry that arrives by push before (or instead of) its ack is the ack.
func TestOwnPushIsAsGoodAsTheAck(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.onSend = func(fc *fakeConn, s *wire.Send) verdict {
			e := r.append(fc, &wire.Entry{
				Conversation: s.Conversation, Id: s.Id, Sender: "alice", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: s.Content,
			})
			reply(fc, &wire.Push{Entries: []*wire.Entry{e, e}})
			return verdict{noStore: true}
		}
		m, err := c.Conversation(dm).Send(bg, "x")
		if err != nil || m.Seq != 1 {
			t.Fatalf("Send = %v, %v", m, err)
		}
		synctest.Wait()
		r.checkStore(dm)
		eq(t, "acks", len(eventsOf[*AckEvent](r.events)), 1)
		eq(t, "messages", len(r.events.messages()), 0)
	})
}

// The server is silent: the connection counts as dead and the message is sent again.
func TestUnansweredSendEndsTheConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		first := true
		r.onSend = func(*fakeConn, *wire.Send) verdict {
			v := verdict{noAck: first}
			first = false
			return v
		}
		m, err := c.Conversation(dm).Send(bg, "x")
		if err != nil || m.Seq != 1 {
			t.Fatalf("Send = %v, %v", m, err)
		}
		eq(t, "hellos", len(r.hellos), 2)
		eq(t, "stored", r.texts(), []string{"x"})
	})
}

func TestRetryRangeKeepsOrderAndFixRangeFails(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		n := 0
		r.onSend = func(_ *fakeConn, s *wire.Send) verdict {
			n++
			switch {
			case n <= 3:
				return verdict{code: wire.CodeOverloaded, retryMs: 700}
			case s.Content.GetText() == "bad":
				return verdict{code: wire.CodeMuted}
			}
			return verdict{}
		}
		v := c.Conversation(dm)
		start := time.Now()
		a, _ := v.SendAsync(bg, "a")
		bad, _ := v.SendAsync(bg, "bad")
		b, _ := v.SendAsync(bg, "b")
		if _, err := a.Wait(bg); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 2100*time.Millisecond {
			t.Errorf("a was stored after %v, want the three waits the server asked for", d)
		}
		if _, err := bad.Wait(bg); !errors.Is(err, ErrMuted) || !errors.Is(err, wire.CodeMuted) {
			t.Errorf("bad: %v, want muted", err)
		}
		if _, err := b.Wait(bg); err != nil {
			t.Fatal(err)
		}
		eq(t, "stored", r.texts(), []string{"a", "b"})
		synctest.Wait()
		failed := eventsOf[*FailedEvent](r.events)
		if len(failed) != 1 || failed[0].Message.Text != "bad" || !errors.Is(failed[0].Err, ErrMuted) {
			t.Fatalf("failed = %v", failed)
		}
		// Kept over a restart, visible, and sent again on demand.
		c = r.restart()
		out, _ := c.Outbox(bg)
		if len(out) != 1 || out[0].Status != StatusFailed || out[0].Err.Code != wire.CodeMuted {
			t.Fatalf("outbox = %+v", out)
		}
		r.do(func() { r.onSend = nil })
		if err := c.Retry(bg, out[0].ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		eq(t, "stored", r.texts(), []string{"a", "b", "bad"})
		if err := c.Discard(bg, out[0].ID); !errors.Is(err, ErrNoMessage) {
			t.Errorf("discard of a stored message: %v", err)
		}
		out, _ = c.Outbox(bg)
		eq(t, "outbox", len(out), 0)
	})
}

func TestDiscard(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.onSend = func(*fakeConn, *wire.Send) verdict { return verdict{code: wire.CodeIdConflict} }
		p, _ := c.Conversation(dm).SendAsync(bg, "x")
		<-p.Done()
		// A conflict of ids is cured by another id.
		if err := c.Retry(bg, p.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		out, _ := c.Outbox(bg)
		if len(out) != 1 || out[0].ID == p.ID {
			t.Fatalf("outbox = %+v, want another id than %v", out, p.ID)
		}
		if err := c.Discard(bg, out[0].ID); err != nil {
			t.Fatal(err)
		}
		c = r.restart()
		out, _ = c.Outbox(bg)
		eq(t, "outbox", len(out), 0)
	})
}

func TestClockSkewMakesANewID(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ahead := 48 * time.Hour
		r.welcome = func(w *wire.Welcome) { w.ServerTimeMs += ahead.Milliseconds() } // a wrong Welcome: ids lie in the future
		c := r.dial()
		var ids []string
		r.onSend = func(_ *fakeConn, s *wire.Send) verdict {
			ids = append(ids, string(s.Id))
			if len(ids) == 1 {
				return verdict{code: wire.CodeClockSkew}
			}
			return verdict{}
		}
		p, _ := c.Conversation(dm).SendAsync(bg, "x")
		m, err := p.Wait(bg)
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) != 2 || ids[0] == ids[1] || ids[1] > ids[0] {
			t.Errorf("ids = %x, want a second one with an earlier time", ids)
		}
		eq(t, "result's id", m.ID, idFrom([]byte(ids[1])))
		eq(t, "stored", r.texts(), []string{"x"})
	})
}

func TestPushesDuplicatedReorderedGapped(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		var stash []*wire.Entry
		r.onPush = func(_ *fakeConn, e *wire.Entry) []*wire.Entry {
			switch e.Seq % 5 {
			case 2: // late
				stash = append(stash, e)
				return nil
			case 3: // lost
				return nil
			case 0: // twice, after the late one
				return append([]*wire.Entry{e, e}, stash...)
			}
			return []*wire.Entry{e}
		}
		var want []string
		for i := range 50 {
			want = append(want, r.say(dm, "bob", fmt.Sprintf("m%d", i)).Content.GetText())
			synctest.Wait()
		}
		pause(time.Second)
		r.checkStore(dm)
		eq(t, "messages", r.events.messages(), want)
	})
}

func TestLostLastPush(t *testing.T) {
	repairs := map[string]func(r *rig){
		"by Heads":  func(r *rig) { broadcast(r.fake, &wire.Heads{Heads: []*wire.Head{{Conversation: dm, Seq: 3}}}) },
		"by digest": func(r *rig) { time.Sleep(31 * time.Second) },
		"by Resync": func(r *rig) { broadcast(r.fake, &wire.Resync{}) },
	}
	for name, repair := range repairs {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.dial()
				r.say(dm, "bob", "a")
				r.say(dm, "bob", "b")
				synctest.Wait()
				r.do(func() { r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil } })
				r.say(dm, "bob", "c")
				synctest.Wait()
				eq(t, "before", r.events.messages(), []string{"a", "b"})
				repair(r)
				synctest.Wait()
				eq(t, "after", r.events.messages(), []string{"a", "b", "c"})
				r.checkStore(dm)
			})
		})
	}
}

// A lost push to a conversation the client has never heard of.
func TestLostFirstPushOfUnknownConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
		r.say(grp, "bob", "a")
		r.do(func() { r.onPush = nil; r.titles[grp] = "The Group" })
		r.say(grp, "bob", "b")
		synctest.Wait()
		eq(t, "messages", r.events.messages(), []string{"a", "b"})
		s, err := r.c.Conversation(grp).Summary(bg)
		if err != nil {
			t.Fatal(err)
		}
		eq(t, "title", s.Title, "The Group")
		r.checkStore(grp)
	})
}

// While heads agree, pings move the position on and nobody re-syncs.
func TestDigestAgrees(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		for i := range 5 {
			r.say(dm, "bob", fmt.Sprint("m", i))
			if _, err := c.Conversation(grp).Send(bg, "x"); err != nil {
				t.Fatal(err)
			}
			pause(40 * time.Second)
		}
		if n := len(frames(r.fake, (*wire.ClientFrame).GetSync)); n != 0 {
			t.Errorf("%d syncs, want none", n)
		}
		pings := frames(r.fake, (*wire.ClientFrame).GetPing)
		if len(pings) < 5 {
			t.Errorf("%d pings in 200 s", len(pings))
		}
		last := pings[len(pings)-1]
		if last.Digest == nil || last.Position == "" || last.Position == "0" {
			t.Errorf("last ping = %v, want a digest since a position that moved", last)
		}
	})
}

// A client that never stops sending compares heads all the same.
func TestBusyClientComparesHeads(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
		r.say(dm, "bob", "lost")
		for range 10 {
			pause(10 * time.Second)
			if _, err := c.Conversation(grp).Send(bg, "x"); err != nil {
				t.Fatal(err)
			}
		}
		eq(t, "messages", r.events.messages(), []string{"lost"})
	})
}

func TestServerPingIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		broadcast(r.fake, &wire.Ping{})
		synctest.Wait()
		eq(t, "pongs", len(frames(r.fake, (*wire.ClientFrame).GetPong)), 1)
	})
}

func TestResumeAfterRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.say(dm, "bob", "a")
		synctest.Wait()
		r.end()
		r.sayMany(dm, "bob", 120) // more than a delta carries
		r.say(grp, "bob", "new group")
		r.dial()
		pause(time.Second)
		r.checkStore(dm)
		r.checkStore(grp)
		ms := r.events.messages()
		eq(t, "messages", len(ms), 121)
		h := r.hellos[1].Sync
		if h.Position == "" || h.Timeline != "t1" {
			t.Errorf("second Hello's sync = %v, want the position", h)
		}
		n, _ := r.c.Conversation(dm).Unread(bg)
		eq(t, "unread", n, 121)
	})
}

// Cold: only the last entry of each conversation, as history; no events.
func TestColdStartInPages(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 250 {
			c := fmt.Sprintf("grp:g%03d", i)
			r.say(c, "bob", "old")
			r.say(c, "bob", "last "+c)
		}
		c := r.dial()
		pause(time.Second)
		list, err := c.Conversations(bg)
		if err != nil {
			t.Fatal(err)
		}
		eq(t, "conversations", len(list), 250)
		eq(t, "events", len(r.events.messages()), 0)
		for _, s := range list {
			if s.Last == nil || s.Last.Text != "last "+s.ID || s.Unread != 2 {
				t.Fatalf("summary = %+v", s)
			}
		}
		v := c.Conversation("grp:g007")
		ms, err := v.History(bg, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		eq(t, "history", texts(ms), []string{"old", "last grp:g007"})
	})
}

// What is pushed while the list is read is news, also of conversations on later pages.
func TestPushesDuringTheList(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 250 {
			r.say(fmt.Sprintf("grp:g%03d", i), "bob", "old")
		}
		paged := false
		r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool {
			if f.GetSync().GetCursor() != "" && !paged {
				paged = true
				for _, c := range []string{"grp:g003", "grp:g249", "grp:brandnew"} {
					r.append(nil, &wire.Entry{
						Conversation: c, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
						Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "new " + c}},
					})
				}
			}
			return false
		}
		c := r.dial()
		pause(time.Second)
		got := r.events.messages()
		slices.Sort(got)
		eq(t, "events", got, []string{"new grp:brandnew", "new grp:g003", "new grp:g249"})
		list, _ := c.Conversations(bg)
		eq(t, "conversations", len(list), 251)
		for _, id := range []string{"grp:g003", "grp:g249", "grp:brandnew", "grp:g100"} {
			r.checkStore(id)
		}
	})
}

// A crash in the middle of the list: it goes on where it was.
func TestListGoesOnAfterRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 250 {
			r.say(fmt.Sprintf("grp:g%03d", i), "bob", "old")
		}
		r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool { return f.GetSync().GetCursor() != "" } // never answered
		r.dial()
		r.do(func() { r.onFrame = nil })
		c := r.restart()
		pause(time.Second)
		list, _ := c.Conversations(bg)
		eq(t, "conversations", len(list), 250)
	})
}

func TestTimelineChange(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.sayMany(dm, "bob", 5)
		synctest.Wait()
		// The server comes back from a backup that lacks the last three, and a send was under way.
		r.do(func() {
			r.onSend = func(*fakeConn, *wire.Send) verdict { return verdict{noStore: true, hangUp: true} }
		})
		p, _ := c.Conversation(dm).SendAsync(bg, "mine")
		synctest.Wait()
		r.do(func() {
			r.onSend = nil
			r.timeline, r.journal[dm], r.changes = "t2", r.journal[dm][:2], r.changes[:2]
		})
		if m, err := p.Wait(bg); err != nil || m.Seq != 3 {
			t.Fatalf("the outbox after a reset: %v, %v", m, err)
		}
		synctest.Wait()
		r.checkStore(dm)
		eq(t, "resets", len(eventsOf[*ResetEvent](r.events)), 1)
		r.say(dm, "bob", "after")
		synctest.Wait()
		eq(t, "last", r.events.messages()[len(r.events.messages())-1], "after")
		ms, err := c.Conversation(dm).History(bg, 0, 10)
		eq(t, "history", texts(ms), []string{"m1", "m2", "mine", "after"})
		eq(t, "err", err, nil)
	})
}

// The same timeline, but a position the server cannot read.
func TestUnreadablePosition(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(dm, "bob", 5)
		pause(time.Minute)
		r.do(func() { r.changes = r.changes[:1] })
		r.restart()
		r.checkStore(dm)
		eq(t, "resets", len(eventsOf[*ResetEvent](r.events)), 1)
	})
}

func TestLargeGap(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(dm, "bob", 3)
		synctest.Wait()
		r.end()
		r.sayMany(dm, "bob", 2000)
		c := r.dial()
		pause(time.Second)
		gaps := eventsOf[*GapEvent](r.events)
		if len(gaps) != 1 || gaps[0].From != 4 {
			t.Fatalf("gaps = %+v, want one from 4", gaps)
		}
		eq(t, "messages after the gap", len(r.events.messages()), 2003-gaps[0].To)
		r.checkStore(dm)
		// Nothing is lost: history reads what was left out.
		var seqs []uint64
		for before := uint64(0); ; {
			ms, err := c.Conversation(dm).History(bg, before, 150)
			if err != nil {
				t.Fatal(err)
			}
			if len(ms) == 0 {
				break
			}
			for i := len(ms) - 1; i >= 0; i-- {
				seqs = append(seqs, ms[i].Seq)
			}
			before = ms[0].Seq
			if before == 1 {
				break
			}
		}
		if len(seqs) != 2003 {
			t.Fatalf("history has %d entries, want 2003", len(seqs))
		}
		for i, s := range seqs {
			if s != uint64(2003-i) {
				t.Fatalf("history skips at %d", s)
			}
		}
		s, _ := c.Conversation(dm).Summary(bg)
		eq(t, "low", s.Low, 1)
		r.checkStore(dm)
	})
}

func TestNoGapLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.opts = []Option{WithMaxGap(0)}
		r.dial()
		r.say(dm, "bob", "x")
		r.restart()
		r.sayMany(dm, "bob", 10)
		r.end()
		r.sayMany(dm, "bob", 1500)
		r.dial()
		pause(time.Second)
		eq(t, "messages", len(r.events.messages()), 1500)
		r.checkStore(dm)
	})
}

// Group entries before the user was added are not theirs to read, and no gap.
func TestJoinedGroup(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.do(func() { r.first[grp] = 700; r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil } })
		r.sayMany(grp, "bob", 699)
		r.do(func() {
			r.onPush = nil
			r.append(nil, &wire.Entry{
				Conversation: grp, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EVENT,
				Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_MEMBER_ADDED, Users: []string{"alice"}},
			})
		})
		r.say(grp, "bob", "welcome")
		synctest.Wait()
		eq(t, "messages", r.events.messages(), []string{"welcome"})
		eq(t, "group events", len(eventsOf[*GroupEvent](r.events)), 1)
		eq(t, "gaps", len(eventsOf[*GapEvent](r.events)), 0)
		ms, err := r.c.Conversation(grp).History(bg, 0, 50)
		eq(t, "history", len(ms), 2)
		eq(t, "err", err, nil)
	})
}

func TestRecallErases(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.say(dm, "bob", "oops")
		r.do(func() {
			r.append(nil, &wire.Entry{Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: 1})
		})
		synctest.Wait()
		rec := eventsOf[*RecallEvent](r.events)
		if len(rec) != 1 || rec[0].Target != 1 || rec[0].By != "bob" {
			t.Errorf("recalls = %+v", rec)
		}
		ms, _ := c.Conversation(dm).History(bg, 0, 10)
		if !ms[0].Recalled || ms[0].Text != "" {
			t.Errorf("message = %+v, want it erased", ms[0])
		}
		r.checkStore(dm)
	})
}

func TestContactEvents(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.do(func() {
			r.append(nil, &wire.Entry{
				Conversation: "me:alice", Kind: wire.EntryKind_ENTRY_KIND_EVENT,
				Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_CONTACT_REQUESTED, Users: []string{"bob"}, Text: "hi"},
			})
		})
		synctest.Wait()
		ev := eventsOf[*ContactEvent](r.events)
		if len(ev) != 1 || ev[0].User != "bob" || ev[0].Event.Text != "hi" {
			t.Errorf("events = %+v", ev)
		}
		list, _ := c.Conversations(bg)
		eq(t, "the own feed is no conversation", len(list), 0)
	})
}

func TestSlowHandlerLosesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c, err := Dial(bg, "tcp://fake", WithToken("tok"), WithStore(r.store), WithDialer(r.dialer()))
		if err != nil {
			t.Fatal(err)
		}
		r.sayMany(dm, "bob", 1000)
		synctest.Wait()
		r.do(func() {
			r.append(nil, &wire.Entry{Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: 900})
		})
		var got []string
		for e := range c.Events(bg) {
			if m, ok := e.(*MessageEvent); ok {
				time.Sleep(10 * time.Millisecond)
				got = append(got, m.Message.Text)
				if len(got) == 1000 {
					break
				}
			}
		}
		eq(t, "first", got[0], "m1")
		eq(t, "last", got[999], "m1000")
		eq(t, "a recalled one is told without its content", got[899], "")
		c.Close()
		left, err := r.store.Feed(bg, 0, 10)
		if err != nil || len(left) != 1 { // the recall
			t.Errorf("%d events left, want 1", len(left))
		}
	})
}

// Events not handled when the process ends come after the restart; handled ones do not.
func TestEventsSurviveRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c, err := Dial(bg, "tcp://fake", WithToken("tok"), WithStore(r.store), WithDialer(r.dialer()))
		if err != nil {
			t.Fatal(err)
		}
		r.sayMany(dm, "bob", 10)
		synctest.Wait()
		for e := range c.Events(bg) {
			if m, ok := e.(*MessageEvent); ok && m.Message.Text == "m4" {
				break
			}
		}
		c.Close()
		r.dial()
		eq(t, "messages", r.events.messages(), []string{"m5", "m6", "m7", "m8", "m9", "m10"})
	})
}

func TestConcurrentUse(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				v := c.Conversation(fmt.Sprintf("grp:g%d", g%3))
				for i := range 20 {
					if _, err := v.Send(bg, fmt.Sprint(g, ".", i)); err != nil {
						t.Error(err)
						return
					}
					_, _ = v.History(bg, 0, 5)
					_, _ = c.Conversations(bg)
					_ = v.Typing(bg)
					_, _ = v.Unread(bg)
				}
			})
		}
		wg.Wait()
		eq(t, "stored", len(r.texts()), 160)
		for g := range 3 {
			r.checkStore(fmt.Sprintf("grp:g%d", g))
		}
		eq(t, "acks", len(eventsOf[*AckEvent](r.events)), 160)
	})
}
