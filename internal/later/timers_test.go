package later

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// ticking is a store of timers, and what is done to messages, which outlive the services.
type ticking struct {
	world *world // for the lease
	mu    sync.Mutex
	rows  []im.Timer
	done  map[byte]int // how often each was done, …
	fail  map[byte]int // … and fails so often before
	again map[byte]time.Time
	lost  bool // the next end of timers is not noted
}

func (w *ticking) DueTimers(_ context.Context, now time.Time, limit int) (due []im.Timer, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.rows {
		if !t.At.After(now) && len(due) < limit {
			due = append(due, t)
		}
	}
	return due, nil
}

func (w *ticking) EndTimers(_ context.Context, timers []im.Timer, to []time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost {
		w.lost = false
		return errors.New("crashed")
	}
	for i, t := range timers {
		at := slices.Index(w.rows, t)
		switch {
		case at < 0:
		case to[i].IsZero():
			w.rows = slices.Delete(w.rows, at, at+1)
		default:
			w.rows[at].At = to[i]
		}
	}
	return nil
}

func (w *ticking) do(_ context.Context, t im.Timer) (time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := t.ID[15]
	if w.fail[n] > 0 {
		w.fail[n]--
		return time.Time{}, errors.New("not now")
	}
	if again := w.again[n]; !again.IsZero() {
		delete(w.again, n)
		return again, nil
	}
	w.done[n]++
	return time.Time{}, nil
}

func (w *ticking) start() *Timers {
	s := NewTimers(TimersOptions{Store: w, Lease: w.world, Do: w.do, Alone: true})
	s.Start()
	return s
}

// Timers are done when they are due: again if that fails, if they say so, or if nobody
// noted it; and then they are gone.
func TestTimersAreDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		w := &ticking{world: newWorld(t), done: map[byte]int{}, fail: map[byte]int{2: 1}, again: map[byte]time.Time{3: begun.Add(time.Minute)}, lost: true}
		for n := range byte(5) {
			w.rows = append(w.rows, im.Timer{Kind: im.TimerStream, ID: im.MessageID{15: n}, At: begun.Add(time.Duration(n) * 10 * time.Second)})
		}
		s := w.start()
		for _, tt := range []struct {
			at   time.Duration
			want []int
		}{
			{5 * time.Second, []int{2, 0, 0, 0, 0}}, // what became of it was not noted
			{15 * time.Second, []int{2, 1, 0, 0, 0}},
			{22 * time.Second, []int{2, 1, 0, 0, 0}},
			{35 * time.Second, []int{2, 1, 1, 0, 0}},
			{45 * time.Second, []int{2, 1, 1, 0, 1}},
			{62 * time.Second, []int{2, 1, 1, 1, 1}},
		} {
			time.Sleep(tt.at - time.Since(begun))
			synctest.Wait()
			w.mu.Lock()
			for n, want := range tt.want {
				if w.done[byte(n)] != want {
					t.Errorf("after %v timer %d was done %d times, not %d", tt.at, n, w.done[byte(n)], want)
				}
			}
			w.mu.Unlock()
		}
		s.Close()
		if len(w.rows) > 0 {
			t.Errorf("left: %v", w.rows)
		}
	})
}

// More than a page is done in one look.
func TestManyTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &ticking{world: newWorld(t), done: map[byte]int{}, fail: map[byte]int{}, again: map[byte]time.Time{}}
		for n := range 2 * timerPage {
			w.rows = append(w.rows, im.Timer{Kind: im.TimerStream, ID: im.MessageID{0: byte(n >> 8), 1: byte(n)}})
		}
		s := w.start()
		defer s.Close()
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.done[0] != 2*timerPage || len(w.rows) > 0 {
			t.Errorf("%d were done, %d are left", w.done[0], len(w.rows))
		}
	})
}
