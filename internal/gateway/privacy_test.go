package gateway

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func watching(us ...string) *wire.ClientFrame {
	return wire.NewClientFrame(&wire.WatchPresence{Users: us})
}

// Of who is away it is told since when, as far as they show it, to who asks later and to
// who watched them go; of who hides, and of who does not exist, that they are not there.
func TestLastSeen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		seen := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
		w.logic.seen = map[im.UserID]time.Time{"cat": seen}
		w.logic.signal = func(_ im.Actor, s im.Signal) ([]im.UserID, error) {
			return slices.DeleteFunc(slices.Clone(s.Watch), func(u im.UserID) bool { return u == "foe" || u == "ghost" }), nil
		}
		a := w.login("ann", "1")
		b := w.login("bob", "1")
		a.send(watching("bob", "cat", "foe", "ghost"))
		for _, want := range []struct {
			brief string
			seen  int64
		}{{"presence bob true", 0}, {"presence cat false", seen.UnixMilli()}, {"presence foe false", 0}, {"presence ghost false", 0}} {
			if got := a.want(want.brief).GetPresence().LastSeenAtMs; got != want.seen {
				t.Errorf("%s: last seen %d, want %d", want.brief, got, want.seen)
			}
		}
		_ = b.nc.Close()
		synctest.Wait()
		left := time.Now()
		time.Sleep(10 * time.Second)
		if got := a.want("presence bob false").GetPresence().LastSeenAtMs; got != left.UnixMilli() {
			t.Errorf("bob left at %d, and is told at %d", left.UnixMilli(), got)
		}
		w.logic.mu.Lock()
		defer w.logic.mu.Unlock()
		if len(w.logic.left) != 1 || w.logic.left[0].User != "bob" || !w.logic.left[0].Seen.Equal(left) {
			t.Errorf("kept: %v", w.logic.left)
		}
	})
}

// A crowd that comes and goes costs a call a second, and one for each time.
func TestLastSeenIsKeptInFewCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		for range 20 {
			c := w.parked("bob", "1", wire.Protobuf())
			_ = c.Close("", "")
			synctest.Wait()
		}
		time.Sleep(5 * time.Second)
		w.logic.mu.Lock()
		defer w.logic.mu.Unlock()
		if len(w.logic.left) != 1 {
			t.Errorf("%d times are kept of who came and went in one second", len(w.logic.left))
		}
	})
}

// Who goes while it is looked again who may see them is told to be gone as ever: after the
// grace, and since when. Once it was told at once and without the time, to the one of
// two watchers of whom Logic was asked last.
func TestGoneWhileItIsLooked(t *testing.T) {
	for _, watchers := range [][]string{{"ann"}, {"ann", "cat"}} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			hold := make(chan struct{})
			w.logic.signal = func(_ im.Actor, s im.Signal) ([]im.UserID, error) {
				<-hold
				return s.Watch, nil
			}
			close(hold)
			b := w.login("bob", "1")
			var all []*peer
			for _, u := range watchers {
				s := w.login(u, "1")
				s.send(watching("bob"))
				s.want("presence bob true")
				all = append(all, s)
			}
			hold = make(chan struct{})
			w.g.Control(im.Control{Unwatch: "bob"})
			_ = b.nc.Close()
			synctest.Wait()
			left := time.Now()
			close(hold)
			for _, s := range all {
				got := s.want("presence bob false").GetPresence().LastSeenAtMs
				if after := time.Since(left); got != left.UnixMilli() || after < 5*time.Second {
					t.Errorf("bob left at %d, and is told %v later to be gone since %d", left.UnixMilli(), after, got)
				}
			}
		})
	}
}

// Who changes who may see them is hidden at once from all, until it was looked who may:
// who may hears nothing of it, who may not hears that they are gone, and who may again
// that they are there.
func TestLookAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		may := map[im.UserID]bool{"ann": true, "cat": true}
		hold := make(chan struct{})
		close(hold)
		w.logic.signal = func(from im.Actor, s im.Signal) ([]im.UserID, error) {
			ok := may[from.User]
			<-hold
			if !ok {
				return nil, nil
			}
			return s.Watch, nil
		}
		a, c := w.parked("ann", "1", wire.Protobuf()), w.parked("cat", "1", wire.Protobuf())
		b := w.parked("bob", "1", wire.Protobuf())
		for _, s := range []*scriptConn{a, c} {
			s.say(watching("bob"))
			s.hears(t, "presence bob true")
		}
		may["cat"] = false
		hold = make(chan struct{})
		w.g.Control(im.Control{Unwatch: "bob"})
		_ = b.Close("", "")
		time.Sleep(10 * time.Second) // nothing is told while nobody knows who may
		b = w.parked("bob", "2", wire.Protobuf())
		synctest.Wait()
		a.hears(t)
		c.hears(t)
		close(hold)
		a.hears(t)
		c.hears(t, "presence bob false")
		_ = b.Close("", "")
		time.Sleep(10 * time.Second)
		a.hears(t, "presence bob false")
		c.hears(t)
		// Who was hidden and is not any more.
		w.parked("bob", "3", wire.Protobuf())
		a.hears(t, "presence bob true")
		may["cat"] = true
		w.g.Control(im.Control{User: "cat", Unwatch: "bob"})
		a.hears(t)
		c.hears(t, "presence bob true")
		// In the background nothing is told; coming back, of who may not be seen as of
		// who is away.
		may["cat"] = false
		c.say(background(true))
		synctest.Wait()
		w.g.Control(im.Control{User: "cat", Unwatch: "bob"})
		c.hears(t)
		c.say(background(false))
		c.hears(t, "presence bob false")
		if n, _ := w.g.presence.Count(); n != 1 {
			t.Errorf("%d users are watched", n)
		}
	})
}

