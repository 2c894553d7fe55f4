package search

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// each is a journal whose positions have n messages each.
func each(n int) func() float64 { return func() float64 { return float64(n) } }

// The index rests as long as what is stored beside it is worth, and not at all when
// nothing is.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name string
		per  int    // entries of a position
		grow uint64 // positions within a second
		want time.Duration
	}{
		{"nobody stores", 10, 0, 0},
		{"as much as is worth the work", 10, 50, 20 * time.Millisecond},
		{"messages with a position each", 1, 500, 20 * time.Millisecond},
		{"two thousand a second", 20, 100, 80 * time.Millisecond},
		{"four thousand a second", 20, 200, 640 * time.Millisecond},
		{"more than it can wait for", 100, 1000, maxRest},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p pace
				p.read(im.Place{Pos: 1000}, time.Now(), each(c.per))
				p.rest(t.Context(), time.Hour) // nothing is known yet
				if p.perSecond != 0 {
					t.Errorf("%v messages a second, of one look", p.perSecond)
				}
				time.Sleep(time.Second)
				p.read(im.Place{Pos: 1000 + c.grow}, time.Now(), each(c.per))
				began := time.Now()
				p.rest(t.Context(), 20*time.Millisecond)
				if d := time.Since(began).Round(time.Millisecond); d != c.want {
					t.Errorf("it rested for %v, want %v", d, c.want)
				}
			})
		})
	}
}

// A rest ends with the server, and a history that went back is no rate.
func TestPaceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		p.read(im.Place{Pos: 100_000}, time.Now(), each(1))
		time.Sleep(time.Second)
		p.read(im.Place{Pos: 500}, time.Now(), each(1))
		if p.perSecond != 0 {
			t.Errorf("%v messages a second of a journal that went back", p.perSecond)
		}
		time.Sleep(time.Second)
		p.read(im.Place{Pos: 100_000}, time.Now(), each(1))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		p.rest(ctx, time.Second)
		if d := time.Since(began); d != 0 {
			t.Errorf("it rested for %v after the end", d)
		}
	})
}

// fast is a journal that had 1,000 positions of 100 messages each, and has 1,000 more with
// one each, and one more with each look.
type fast struct {
	Journal
	now uint64
}

func (f *fast) After(_ context.Context, after im.Place, limit int) (im.Followed, error) {
	f.now++
	got := im.Followed{UpTo: after, Now: im.Place{Pos: f.now}}
	for pos := after.Pos + 1; pos <= f.now && len(got.Entries) < limit; pos++ {
		n := 1
		if pos <= 1000 {
			n = 100
		}
		for range n {
			got.Entries = append(got.Entries, im.Entry{Pos: pos})
		}
		got.UpTo.Pos = pos
	}
	return got, nil
}

// An index that is far behind reads what came in bursts; what it makes way for is what
// comes now. It took that for a hundred times as much, and fell behind for ever.
func TestPaceOfWhatComesNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewIndexer(nil, &fast{now: 2000}, nil, nil, prometheus.NewRegistry())
		at := im.Place{}
		for range 3 {
			got, err := x.After(t.Context(), at, 500)
			if err != nil {
				t.Fatal(err)
			}
			at = got.UpTo
			time.Sleep(time.Second / 10)
		}
		// Two looks a tenth of a second, of which one is for the newest positions.
		if got := x.pace.perSecond; got < 10 || got > 20 {
			t.Errorf("%v messages a second, want 20 at most", got)
		}
	})
}

// Who looks for something does not wait for an index that is far behind.
func TestStateIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewIndexer(nil, &fast{now: 10_000}, nil, nil, prometheus.NewRegistry())
		if _, err := x.After(t.Context(), im.Place{}, 500); err != nil {
			t.Fatal(err)
		}
		for pos, want := range map[uint64]time.Duration{soon: time.Second, soon + 1: 0} {
			began := time.Now()
			if _, err := x.State(t.Context(), pos, time.Second); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("%d positions behind: waited for %v, want %v", pos, took, want)
			}
		}
	})
}
