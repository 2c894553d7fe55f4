package later

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// erasing is a store of erasures, and what was done.
type erasing struct {
	*world
	due  []im.Erasure
	done []string
	fail map[im.UserID]error
}

func (w *erasing) DueErasures(context.Context, int) ([]im.Erasure, error) {
	return slices.DeleteFunc(slices.Clone(w.due), func(e im.Erasure) bool { return !e.Done.IsZero() }), nil
}

func (w *erasing) MoveErasure(_ context.Context, was, is im.Erasure) (bool, error) {
	do, end := w.at()
	i := slices.Index(w.due, was)
	if do && i >= 0 {
		w.due[i] = is
	}
	return i >= 0, end()
}

func (w *erasing) step(name string, parts int) func(context.Context, im.Erasure) (string, error) {
	return func(_ context.Context, e im.Erasure) (string, error) {
		if err := w.fail[e.User]; err != nil {
			return "", err
		}
		do, end := w.at()
		if do {
			w.done = append(w.done, fmt.Sprint(e.User, " ", name, e.Place))
		}
		if n := len(e.Place) + 1; n < parts {
			return e.Place + "+", end()
		}
		return "", end()
	}
}

func (w *erasing) work(looks int) {
	s := NewErasures(ErasuresOptions{Store: w, Lease: w, Steps: []ErasureStep{
		{Do: w.step("a", 1)}, {After: 10 * time.Second, Do: w.step("b", 3)}, {Do: w.step("c", 1)},
	}})
	ctx, cancel := context.WithCancel(w.t.Context())
	w.dead = cancel
	for range looks {
		if ctx.Err() != nil {
			return
		}
		if err := s.Look(ctx); err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
		time.Sleep(time.Second)
	}
	cancel()
	s.lease.leave(w.t.Context())
}

// A process that dies before or after any step, and another one that takes over: every
// part is done, in order, one of them perhaps twice, and what waits for a time waits.
func TestErasuresDieAtEachStep(t *testing.T) {
	for _, after := range []bool{false, true} {
		for crash := 1; ; crash++ {
			reached := false
			synctest.Test(t, func(t *testing.T) {
				w := &erasing{world: newWorld(t)}
				w.due = []im.Erasure{{User: "ann", Begun: time.Now()}}
				w.crash, w.after = crash, after
				w.work(5)
				if slices.Contains(w.done, "ann b") {
					t.Errorf("step %d, %v: too early: %v", crash, after, w.done)
				}
				w.work(15)
				reached = w.world.step >= crash
				w.crash = 0
				w.work(30)
				got := slices.Compact(w.done)
				if want := []string{"ann a", "ann b", "ann b+", "ann b++", "ann c"}; !slices.Equal(got, want) {
					t.Errorf("step %d, %v: %v", crash, after, w.done)
				}
				if len(w.done) > 6 || w.due[0].Done.IsZero() || w.due[0].Step != 3 {
					t.Errorf("step %d, %v: %v, %+v", crash, after, w.done, w.due)
				}
			})
			if !reached {
				if crash < 10 {
					t.Errorf("only %d steps", crash)
				}
				break
			}
		}
	}
}

// One that cannot be gone on with does not hold up another, and is gone on with later.
func TestErasureThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &erasing{world: newWorld(t), fail: map[im.UserID]error{"ann": errors.New("the store is away")}}
		w.due = []im.Erasure{{User: "ann", Begun: time.Now()}, {User: "bob", Begun: time.Now()}}
		w.work(15)
		if len(w.done) != 5 || w.done[4] != "bob c" || !w.due[0].Done.IsZero() || w.due[1].Done.IsZero() {
			t.Errorf("%v, %+v", w.done, w.due)
		}
		clear(w.fail)
		w.work(3)
		if len(w.done) != 10 || w.due[0].Done.IsZero() {
			t.Errorf("%v, %+v", w.done, w.due)
		}
	})
}
