package later

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// keepWorld is a journal, its floors and a lease, which outlive who works.
type keepWorld struct {
	*world
	entries []im.Entry
	era     uint64
	own     map[im.ConversationID]bool
	floors  map[im.ConversationID]im.Floor
	raised  map[im.ConversationID]time.Time
	given   map[im.ConversationID]uint64
	read    int // entries that were read
	// fail ends the process at the step with this number, before or after it is done.
	fail, did int
	after     bool
}

const (
	keepFor = 90 * 24 * time.Hour
	toldFor = 40 * time.Second
)

func newKeepWorld(t *testing.T) *keepWorld {
	return &keepWorld{world: newWorld(t), era: 1, own: map[im.ConversationID]bool{}, floors: map[im.ConversationID]im.Floor{}, raised: map[im.ConversationID]time.Time{}, given: map[im.ConversationID]uint64{}}
}

// say stores an entry now.
func (w *keepWorld) say(c im.ConversationID) {
	seq := uint64(1)
	for _, e := range w.entries {
		if e.Conversation == c {
			seq = e.Seq + 1
		}
	}
	w.entries = append(w.entries, im.Entry{Conversation: c, Seq: seq, Count: seq / 2, Pos: uint64(len(w.entries)) + 1, Stored: time.Now()})
}

func (w *keepWorld) After(_ context.Context, at im.Place, limit int) (im.Followed, error) {
	if at.Pos > 0 && at.Era != w.era {
		return im.Followed{}, im.ErrOtherHistory
	}
	until := min(at.Pos+uint64(limit), uint64(len(w.entries)))
	w.read += int(until - at.Pos)
	return im.Followed{Entries: w.entries[at.Pos:until], UpTo: im.Place{Era: w.era, Pos: until}, Now: im.Place{Era: w.era, Pos: uint64(len(w.entries))}}, nil
}

func (w *keepWorld) Agree(context.Context, im.Place) (im.Place, error) { return im.Place{}, nil }

// step is one that may be the process's last.
func (w *keepWorld) step(do func()) error {
	w.did++
	last := w.did == w.fail
	if !last || w.after {
		do()
	}
	if last {
		return errors.New("the process ended")
	}
	return nil
}

func (w *keepWorld) SaveFollower(ctx context.Context, s im.FollowerState) (held bool, err error) {
	return held, w.step(func() {
		if held, _ = w.world.SaveFollower(ctx, s); held {
			w.lease.Place = s.Place
		}
	})
}

func (w *keepWorld) kept(_ context.Context, cs []im.ConversationID) (map[im.ConversationID]bool, error) {
	return w.own, nil
}

func (w *keepWorld) raise(_ context.Context, floors []im.Floor) error {
	return w.step(func() {
		for _, f := range floors {
			if f.Seq > w.floors[f.Conversation].Seq {
				w.floors[f.Conversation], w.raised[f.Conversation] = f, time.Now()
			}
		}
	})
}

func (w *keepWorld) giveUp(_ context.Context, cs []im.ConversationID) (again time.Time, err error) {
	return again, w.step(func() {
		for _, c := range cs {
			if at := w.raised[c].Add(toldFor); at.After(time.Now()) {
				again = at
			} else {
				w.given[c] = w.floors[c].Seq
			}
		}
	})
}

func (w *keepWorld) begins(node string) *Retention {
	return NewRetention(RetentionOptions{
		Journal: w, Lease: w, Keep: keepFor, Pause: time.Hour,
		Kept: w.kept, Raise: w.raise, GiveUp: w.giveUp, Node: node,
	})
}

// looks has a process look for a time; it ends when a step fails.
func (w *keepWorld) looks(r *Retention, d time.Duration) (ended bool) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(lookEvery) {
		if err := r.Look(w.t.Context()); err != nil {
			return true
		}
	}
	return false
}

