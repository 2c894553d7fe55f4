package gateway

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// neighbours notes what the gateway tells the others.
type neighbours struct {
	mu    sync.Mutex
	lines []string
}

func (n *neighbours) add(line string) {
	n.mu.Lock()
	n.lines = append(n.lines, line)
	n.mu.Unlock()
}

func (n *neighbours) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.lines
	n.lines = nil
	return l
}

func (n *neighbours) UserHere(u im.UserID)          { n.add("here " + string(u)) }
func (n *neighbours) UserGone(u im.UserID)          { n.add("gone " + string(u)) }
func (n *neighbours) GroupHere(c im.ConversationID) { n.add("here " + string(c)) }
func (n *neighbours) GroupGone(c im.ConversationID) { n.add("gone " + string(c)) }
func (n *neighbours) Announce(u im.UserID, online bool) {
	if online {
		n.add("came " + string(u))
	} else {
		n.add("went " + string(u))
	}
}

func (n *neighbours) Watch(users []im.UserID) {
	for _, u := range users {
		n.add("watch " + string(u))
	}
}

func (n *neighbours) Unwatch(users []im.UserID) {
	for _, u := range users {
		n.add("unwatch " + string(u))
	}
}

func withPeers(n *neighbours) func(*Options) { return func(o *Options) { o.Peers = n } }

// The others hear who is here: the first session of a user, the last to go, and
// the groups with a member.
func TestPeersHearWhoIsHere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := &neighbours{}
		w := newWorld(t, withPeers(n))
		w.set("ann", grp)
		a := w.login("ann", "1")
		b := w.login("ann", "2")
		synctest.Wait()
		if got := n.take(); !slices.Equal(got, []string{"here ann", "here grp:g", "came ann", "came ann"}) {
			t.Fatalf("%q", got)
		}
		_ = a.nc.Close()
		synctest.Wait()
		if got := n.take(); len(got) != 0 {
			t.Fatalf("%q", got)
		}
		_ = b.nc.Close()
		synctest.Wait()
		if got := n.take(); !slices.Equal(got, []string{"gone ann", "gone grp:g", "went ann"}) {
			t.Fatalf("%q", got)
		}
	})
}

// Who is watched may be at another gateway, or at several.
func TestPresenceElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := &neighbours{}
		w := newWorld(t, withPeers(n))
		a := w.login("ann", "1")
		n.take()
		a.send(&wire.ClientFrame{Frame: &wire.ClientFrame_WatchPresence{WatchPresence: &wire.WatchPresence{Users: []string{"bob"}}}})
		a.want("presence bob false")
		if got := n.take(); !slices.Equal(got, []string{"watch bob"}) {
			t.Fatalf("%q", got)
		}
		w.g.Elsewhere("g2", []im.UserID{"bob", "eve"}, true)
		w.g.Flush()
		a.want("presence bob true")
		w.g.Elsewhere("g3", []im.UserID{"bob"}, true)
		w.g.Elsewhere("g2", []im.UserID{"bob"}, false)
		time.Sleep(2 * 5 * time.Second)
		a.quiet() // at g3 still
		w.g.NodeGone("g3")
		time.Sleep(2 * 5 * time.Second)
		a.want("presence bob false")
		a.send(&wire.ClientFrame{Frame: &wire.ClientFrame_WatchPresence{WatchPresence: &wire.WatchPresence{}}})
		synctest.Wait()
		if got := n.take(); !slices.Equal(got, []string{"unwatch bob"}) {
			t.Fatalf("%q", got)
		}
	})
}

// A group was read as of a roster revision. A beacon with a later one says that
// somebody came or went and that this was lost: nothing is pushed until it was
// read again. This holds before the first entry as well.
func TestLostRosterChangeBeforeAnyEntry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.roster = 3
		w.set("ann", grp)
		a := w.parked("ann", "1", wire.Protobuf())
		synctest.Wait()
		reads := w.reads
		w.g.ToGroup(grp, im.Parcel{Head: &im.ParcelHead{Conversation: grp, Seq: 5, Roster: 3}})
		synctest.Wait()
		if w.reads != reads {
			t.Fatal("read again although nothing was lost")
		}
		w.set("ann") // removed, and the news is lost
		w.g.ToGroup(grp, im.Parcel{Head: &im.ParcelHead{Conversation: grp, Seq: 6, Roster: 4}})
		synctest.Wait()
		a.hears(t, "heads grp:g#5", "heads grp:g#6", "resync")
		w.toGroup(grp, entry(grp, 7, "not for ann"))
		a.hears(t)
	})
}

// A session whose end was told while the bus lost it goes when its user is
// verified.
func TestVerifyEndsDeadSessions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, withPeers(&neighbours{}))
		a := w.login("ann", "1")
		w.g.Verify(false)
		synctest.Wait()
		a.quiet()
		w.mu.Lock()
		w.live = []im.SessionID{"another"}
		w.mu.Unlock()
		w.g.Verify(false)
		a.want("kick session_revoked")
		a.wantClosed()
	})
}

// A session that begins while its user is read is not in what is read, and stays.
func TestVerifySparesWhoCameMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.logic.authenticate = func(h im.Handshake) (im.Actor, error) {
			a := actorOf(h)
			a.Session = "s-" + im.SessionID(h.Device.ID)
			return a, nil
		}
		w.live = []im.SessionID{"s-1"}
		first := w.login("ann", "1")
		step := make(chan struct{})
		w.onGroups = func(im.UserID) { <-step }
		w.g.Verify(false)
		synctest.Wait() // it is being read, and says that there is s-1 only
		w.mu.Lock()
		w.live = []im.SessionID{"s-1", "s-2"}
		w.mu.Unlock()
		second := w.dial(wire.Protobuf())
		second.send(hello("ann", "2", phone))
		synctest.Wait()
		step <- struct{}{}
		synctest.Wait()
		close(step)
		second.want("welcome ann")
		synctest.Wait()
		first.quiet()
		second.quiet()
	})
}

// After a loss of which nobody knows what it was, every session compares.
func TestVerifyAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.login("ann", "1")
		w.g.Verify(true)
		a.want("resync")
	})
}

// A gateway that reaches no logic node sends its clients away, and takes some
// again when it does.
func TestTurnAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.parked("ann", "1", wire.Protobuf())
		w.g.TurnAway(true, 0)
		synctest.Wait()
		a.hears(t, "go_away")
		late := newScript(wire.Protobuf(), hello("late", "1", phone))
		w.g.Serve(late)
		if got := late.heard(); !slices.Equal(got, []string{"error going_away"}) {
			t.Fatalf("a late one heard %v", got)
		}
		w.g.TurnAway(false, 0)
		w.parked("bob", "1", wire.Protobuf()).hears(t)
	})
}

// Two nodes' clocks differ by a minute: who is here for a while yields all the
// same, to a login that the other clock puts before it.
func TestYieldToASlowClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Heartbeat.Silence, o.Heartbeat.Dead = time.Hour, 2*time.Hour })
		yielding(w, func(im.Handshake) time.Time { return time.Now() })
		p := w.login("ann", "d1")
		time.Sleep(olderFor + time.Second)
		w.g.Control(im.Control{User: "ann", Yield: true, By: im.Device{ID: "new"}, ByConnection: "zzz", At: time.Now().Add(-time.Minute), Class: im.DevicePhone})
		p.want("kick replaced by new")
	})
}
