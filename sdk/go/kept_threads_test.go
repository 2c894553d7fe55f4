package skein

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// tellThreads has the fake answer ListThread; before, if set, runs before an answer goes out
// that was made already.
func (r *rig) tellThreads(before func()) (asked *int) {
	asked = new(int)
	r.onCall = func(m *wire.Call) *wire.Result {
		var q wire.ListThreadRequest
		if err := proto.Unmarshal(m.GetBody(), &q); err != nil || m.Method != listThread {
			r.t.Errorf("%s: %v", m.Method, err)
		}
		*asked++
		resp := &wire.ListThreadResponse{Thread: &wire.Thread{}}
		j := r.journal[q.Conversation]
		root := j[q.Seq-1]
		if root.Thread != 0 {
			root = j[root.Thread-1]
		}
		resp.Thread.Root = root
		limit := 50
		if q.Limit > 0 {
			limit = int(q.Limit)
		}
		for _, e := range j {
			if !saidIn(e, root.Seq) || e.Recalled || r.gone(e) {
				continue
			}
			resp.Thread.Last = e.Seq
			switch {
			case e.Sender == r.user:
				resp.Thread.Read, resp.Thread.Unread, resp.Thread.Follows = e.Seq, 0, true
			default:
				resp.Thread.Unread++
			}
			if q.Before == 0 || e.Seq < q.Before {
				resp.Entries = append(resp.Entries, bare(e))
			}
		}
		if n := len(resp.Entries); n > limit {
			resp.Entries = resp.Entries[n-limit:]
			resp.Next = resp.Entries[0].Seq
		}
		body, err := proto.Marshal(resp)
		if err != nil {
			r.t.Error(err)
		}
		if before != nil {
			before()
		}
		return &wire.Result{Response: &wire.Result_Body{Body: body}}
	}
	return asked
}

// inThread stores a reply of bob's, or, with a kind, what is done to one.
func (r *rig) inThread(root uint64, text string, e *wire.Entry) (seq uint64) {
	r.do(func() { seq = r.addInThread(root, text, e) })
	return seq
}

func (r *rig) addInThread(root uint64, text string, e *wire.Entry) uint64 {
	if e == nil {
		e = &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_THREAD_REPLY, Target: root}
	}
	e.Conversation, e.Sender, e.Thread = dm, "bob", root
	if text != "" {
		e.Content = &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}
	}
	return r.append(nil, e).Seq
}

// noServer has a client find none.
func noServer() Option {
	return WithDialer(func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
}

// threadOffline is the next process, which finds no server, and what it shows of a thread.
func (r *rig) threadOffline(root uint64) (*Thread, []*Message) {
	r.t.Helper()
	r.restart(WithOffline(), noServer())
	t, ms, _, err := r.c.Conversation(dm).Thread(bg, root, 0, 0)
	if err != nil || !t.Kept {
		r.t.Fatalf("%+v, %v", t, err)
	}
	return t, ms
}

func (r *rig) readThread(root uint64) (ms []*Message) {
	r.t.Helper()
	t, ms, _, err := r.c.Conversation(dm).Thread(bg, root, 0, 0)
	if err != nil || t.Kept {
		r.t.Fatalf("%+v, %v", t, err)
	}
	return ms
}

// What was read of a thread is shown without a connection and after a restart, with what was
// said and done in it since, also while the device was away.
func TestThreadIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		asked := r.tellThreads(nil)
		r.sayMany(dm, "bob", 3)
		one := r.inThread(2, "one", nil)
		two := r.inThread(2, "two", nil)
		r.dial()
		eq(t, "read", texts(r.readThread(2)), []string{"one", "two"})

		// Live.
		r.inThread(2, "three", nil)
		r.inThread(2, "One", &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_EDIT, Target: one})
		r.inThread(2, "", &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: two})
		r.inThread(2, "", &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_REACTION, Target: one, React: &wire.React{Reaction: "+"}})
		r.inThread(2, "both", &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, AlsoInMain: true})
		if _, err := r.c.Conversation(dm).Send(bg, "mine", InThread(2)); err != nil {
			t.Fatal(err)
		}
		r.inThread(2, "four", nil)
		pause(time.Minute)
		th, ms := r.threadOffline(2)
		eq(t, "live", texts(ms), []string{"One", "three", "both", "mine", "four"})
		eq(t, "reactions", len(ms[0].Reactions), 1)
		eq(t, "edits", ms[0].Edits, 1)
		eq(t, "the root counts", th.Root.Replies, 5)
		eq(t, "unread, follows", fmt.Sprint(th.Unread, th.Follows, th.Read == ms[3].Seq, th.Last == ms[4].Seq), "1 true true true")
		eq(t, "asked", *asked, 1)
		for _, m := range ms {
			if m.Thread != 2 || m.Replies != 0 {
				t.Errorf("%+v", m)
			}
		}

		// By a reply, and in pages.
		th, ms, next, err := r.c.Conversation(dm).Thread(bg, one, 0, 2)
		if err != nil || !th.Kept || th.Root.Seq != 2 || next != ms[0].Seq {
			t.Errorf("%+v, %d, %v", th, next, err)
		}
		eq(t, "the last page", texts(ms), []string{"mine", "four"})
		_, ms, next, err = r.c.Conversation(dm).Thread(bg, 2, next, 9)
		eq(t, "the page before", fmt.Sprint(texts(ms), next, err), "[One three both] 0 <nil>")

	})
}