func (w *keepWorld) want(floors map[im.ConversationID]uint64) {
	w.t.Helper()
	got := map[im.ConversationID]uint64{}
	for c, f := range w.floors {
		got[c] = f.Seq
		if f.Count != f.Seq/2 {
			w.t.Errorf("the floor %d of %s counts %d", f.Seq, c, f.Count)
		}
	}
	if !maps.Equal(got, floors) || !maps.Equal(w.given, floors) {
		all := fmt.Sprintf("floors %v, given up %v, want %v", got, w.given, floors)
		w.t.Errorf("after %s: %s", time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), all[:min(len(all), 500)])
	}
}

// What is older than messages are kept is below its conversation's floor, and given up,
// and nothing else; feeds and conversations with a time of their own are left alone. What
// was read is read no more.
func TestWhatIsOldLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newKeepWorld(t)
		a, b, own := im.Group("a"), im.DM("x", "y"), im.Group("own")
		w.own[own] = true
		for range 3 { // one a day of each: 1–12
			for _, c := range []im.ConversationID{a, b, own, im.Me("x")} {
				w.say(c)
			}
			time.Sleep(24 * time.Hour)
		}
		begun := time.Now().Add(-3 * 24 * time.Hour)
		r := w.begins("n")
		if w.looks(r, time.Minute) {
			t.Fatal("failed")
		}
		w.want(map[im.ConversationID]uint64{})
		until := func(d time.Duration) {
			time.Sleep(time.Until(begun.Add(d)))
			if w.looks(r, 2*time.Minute) {
				t.Fatal("failed")
			}
		}
		until(keepFor - 3*time.Minute)
		w.want(map[im.ConversationID]uint64{})
		until(keepFor + time.Hour)
		w.want(map[im.ConversationID]uint64{a: 1, b: 1})
		w.say(b)
		until(keepFor + 25*time.Hour)
		w.want(map[im.ConversationID]uint64{a: 2, b: 2})
		before := w.read
		until(keepFor + 200*24*time.Hour)
		w.want(map[im.ConversationID]uint64{a: 3, b: 4})
		if n := w.read - before; n > 2*len(w.entries) {
			t.Errorf("%d entries were read for the last of %d", n, len(w.entries))
		}
	})
}

// Whatever step is a process's last, the next one brings it to its end, and no floor is
// given up sooner than everybody knows of it.
func TestRetentionDiesAtEachStep(t *testing.T) {
	for fail := 1; ; fail++ {
		died := false
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newKeepWorld(t)
				want := map[im.ConversationID]uint64{}
				for n := range 250 {
					c := im.Group(fmt.Sprint(n))
					w.say(c)
					w.say(c)
					want[c] = 2
				}
				time.Sleep(keepFor + time.Hour)
				w.fail, w.after = fail, after
				died = w.looks(w.begins("first"), 3*time.Minute) || died
				w.looks(w.begins("second"), 3*time.Minute)
				w.want(want)
				if w.lease.Place.Pos != 500 {
					t.Errorf("step %d: it is at %d", fail, w.lease.Place.Pos)
				}
			})
		}
		if !died {
			if fail < 6 {
				t.Errorf("only %d steps", fail-1)
			}
			return
		}
	}
}

// More than a round, a history that went back, and a second process that has nothing to
// do as long as the first one is there.
func TestRetentionOfMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newKeepWorld(t)
		want := map[im.ConversationID]uint64{}
		for n := range retentionFloors + 5000 {
			c := im.Group(fmt.Sprint(n))
			w.entries = append(w.entries, im.Entry{Conversation: c, Seq: 1, Pos: uint64(n) + 1, Stored: time.Now()})
			want[c] = 1
		}
		time.Sleep(keepFor + time.Hour)
		r, other := w.begins("first"), w.begins("second")
		for range 200 {
			if err := errors.Join(r.Look(t.Context()), other.Look(t.Context())); err != nil {
				t.Fatal(err)
			}
			time.Sleep(lookEvery)
		}
		w.want(want)
		if other.lease.held {
			t.Error("both work")
		}
		w.era = 2 // the journal was put back
		c := im.Group("0")
		w.entries = append(w.entries, im.Entry{Conversation: c, Seq: 2, Count: 1, Pos: uint64(len(w.entries)) + 1, Stored: time.Now()})
		want[c] = 2
		time.Sleep(keepFor + time.Hour)
		w.looks(r, 5*time.Minute)
		w.want(want)
	})
}
