package skein

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// faultStore fails at its nth Apply: before anything is stored, or after all
// of it is (the process dies, or the answer of the disk is lost).
type faultStore struct {
	Store
	mu    sync.Mutex
	n     int
	after bool
	down  bool
}

var errDisk = errors.New("the disk is on fire")

func (s *faultStore) Apply(ctx context.Context, b *Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errDisk
	}
	if s.n--; s.n == 0 {
		s.down = true
		if s.after {
			if err := s.Store.Apply(ctx, b); err != nil {
				return err
			}
		}
		return errDisk
	}
	return s.Store.Apply(ctx, b)
}

// TestCrashAtEveryStep runs one story with the store failing at its 1st, 2nd,
// 3rd … write, before and after the write; then a new process goes on with what
// is stored. Whatever was said is there once, in order, on both sides.
func TestCrashAtEveryStep(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			crashed := false
			t.Run(fmt.Sprintf("write %d after=%v", n, after), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) { crashed = crashStory(t, r, n, after) })
			})
			if !crashed || t.Failed() {
				if n < 10 {
					t.Errorf("the story has only %d writes", n)
				}
				break
			}
		}
	}
}

func crashStory(t *testing.T, r *rig, n int, after bool) bool {
	disk := r.store
	fs := &faultStore{Store: disk, n: n, after: after}
	r.store = fs
	var accepted []string
	var events []string
	process := func(from int) {
		c, err := r.tryDial(WithMaxGap(0))
		if err != nil {
			return
		}
		for i := from; i < from+3; i++ {
			s := fmt.Sprintf("a%d", i)
			p, err := c.Conversation(dm).SendAsync(bg, s)
			if err == nil {
				accepted = append(accepted, s)
				_, _ = p.Wait(bg)
			}
			r.say(dm, "bob", fmt.Sprintf("b%d", i))
			pause(200 * time.Millisecond)
			_ = c.Conversation(dm).MarkRead(bg, uint64(i+1))
		}
		r.do(func() { // lost pushes, repaired later
			r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
		})
		r.say(dm, "bob", fmt.Sprintf("b%d lost", from))
		r.do(func() { r.onPush = nil })
		r.say(grp, "bob", "g")
		r.edit(grp, 1, fmt.Sprint("edit ", from))
		pause(40 * time.Second)
		r.takeBack(grp, r.say(grp, "bob", "g, recalled").Seq)
		pause(time.Second)
	}
	process(0)
	first := r.events
	r.end()
	crashed := fs.down
	r.store = disk
	process(3)
	second := r.events
	synctest.Wait()
	r.checkStore(dm)
	r.checkStore(grp)
	got := r.texts()
	var mine []string
	for _, s := range got {
		if s[0] == 'a' {
			mine = append(mine, s)
		}
	}
	// A message whose write failed before it was stored was not accepted; one whose
	// write's outcome was unknown may be there.
	for _, s := range mine {
		if !slices.Contains(accepted, s) && !after {
			t.Errorf("%s was never accepted", s)
		}
	}
	for _, s := range accepted {
		if !slices.Contains(mine, s) {
			t.Errorf("%s was accepted and is lost; stored %v", s, mine)
		}
	}
	if !slices.IsSorted(mine) || len(slices.Compact(slices.Clone(mine))) != len(mine) {
		t.Errorf("own messages are stored as %v", mine)
	}
	// Events: each entry of others at least once and in order; again only what was
	// not confirmed before the crash.
	if first != nil {
		events = append(events, first.messages()...)
	}
	if second != first {
		events = append(events, second.messages()...)
	}
	checkEvents(t, r, events)
	out, err := r.c.Outbox(bg)
	if err != nil || len(out) != 0 {
		t.Errorf("outbox = %v, %v", out, err)
	}
	return crashed
}

