package search

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// stored is a page of n entries in positions of per each, read where the journal is at now.
func stored(n, per int, now uint64) *im.Followed {
	f := &im.Followed{Now: im.Place{Pos: now}}
	for i := range n {
		f.Entries = append(f.Entries, im.Entry{Pos: uint64(i/per) + 1})
	}
	return f
}

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
				p.read(stored(500, c.per, 1000), time.Now())
				p.rest(t.Context(), time.Hour) // nothing is known yet
				if p.perSecond != 0 {
					t.Errorf("%v messages a second, of one look", p.perSecond)
				}
				time.Sleep(time.Second)
				p.read(stored(500, c.per, 1000+c.grow), time.Now())
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
		p.read(stored(500, 1, 100_000), time.Now())
		time.Sleep(time.Second)
		p.read(stored(500, 1, 500), time.Now())
		if p.perSecond != 0 {
			t.Errorf("%v messages a second of a journal that went back", p.perSecond)
		}
		time.Sleep(time.Second)
		p.read(stored(500, 1, 100_000), time.Now())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		p.rest(ctx, time.Second)
		if d := time.Since(began); d != 0 {
			t.Errorf("it rested for %v after the end", d)
		}
	})
}