// A connection that ends before the answer does not keep the user waiting for the next one:
// what is kept is the answer at once, and is brought up to date when the device is back.
func TestThreadAskedForAtTheCut(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		asked := r.tellThreads(nil)
		r.sayMany(dm, "bob", 3)
		r.inThread(2, "one", nil)
		c := r.dial()
		r.readThread(2)
		answer := r.onCall
		r.do(func() {
			r.onFrame = func(fc *fakeConn, f *wire.ClientFrame) bool {
				if f.GetCall() == nil {
					return false
				}
				r.onHello = func(*wire.Hello) *wire.ServerFrame {
					return wire.NewServerFrame(wire.NewError(wire.CodeUnavailable, ""))
				}
				fc.hang()
				return true
			}
		})
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		th, ms, _, err := c.Conversation(dm).Thread(ctx, 2, 0, 0)
		if err != nil || !th.Kept {
			t.Fatalf("%+v, %v", th, err)
		}
		eq(t, "at the cut", texts(ms), []string{"one"})
		r.inThread(2, "two", nil)
		// What is not kept waits, as long as it may.
		if th, _, _, err := c.Conversation(dm).Thread(ctx, 3, 0, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", th, err)
		}

		r.do(func() { r.onFrame, r.onHello, r.onCall = nil, nil, answer })
		pause(time.Minute)
		eq(t, "asked", *asked, 2)
		eq(t, "kept", texts(second(r.threadOffline(2))), []string{"one", "two"})
	})
}

func second[A, B any](_ A, b B) B { return b }

