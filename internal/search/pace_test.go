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
				p.rest(t.Context(), time.Hour, nil) // nothing is known yet
				if p.perSecond != 0 {
					t.Errorf("%v messages a second, of one look", p.perSecond)
				}
				time.Sleep(time.Second)
				p.read(im.Place{Pos: 1000 + c.grow}, time.Now(), each(c.per))
				p.outlasted = true // what a burst is waited for is another test's
				began := time.Now()
				p.rest(t.Context(), 20*time.Millisecond, nil)
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
		p.rest(ctx, time.Second, nil)
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
			time.Sleep(time.Second / 5)
		}
		// Two looks a fifth of a second, of which one is for the newest positions.
		if got := x.pace.perSecond; got < 5 || got > 10 {
			t.Errorf("%v messages a second, want 10 at most", got)
		}
	})
}

// busy is a journal that a number of positions a second come to, of four messages each.
type busy struct {
	Journal
	perSecond float64
	began     time.Time
	ends      time.Time
}

func (b *busy) After(_ context.Context, after im.Place, limit int) (im.Followed, error) {
	at := time.Now()
	if at.After(b.ends) {
		at = b.ends
	}
	now := im.Place{Pos: 10_000 + uint64(at.Sub(b.began).Seconds()*b.perSecond)}
	got := im.Followed{UpTo: after, Now: now}
	for pos := after.Pos + 1; pos <= now.Pos && len(got.Entries) < limit; pos++ {
		for range 4 {
			got.Entries = append(got.Entries, im.Entry{Pos: pos, Kind: im.EntryReaction})
		}
		got.UpTo.Pos = pos
	}
	return got, nil
}

// noted is an index that is told how far it is, which takes it a while, and nothing else.
type noted struct{ Index }

func (noted) SaveState(context.Context, State) error {
	time.Sleep(3 * time.Millisecond)
	return nil
}

// rests has an index handle a page, and tells how long it rests before it reads the next
// one. It is known meanwhile for who works, and its page for done.
func rests(t *testing.T, x *Indexer, page *im.Followed) time.Duration {
	t.Helper()
	if err := x.Handle(t.Context(), page.Entries); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	rested := make(chan error)
	go func() {
		next, err := x.After(t.Context(), page.UpTo, 500)
		*page = next
		rested <- err
	}()
	for {
		select {
		case err := <-rested:
			if err != nil || len(page.Entries) < 500 {
				t.Fatalf("%d entries: %v", len(page.Entries), err)
			}
			return time.Since(began)
		case <-time.After(100 * time.Millisecond):
			if _, _, here, _ := x.progress(); !here {
				t.Fatal("it is not known any more for who works")
			}
		}
	}
}

// The index waits until a burst is over, and no longer. What does not end is no burst: it
// waits once, and reads on.
func TestPaceOfABurst(t *testing.T) {
	const long = time.Hour
	for _, c := range []struct {
		name        string
		perSecond   float64       // positions
		ends        time.Duration // after it began to rest
		least, most time.Duration
		next        time.Duration // at most, behind the next page
	}{
		{"none", 0, long, 0, 0, 0},
		{"much", 900, long, 50 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
		{"a burst", 5000, 10 * time.Second, 10 * time.Second, 12 * time.Second, 0},
		{"a burst that does not end", 5000, long, burstRest, burstRest + burstLook + maxRest, maxRest},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const before = 2 * time.Second
				j := &busy{perSecond: c.perSecond, began: time.Now(), ends: time.Now().Add(before + c.ends)}
				x := NewIndexer(noted{}, j, nil, nil, prometheus.NewRegistry())
				var page im.Followed
				for range 2 {
					var err error
					if page, err = x.After(t.Context(), page.UpTo, 500); err != nil || len(page.Entries) < 500 {
						t.Fatalf("%d entries: %v", len(page.Entries), err)
					}
					time.Sleep(before / 2)
				}
				if d := rests(t, x, &page); d < c.least || d > c.most {
					t.Errorf("it rested for %v, want %v to %v", d, c.least, c.most)
				}
				if d := rests(t, x, &page); d > c.next {
					t.Errorf("behind the next page it rested for %v, want %v at most", d, c.next)
				}
			})
		})
	}
}

// What is stored together within a moment is not taken for what is stored in a second.
func TestPaceOfAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		now := im.Place{Pos: 1000}
		p.read(now, time.Now(), each(1))
		for i := range 50 { // 200 messages at once, five times a second, and a look each 20 ms
			if i%10 == 5 {
				now.Pos += 200
			}
			time.Sleep(20 * time.Millisecond)
			p.read(now, time.Now(), each(1))
			if i >= 10 && (p.perSecond < 500 || p.perSecond > 2000) {
				t.Fatalf("%v messages a second after %d looks, want some 1,000", p.perSecond, i)
			}
		}
	})
}

// A burst is not outlasted by who is told to end, nor where the journal cannot be asked.
func TestPaceOfABurstEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{perSecond: burst + 1}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		began, looks := time.Now(), 0
		p.outlast(ctx, func() error { looks++; return nil })
		if d := time.Since(began); d != 1500*time.Millisecond || looks != 1 {
			t.Errorf("ended after %v and %d looks", d, looks)
		}
		began = time.Now()
		p.outlast(t.Context(), func() error { return im.ErrOtherHistory })
		if d := time.Since(began); d != burstLook {
			t.Errorf("went on for %v after the journal failed", d)
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