// watchedBob is a world where bob is there, ann watches him, and Logic says what may says when
// it is asked, and not before hold is closed.
type watchedBob struct {
	*world
	ann  *scriptConn
	may  bool
	hold chan struct{}
}

func newWatchedBob(t *testing.T) *watchedBob {
	w := &watchedBob{world: newWorld(t), may: true, hold: make(chan struct{})}
	close(w.hold)
	w.logic.signal = func(_ im.Actor, s im.Signal) ([]im.UserID, error) {
		may := w.may
		<-w.hold
		if !may {
			return nil, nil
		}
		return s.Watch, nil
	}
	w.parked("bob", "1", wire.Protobuf())
	w.ann = w.parked("ann", "1", wire.Protobuf())
	w.ann.say(watching("bob"))
	w.ann.hears(t, "presence bob true")
	return w
}

// changes is bob's policy changed, or his contact with ann (whose), while Logic is held.
func (w *watchedBob) changes(whose im.UserID, may bool) {
	synctest.Wait()
	w.may = may
	w.g.Control(im.Control{User: whose, Unwatch: "bob"})
	synctest.Wait() // it has been read
}

// Of changes that follow each other fast the last decides, and what a session is told is
// how it is, against what it was told: whoever is looked twice at once was not told that a
// user is gone, and of another policy during a look nobody was looked at all.
func TestLookAgainTwice(t *testing.T) {
	for _, c := range []struct {
		name  string
		whose im.UserID
		mays  []bool
		hears []string
	}{
		{"contacts, the last says no", "ann", []bool{false, false}, []string{"presence bob false"}},
		{"contacts, the first says no", "ann", []bool{false, true}, nil},
		{"policies, the last says no", "", []bool{true, false}, []string{"presence bob false"}},
		{"policies, the first says no", "", []bool{false, true}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWatchedBob(t)
				w.hold = make(chan struct{})
				for _, may := range c.mays {
					w.changes(c.whose, may)
				}
				w.ann.hears(t)
				close(w.hold)
				w.ann.hears(t, c.hears...)
			})
		})
	}
}

// Another policy counts for who is just asking to watch: what Logic had read then is not
// told, and what it says now is.
func TestPolicyWhileAsking(t *testing.T) {
	for may, then := range map[bool][]string{false: {"presence bob false"}, true: {"presence bob false", "presence bob true"}} {
		bubble(t, func(t *testing.T) {
			w := newWatchedBob(t)
			w.hold = make(chan struct{})
			cat := w.parked("cat", "1", wire.Protobuf())
			cat.say(watching("bob"))
			w.changes("", may)
			close(w.hold)
			cat.hears(t, then...)
		})
	}
}

// Who comes back from the background during a look, or asks anew, is told in the end how
// it is: once they were left with a no.
func TestToldOtherwiseDuringALook(t *testing.T) {
	for _, may := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			w := newWatchedBob(t)
			w.hold = make(chan struct{})
			w.changes("ann", may)
			w.ann.say(background(true), background(false))
			w.ann.hears(t, "presence bob false")
			close(w.hold)
			if may {
				w.ann.hears(t, "presence bob true")
			}
			w.ann.hears(t)
		})
		bubble(t, func(t *testing.T) {
			w := newWatchedBob(t)
			w.hold = make(chan struct{})
			w.ann.say(watching("bob")) // asked before
			w.changes("ann", may)
			close(w.hold)
			synctest.Wait()
			// The look of before and the answer come in any order.
			if got := w.ann.heard(); !slices.Contains(got, "presence bob false") || got[len(got)-1] != fmt.Sprintf("presence bob %t", may) {
				t.Errorf("may %t: heard %q", may, got)
			}
		})
		bubble(t, func(t *testing.T) {
			w := newWatchedBob(t)
			w.hold = make(chan struct{})
			w.changes("ann", may)
			w.ann.say(watching("bob")) // asked after
			synctest.Wait()
			close(w.hold)
			synctest.Wait()
			if got := w.ann.heard(); len(got) == 0 || slices.Contains(got, fmt.Sprintf("presence bob %t", !may)) {
				t.Errorf("may %t: heard %q", may, got)
			}
		})
	}
}
