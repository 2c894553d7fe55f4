package gateway

import (
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
