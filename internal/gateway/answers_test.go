package gateway

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// later is a Logic whose answers a test gives when it likes.
type later struct {
	mu      sync.Mutex
	replies map[byte]func(im.Ack, error)
}

func (w *world) answersLater() *later {
	l := &later{replies: map[byte]func(im.Ack, error){}}
	w.logic.send = func(_ im.Actor, m im.Message, reply func(im.Ack, error)) {
		l.mu.Lock()
		l.replies[m.ID[15]] = reply
		l.mu.Unlock()
	}
	return l
}

func (l *later) ack(id byte, seq uint64, follows bool) {
	l.give(id, im.Ack{Seq: seq, Count: seq, Stored: time.UnixMilli(1000), Follows: follows}, nil)
}

func (l *later) give(id byte, a im.Ack, err error) {
	synctest.Wait()
	l.mu.Lock()
	reply := l.replies[id]
	delete(l.replies, id)
	l.mu.Unlock()
	reply(a, err)
}

// run makes entries seq, seq+1 … of a conversation; own gives the ids of those
// that connection n-1, ann's, sent.
func run(c im.ConversationID, seq uint64, n int, own map[uint64]byte) (p im.Parcel) {
	for i := range n {
		e := entry(c, seq+uint64(i), "x")
		p.Origin = append(p.Origin, "")
		if id, ok := own[e.Seq]; ok {
			e.Sender, e.ID = "ann", im.MessageID(msgID(id))
			p.Origin[i] = "n-1"
		}
		p.Entries = append(p.Entries, e)
	}
	return p
}

// places are a group and a dm: what holds in one holds in the other.
func places(t *testing.T, f func(t *testing.T, w *world, c im.ConversationID, pass func(im.Parcel))) {
	for _, c := range []im.ConversationID{grp, dm} {
		t.Run(string(c), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				w.set("ann", grp)
				f(t, w, c, func(p im.Parcel) {
					if c == grp {
						w.g.ToGroup(c, p)
					} else {
						w.g.ToUsers([]im.UserID{"ann"}, p)
					}
					w.g.Flush()
				})
			})
		})
	}
}

// An ack stands where its entry stands among the pushes, whether Logic's answer
// or the delivery comes first (SPEC §6.7).
func TestAcksStandInTheirPlace(t *testing.T) {
	places(t, func(t *testing.T, w *world, c im.ConversationID, pass func(im.Parcel)) {
		l := w.answersLater()
		a := w.parked("ann", "1", wire.Protobuf())
		say := func(ids ...byte) {
			for _, id := range ids {
				a.say(text(string(c), id, "x"))
			}
			synctest.Wait()
		}
		push := func(seq int) string { return fmt.Sprintf("push %s#%d=x", c, seq) }
		ack := func(id, seq int) string { return fmt.Sprintf("ack %d %s %d", id, c, seq) }
		say(1, 2, 3)
		l.ack(1, 2, true)
		l.ack(2, 3, true)
		w.g.Flush() // somebody else's
		a.hears(t)
		pass(run(c, 1, 5, map[uint64]byte{2: 1, 3: 2, 5: 3})) // the third is not answered yet
		a.hears(t, push(1), ack(1, 2), ack(2, 3), push(4), ack(3, 5))
		l.ack(3, 5, true) // says nothing new
		w.g.Flush()
		a.hears(t)

		// A resend has no delivery; what is answered behind an ack waits for it.
		say(4, 5, 6)
		l.ack(4, 1, false)
		l.ack(5, 7, true)
		l.give(6, im.Ack{}, im.Errorf(im.CodeTooLate, "no"))
		w.g.Flush()
		a.hears(t, ack(4, 1))
		pass(run(c, 6, 2, map[uint64]byte{7: 5}))
		a.hears(t, push(6), ack(5, 7), "send_error 6 too_late")

		// Nothing is left that counts as unanswered.
		a.say(wire.NewClientFrame(&wire.Ping{}))
		a.hears(t, "pong")
		if s := w.g.users.Of("ann")[0]; s.Is(outgoing.SendsOpen) {
			t.Error("sends are left")
		}
	})
}

// Between nodes each user of a dm has a delivery of its own, and an ack stands in
// that of its own user, though the other one may be here as well.
func TestAcksWithBothMembersHere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.answersLater()
		a, b := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.Protobuf())
		a.say(text(string(dm), 1, "x"))
		l.ack(1, 2, true)
		p := run(dm, 1, 3, map[uint64]byte{2: 1})
		w.g.ToUsers([]im.UserID{"bob"}, p)
		w.g.Flush()
		a.hears(t)
		b.hears(t, "push dm:ann:bob#1=x dm:ann:bob#2=x dm:ann:bob#3=x")
		w.g.ToUsers([]im.UserID{"ann"}, p)
		w.g.ToUsers([]im.UserID{"ann", "bob"}, p) // doubled
		w.g.Flush()
		a.hears(t, "push dm:ann:bob#1=x", "ack 1 dm:ann:bob 2", "push dm:ann:bob#3=x")
		b.hears(t)
	})
}

