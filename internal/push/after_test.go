package push

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// held is a value that a test changes while it is asked for.
type held[T any] struct {
	mu sync.Mutex
	v  T
}

func (h *held[T]) get() T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.v
}

func (h *held[T]) set(v T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.v = v
}

// counted is a journal of one entry for each position, that counts what was read of it.
type counted struct {
	now  held[uint64]
	read uint64
}

func (j *counted) After(_ context.Context, after im.Place, limit int) (f im.Followed, err error) {
	f.Now, f.UpTo = im.Place{Pos: j.now.get()}, after
	for ; limit > 0 && f.UpTo.Pos < f.Now.Pos; limit-- {
		f.UpTo.Pos++
		j.read++
		f.Entries = append(f.Entries, im.Entry{Pos: f.UpTo.Pos})
	}
	return f, nil
}

func (j *counted) Agree(_ context.Context, p im.Place) (im.Place, error) { return p, nil }

// devices are subscriptions of which a test knows whether there are any.
type devices struct {
	Subscriptions
	some held[bool]
	err  error
}

func (d *devices) AnyPush(context.Context) (bool, error) { return d.some.get(), d.err }

// While no device can be woken nothing is read, and what becomes old enough is passed over;
// a device that comes is woken for what was not yet old enough, and for all that follows.
func TestAfterReadsForDevicesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, j := &devices{}, &counted{}
		s := New(Options{Subscriptions: d, Wait: wait})
		look := func(from uint64) im.Followed {
			t.Helper()
			f, err := s.After(t.Context(), j, im.Place{Pos: from}, 10)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		began := time.Now()
		if f := look(0); f.UpTo.Pos != 0 || time.Since(began) != 0 {
			t.Errorf("an empty journal: %+v after %v", f, time.Since(began))
		}
		j.now.set(30)
		go func() {
			time.Sleep(wait / 2)
			j.now.set(40) // not old enough when it looks
		}()
		if f := look(0); f.UpTo.Pos != 30 || len(f.Entries) != 0 || time.Since(began) != wait {
			t.Errorf("30 entries without a device: %+v after %v", f, time.Since(began))
		}
		if j.read != 0 {
			t.Errorf("%d entries were read for nobody", j.read)
		}
		go func() {
			time.Sleep(wait / 2)
			d.some.set(true)
		}()
		if f := look(30); f.UpTo.Pos != 40 || len(f.Entries) != 10 {
			t.Errorf("a device came while they became old: %+v", f)
		}
		j.now.set(45)
		began = time.Now()
		if f := look(40); len(f.Entries) != 5 || time.Since(began) != 0 {
			t.Errorf("with a device: %+v after %v", f, time.Since(began))
		}
		d.some.set(false)
		time.Sleep(anyKnown)
		if f := look(45); f.UpTo.Pos != 45 || j.read != 15 {
			t.Errorf("the device is gone: %+v, %d read", f, j.read)
		}
		j.now.set(50)
		d.err = errors.New("the store is down")
		time.Sleep(anyKnown)
		if _, err := s.After(t.Context(), j, im.Place{Pos: 45}, 10); err == nil {
			t.Error("what it does not know it takes for none")
		}
		d.err = nil
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.After(ctx, j, im.Place{Pos: 45}, 10); err == nil {
			t.Error("it passes over at its end what is not old enough")
		}
	})
}

// What was stored within gather of each other is looked at together, later by no more. By
// the clock of a node that is behind the last one was stored before the first: the first
// one counts, or Handle would not wait at all, and turn until it is old enough.
func TestTogether(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		last, want time.Duration
	}{{0, 0}, {gather / 2, gather / 2}, {gather * 3, gather}, {-gather, 0}} {
		if got := together([]im.Entry{{Stored: at}, {Stored: at.Add(c.last)}}); !got.Equal(at.Add(c.want)) {
			t.Errorf("the last one %v later: waits for %v, want %v", c.last, got.Sub(at), c.want)
		}
	}
}