// What happened while the device was away is read when it is back, without the program's
// asking, and only where something may have.
func TestKeptThreadIsReadAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		asked := r.tellThreads(nil)
		r.sayMany(dm, "bob", 3)
		one := r.inThread(2, "one", nil)
		r.inThread(2, "three", nil)
		both := r.inThread(2, "both", &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, AlsoInMain: true})
		r.dial()
		r.readThread(2)
		r.end()
		r.inThread(2, "five", nil)
		r.inThread(2, "ONE", &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_EDIT, Target: one})
		r.say(dm, "bob", "m4")
		r.dial()
		pause(time.Minute)
		eq(t, "it was brought up to date", *asked, 2)
		_, ms := r.threadOffline(2)
		eq(t, "away", texts(ms), []string{"ONE", "three", "both", "five"})
		r.restart()
		pause(time.Minute)
		eq(t, "asked where nothing happened", *asked, 2)
		r.end()

		// One that stands in both, which touches no root.
		r.inThread(2, "BOTH", &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_EDIT, Target: both, AlsoInMain: true})
		r.dial()
		pause(time.Minute)
		eq(t, "asked", *asked, 3)
		_, ms = r.threadOffline(2)
		eq(t, "in both", texts(ms), []string{"ONE", "three", "BOTH", "five"})
		*asked = 2
		r.end()

		// Another thread tells nothing of this one.
		r.inThread(1, "elsewhere", nil)
		r.dial()
		pause(time.Minute)
		eq(t, "asked of another thread", *asked, 2)

		// The root is taken back: what is there stays readable.
		r.takeBack(dm, 2)
		pause(time.Second)
		th, ms := r.threadOffline(2)
		eq(t, "without its root", fmt.Sprint(th.Root.Recalled, th.Root.Replies, len(ms)), "true 0 4")
		r.do(func() { r.timeline = "t2" })
		r.restart()
		if err := r.c.do(bg, func(k *core) { eq(t, "threads", len(k.threads), 0) }); err != nil {
			t.Fatal(err)
		}
		r.end()
		snap, err := r.store.Load(bg)
		eq(t, "of another history", fmt.Sprint(len(snap.Threads), err), "0 <nil>")
	})
}

// What happens while a thread is read is in it.
func TestThreadReadMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sayMany(dm, "bob", 3)
		one := r.inThread(2, "one", nil)
		first := true
		asked := r.tellThreads(func() {
			if first {
				r.addInThread(2, "two", nil)
				r.addInThread(2, "ONE", &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_EDIT, Target: one})
			}
			first = false
		})
		r.dial()
		eq(t, "the answer", texts(r.readThread(2)), []string{"one"})
		pause(time.Minute)
		eq(t, "asked", *asked, 2)
		_, ms := r.threadOffline(2)
		eq(t, "kept", texts(ms), []string{"ONE", "two"})
	})
}

// What is gone of the conversation's line is gone of its threads, also of the store.
func TestThreadGone(t *testing.T) {
	secret := func(r *rig) bool {
		snap, err := r.store.Load(bg)
		if err != nil {
			r.t.Fatal(err)
		}
		return strings.Contains(fmt.Sprint(snap.Threads), "secret")
	}
	for what, gone := range map[string]func(r *rig, seq uint64){
		"recalled": func(r *rig, seq uint64) {
			r.inThread(2, "", &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: seq})
		},
		"deleted": func(r *rig, seq uint64) {
			r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 9, Deleted: ranges(seq)}, true)
		},
		"deleted while away": func(r *rig, seq uint64) {
			r.end()
			r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 9, Deleted: ranges(seq)}, false)
			r.do(func() { r.changes = append(r.changes, change{conversation: dm}) })
			r.dial()
		},
		"cleared": func(r *rig, seq uint64) {
			r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 9, ClearedBelow: seq + 1}, true)
		},
		"disappeared": func(r *rig, seq uint64) { pause(2 * time.Hour) },
		"disappeared while away": func(r *rig, seq uint64) {
			r.end()
			pause(2 * time.Hour)
			r.dial(WithOffline(), noServer())
		},
		"below the floor": func(r *rig, seq uint64) { r.rises(dm, seq) },
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.tellThreads(nil)
				r.sayMany(dm, "bob", 3)
				if strings.HasPrefix(what, "disappeared") {
					r.do(func() {
						r.append(nil, &wire.Entry{Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EVENT, Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_LIFETIME_CHANGED, LifetimeS: 3600}})
					})
				}
				r.dial()
				seq := r.inThread(2, "secret", nil)
				r.readThread(2)
				pause(time.Second)
				if !secret(r) {
					t.Fatal("it is not kept")
				}
				gone(r, seq)
				pause(time.Second)
				if secret(r) {
					t.Error("it is kept")
				}
			})
		})
	}
}