// A delivery that is lost holds an ack up for a moment only, and what comes too
// late then is not pushed behind it: the client saw the hole and pulls.
func TestAcksWithoutADelivery(t *testing.T) {
	places(t, func(t *testing.T, w *world, c im.ConversationID, pass func(im.Parcel)) {
		l := w.answersLater()
		a := w.parked("ann", "1", wire.Protobuf())
		pass(run(c, 1, 1, nil))
		a.say(text(string(c), 1, "x"), text(string(c), 2, "x"), text(string(c), 3, "x"))
		l.ack(1, 3, true)
		a.hears(t, fmt.Sprintf("push %s#1=x", c))
		time.Sleep(10 * time.Second) // pushes wait for acks, here in vain
		want := []string{fmt.Sprintf("ack 1 %s 3", c), fmt.Sprintf("heads %s#3", c)}
		if c == grp {
			want = append(want, want[1]) // when the roster was read
		}
		a.hears(t, want...)
		pass(run(c, 2, 2, map[uint64]byte{3: 1})) // late
		a.hears(t)

		l.ack(2, 5, true) // its delivery is lost, the next one comes
		pass(run(c, 6, 1, nil))
		what := "push %s#6=x"
		if c == grp {
			what = "heads %s#6" // until the roster is read again
		}
		got := []string{fmt.Sprintf("ack 2 %s 5", c), fmt.Sprintf(what, c)}
		if c == grp {
			got = append(got, got[1])
		}
		time.Sleep(10 * time.Second)
		a.hears(t, got...)
		l.ack(3, 9, true) // and here a beacon
		h := im.Parcel{Head: &im.ParcelHead{Conversation: c, Seq: 9}}
		pass(h)
		got = []string{fmt.Sprintf("ack 3 %s 9", c), fmt.Sprintf("heads %s#9", c)}
		if c == grp {
			got = append(got, got[1])
		}
		time.Sleep(10 * time.Second)
		a.hears(t, got...)
	})
}

// TestALateDeliveryIsNotLost: on a busy machine a delivery of the same process came later
// than an ack waits over a bus. The ack was told without it, the group was taken for one
// that had missed something, and its members were told Heads in the place of the push.
func TestALateDeliveryIsNotLost(t *testing.T) {
	places(t, func(t *testing.T, w *world, c im.ConversationID, pass func(im.Parcel)) {
		l := w.answersLater()
		a := w.parked("ann", "1", wire.Protobuf())
		pass(run(c, 1, 1, nil))
		a.say(text(string(c), 1, "x"))
		l.ack(1, 3, true)
		a.hears(t, fmt.Sprintf("push %s#1=x", c))
		time.Sleep(time.Second)
		pass(run(c, 2, 3, map[uint64]byte{3: 1}))
		a.hears(t, fmt.Sprintf("push %s#2=x", c), fmt.Sprintf("ack 1 %s 3", c), fmt.Sprintf("push %s#4=x", c))
	})
}

// Who is no member in the registry, or of a group that nobody here is in, gets
// its acks all the same; with many authors they come behind the shared push.
func TestAcksOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.answersLater()
		a := w.parked("ann", "1", wire.Protobuf())
		say := func(ids ...byte) {
			for _, id := range ids {
				a.say(text(string(grp), id, "x"))
			}
			synctest.Wait()
		}
		say(1)
		w.g.ToGroup(grp, run(grp, 1, 1, map[uint64]byte{1: 1}))
		w.g.Flush()
		a.hears(t, "ack 1 grp:g 1")
		w.set("bob", grp)
		b := w.parked("bob", "1", wire.Protobuf())
		say(2)
		w.g.ToGroup(grp, run(grp, 2, 2, map[uint64]byte{2: 2}))
		w.g.Flush()
		a.hears(t, "ack 2 grp:g 2")
		b.hears(t, "push grp:g#2=x grp:g#3=x")
		w.set("ann", grp)
		w.g.verifier.user("ann")
		a.hears(t, "resync")
		say(3)
		p := run(grp, 4, 12, map[uint64]byte{5: 3})
		for i := range p.Origin {
			if p.Origin[i] == "" {
				p.Origin[i] = im.ConnectionID(fmt.Sprint("elsewhere-", i))
			}
		}
		w.g.ToGroup(grp, p)
		w.g.Flush()
		synctest.Wait()
		if got := a.heard(); len(got) != 2 || got[1] != "ack 3 grp:g 5" {
			t.Errorf("heard %q", got)
		}
		l.ack(1, 1, true)
		l.ack(2, 2, true)
		l.ack(3, 5, true)
		a.hears(t)
	})
}