// checkEvents compares MessageEvents with the journals: nothing missing but
// what a cold start took as history, nothing out of order.
func checkEvents(t *testing.T, r *rig, events []string) {
	t.Helper()
	var all []string
	for _, e := range r.journal[dm] {
		if e.Sender == "bob" {
			all = append(all, e.Content.GetText())
		}
	}
	seen := map[string]int{}
	last := -1
	for _, s := range events {
		i := slices.Index(all, s)
		if i < 0 {
			continue // another conversation
		}
		if i > last+1 && last >= 0 {
			t.Errorf("event %s came before %v", s, all[last+1:i])
		}
		last = max(last, i)
		if seen[s]++; seen[s] > 2 {
			t.Errorf("event %s came %d times", s, seen[s])
		}
	}
	if last != len(all)-1 {
		t.Errorf("events end at %d of %v: %v", last, all, events)
	}
}

// A store that fails ends the client and tells everybody.
func TestStoreFailureEndsTheClient(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		fs := &faultStore{Store: r.store, n: -1}
		r.store = fs
		c := r.dial()
		fs.mu.Lock()
		fs.n = 1
		fs.mu.Unlock()
		if _, err := c.Conversation(dm).Send(bg, "x"); !errors.Is(err, ErrStore) || !errors.Is(err, errDisk) {
			t.Errorf("Send: %v, want the store's error", err)
		}
		eq(t, "nothing left the device", len(r.texts()), 0)
		select {
		case <-r.events.done:
		case <-time.After(time.Hour): // of the bubble's
			t.Fatal("the client goes on")
		}
		states := eventsOf[*StateEvent](r.events)
		if last := states[len(states)-1]; last.State != StateClosed || !errors.Is(last.Err, ErrStore) {
			t.Errorf("last state = %+v", last)
		}
		if err := c.Close(); !errors.Is(err, ErrStore) {
			t.Errorf("Close: %v", err)
		}
	})
}

// The store first for what the program is told: a message that Send calls stored
// is so on disk as well, whichever write failed.
func TestAnsweredAfterStored(t *testing.T) {
	for n := 1; n <= 4; n++ {
		inBubble(t, func(t *testing.T, r *rig) {
			disk := r.store
			fs := &faultStore{Store: disk, n: -1}
			r.store = fs
			c := r.dial()
			synctest.Wait()
			fs.mu.Lock()
			fs.n = n
			fs.mu.Unlock()
			m, err := c.Conversation(dm).Send(bg, "x")
			if err != nil {
				return // the write that failed came before
			}
			es, loadErr := disk.Entries(bg, dm, m.Seq, m.Seq, 1)
			snap, snapErr := disk.Load(bg)
			if loadErr != nil || snapErr != nil {
				t.Fatal(loadErr, snapErr)
			}
			kept := slices.ContainsFunc(snap.Outbox, func(o OutboxRecord) bool { return o.State == OutboxStored })
			if len(es) == 0 && !kept {
				t.Errorf("write %d failed, and Send said %d", n, m.Seq)
			}
		})
	}
}

// In the store first: at the moment the server sees a message, it is in the outbox on disk.
func TestWrittenBeforeSent(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.onSend = func(_ *fakeConn, s *wire.Send) verdict {
			snap, err := r.store.Load(bg)
			if err != nil {
				t.Error(err)
			}
			if !slices.ContainsFunc(snap.Outbox, func(o OutboxRecord) bool { return string(o.Send.Id) == string(s.Id) }) {
				t.Error("sent before it was written")
			}
			return verdict{}
		}
		for range 5 {
			if _, err := c.Conversation(dm).Send(bg, "x"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The store first for marks and acks as well: received is told after the entry is stored.
func TestReceivedAfterStored(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool {
			if m := f.GetReceived(); m != nil {
				es, err := r.store.Entries(bg, m.Conversation, m.Seq, m.Seq, 1)
				if err != nil || len(es) != 1 {
					t.Errorf("received %d was told but is not stored", m.Seq)
				}
			}
			return false
		}
		for i := range 20 {
			r.say(dm, "bob", fmt.Sprint(i))
			pause(30 * time.Millisecond)
		}
	})
}