// Of the threads few are kept, and of each its end.
func TestThreadsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.tellThreads(nil)
		r.sayMany(dm, "bob", maxThreads+3)
		for i := range 120 {
			r.inThread(1, fmt.Sprintf("r%d", i), nil)
		}
		r.dial()
		r.readThread(1)
		all := func() []ThreadRecord {
			t.Helper()
			pause(time.Second)
			snap, err := r.store.Load(bg)
			if err != nil {
				t.Fatal(err)
			}
			return snap.Threads
		}
		eq(t, "a page", len(all()[0].Replies), 50)
		// Older pages join on, as long as they touch what is kept.
		for _, want := range []int{100, 120} {
			_, _, _, err := r.c.Conversation(dm).Thread(bg, 1, all()[0].Before, 0)
			eq(t, "pages", fmt.Sprint(len(all()[0].Replies), err), fmt.Sprint(want, " <nil>"))
		}
		eq(t, "before all", all()[0].Before, 0)
		for i := range 100 {
			r.inThread(1, fmt.Sprintf("l%d", i), nil)
		}
		th := all()[0]
		eq(t, "as many as may be", fmt.Sprint(len(th.Replies), th.Stale, th.Before == th.Replies[0].Seq), "200 false true")
		big := strings.Repeat("x", 60<<10)
		for range 6 {
			r.inThread(1, big, nil)
		}
		eq(t, "as large as may be", len(all()[0].Replies), 4)
		r.inThread(1, strings.Repeat("y", maxThreadBytes+1), nil)
		eq(t, "one is always kept", len(all()[0].Replies), 1)

		for root := 2; root <= maxThreads+2; root++ {
			r.readThread(uint64(root))
		}
		var roots []int
		for _, th := range all() {
			roots = append(roots, int(th.Root))
		}
		slices.Sort(roots)
		eq(t, "kept", fmt.Sprint(len(roots), roots[0]), fmt.Sprint(maxThreads, " 3"))
	})
}

// Where the window begins anew, replies may have been left out.
func TestThreadBehindAGap(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		asked := r.tellThreads(nil)
		r.opts = []Option{WithMaxGap(10)}
		r.sayMany(dm, "bob", 3)
		r.dial()
		r.readThread(2)
		r.end()
		r.inThread(2, "one", nil)
		r.sayMany(dm, "bob", 100)
		r.do(func() { r.deltaMax = 0 })
		r.dial()
		pause(time.Minute)
		eq(t, "gaps", len(eventsOf[*GapEvent](r.events)), 1)
		eq(t, "asked", *asked, 2)
		_, ms := r.threadOffline(2)
		eq(t, "kept", texts(ms), []string{"one"})
	})
}

// What the user read, and whether they follow it, other devices say.
func TestMarksOfAThread(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.tellThreads(nil)
		r.sayMany(dm, "bob", 3)
		var seqs []uint64
		for _, text := range []string{"one", "two", "three"} {
			seqs = append(seqs, r.inThread(2, text, nil))
		}
		r.dial()
		r.readThread(2)
		set := func(revision uint64, m *wire.ThreadMark) {
			m.Root = 2
			r.setElsewhere(&wire.MyState{Conversation: dm, Revision: revision, Threads: []*wire.ThreadMark{m}}, true)
		}
		set(1, &wire.ThreadMark{Read: seqs[1], Follow: wire.ThreadFollow_THREAD_FOLLOW_YES})
		th, _ := r.threadOffline(2)
		eq(t, "read", fmt.Sprint(th.Unread, th.Follows, th.Read == seqs[1]), "1 true true")
		r.restart()
		set(2, &wire.ThreadMark{Read: seqs[0], Follow: wire.ThreadFollow_THREAD_FOLLOW_NO})
		if _, err := r.c.Conversation(dm).Send(bg, "mine", InThread(2)); err != nil {
			t.Fatal(err)
		}
		th, _ = r.threadOffline(2)
		eq(t, "wrote, and does not follow it", fmt.Sprint(th.Unread, th.Follows, th.Read > seqs[2]), "0 false true")
	})
}
