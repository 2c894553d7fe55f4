package skein

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

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

// A read mark that the server told is not told to it with what was received. It was, behind
// that frame.
func TestAMarkOfTheServerIsNotRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sayMany(dm, "bob", 3)
		r.do(func() { r.markRead(dm, 3) })
		r.dial()
		r.sayMany(dm, "bob", 1)
		pause(time.Second)
		rec := frames(r.fake, (*wire.ClientFrame).GetReceived)
		if len(rec) == 0 || rec[len(rec)-1].Seq != 4 {
			t.Errorf("received marks = %v, want 4 at last", rec)
		}
		if reads := frames(r.fake, (*wire.ClientFrame).GetRead); len(reads) != 0 {
			t.Errorf("read marks = %v, want none", reads)
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

// Of the receipts of one user only the last waits for a slow program, so each
// tells all that is known: a later one about one mark must not hide the other.
func TestReceiptsTellBothMarks(t *testing.T) {
	for user, writer := range map[string]string{"bob": "alice", "alice": "bob"} { // marks of the peer, of the user's other device
		inBubble(t, func(t *testing.T, r *rig) {
			r.dial()
			r.sayMany(dm, writer, 6)
			for _, f := range []*wire.Receipt{{Received: 7, Read: 5}, {Received: 6}, {Received: 4, Read: 4}} {
				f.Conversation, f.User = dm, user
				broadcast(r.fake, f)
			}
			synctest.Wait()
			all := eventsOf[*ReceiptEvent](r.events)
			if len(all) == 0 {
				t.Fatal("no receipt")
			}
			eq(t, user, *all[len(all)-1], ReceiptEvent{Conversation: dm, User: user, Received: 7, Read: 5})
		})
	}
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
		eq(t, "received told of own messages", len(frames(r.fake, (*wire.ClientFrame).GetReceived)), 0)
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

// When many speak at once the connection that sent gets the push of the whole
// run as well as its ack, in either order (SPEC §5.5): the entry counts once.
func TestOwnPushBesideTheAck(t *testing.T) {
	for _, order := range []string{"ack push", "push ack", "ack push push", "push ack push"} {
		t.Run(order, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				c := r.dial()
				r.say(dm, "bob", "first") // the conversation is known: what comes early waits for its turn
				r.onSend = func(fc *fakeConn, s *wire.Send) verdict {
					run := []*wire.Entry{
						{Sender: "bob", Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "before"}}},
						{Sender: "alice", Id: s.Id, Content: s.Content},
						{Sender: "bob", Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "after"}}},
					}
					for _, e := range run {
						e.Conversation, e.Kind = s.Conversation, wire.EntryKind_ENTRY_KIND_MESSAGE
						r.append(fc, e)
					}
					for _, what := range strings.Fields(order) {
						switch e := run[1]; what {
						case "ack":
							reply(fc, &wire.SendAck{Id: e.Id, Conversation: e.Conversation, Seq: e.Seq, StoredAtMs: e.StoredAtMs, Count: e.Count, Pos: e.Pos})
						case "push":
							reply(fc, &wire.Push{Entries: run})
						}
					}
					return verdict{noStore: true}
				}
				m, err := c.Conversation(dm).Send(bg, "mine")
				if err != nil || m.Seq != 3 || m.Status != StatusSent {
					t.Fatalf("Send = %+v, %v", m, err)
				}
				pause(5 * time.Minute) // pings compare digests: a wrong count would make it sync
				r.checkStore(dm)
				eq(t, "messages", r.events.messages(), []string{"first", "before", "after"})
				acks := eventsOf[*AckEvent](r.events)
				if len(acks) != 1 || acks[0].Message.ID != m.ID || acks[0].Message.Seq != 3 {
					t.Errorf("acks = %+v", acks)
				}
				out, err := c.Outbox(bg)
				eq(t, "outbox", len(out), 0)
				eq(t, "err", err, nil)
				eq(t, "syncs", len(frames(r.fake, (*wire.ClientFrame).GetSync)), 0)
				eq(t, "sends", len(frames(r.fake, (*wire.ClientFrame).GetSend)), 1)
				ms, err := c.Conversation(dm).History(bg, 0, 10)
				eq(t, "history", texts(ms), []string{"first", "before", "mine", "after"})
				eq(t, "err", err, nil)
			})
		})
	}
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
		eq(t, "hellos", r.connections(), 2)
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
		synctest.Wait()
		eq(t, "stored", len(r.texts()), 160)
		for g := range 3 {
			r.checkStore(fmt.Sprintf("grp:g%d", g))
		}
		eq(t, "acks", len(eventsOf[*AckEvent](r.events)), 160)
	})
}

// A device that holds the list alone takes the count at a mark of another device's from
// the Receipt; it asks for one that is not told.
func TestReceiptTellsTheCount(t *testing.T) {
	for _, told := range []uint64{0, 5} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.do(func() {
				for range 9 {
					r.append(nil, &wire.Entry{Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hi"}}})
				}
			})
			c := r.dial()
			synctest.Wait()
			r.do(func() { r.seen = nil; r.markRead(dm, 5) })
			broadcast(r.fake, &wire.Receipt{Conversation: dm, User: "alice", Received: 5, Read: 5, ReadCount: told})
			synctest.Wait()
			n, _ := c.Conversation(dm).Unread(bg)
			eq(t, "unread", n, 4)
			if pulls := len(frames(r.fake, (*wire.ClientFrame).GetPull)); (pulls == 0) != (told > 0) {
				t.Errorf("%d pulls where the count was told as %d", pulls, told)
			}
		})
	}
}
