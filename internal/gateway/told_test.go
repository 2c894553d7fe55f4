package gateway

import (
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// beacon tells users of the end of a conversation, each as it comes over the bus.
func (w *world) beacon(c im.ConversationID, seq uint64, users ...im.UserID) {
	for _, u := range users {
		w.g.ToUsers([]im.UserID{u}, im.Parcel{Head: &im.ParcelHead{Conversation: c, Seq: seq}})
	}
	w.g.Flush()
}

// Between nodes a parcel goes to each user by itself, and one of the two may be
// lost: what came for one member of a dm says nothing about the other, though
// both are at this gateway.
func TestBeaconsOfADMWithBothMembersHere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, withPeers(&neighbours{}))
		a1, a2, b := w.parked("ann", "1", wire.Protobuf()), w.parked("ann", "2", wire.JSON()), w.parked("bob", "1", wire.Protobuf())
		one := func(u im.UserID, seq uint64) {
			w.g.ToUsers([]im.UserID{u}, parcel(entry(dm, seq, "hi")))
			w.g.Flush()
		}
		one("ann", 1) // bob's copy is lost
		a1.hears(t, "push dm:ann:bob#1=hi")
		a2.hears(t, "push dm:ann:bob#1=hi")
		w.beacon(dm, 1, "ann", "bob")
		a1.hears(t)
		a2.hears(t)
		b.hears(t, "heads dm:ann:bob#1")

		one("bob", 2) // now it is ann's
		b.hears(t, "push dm:ann:bob#2=hi")
		w.g.ToUsers([]im.UserID{"ann", "bob"}, im.Parcel{Head: &im.ParcelHead{Conversation: dm, Seq: 2}}) // as a repair does
		w.g.Flush()
		a1.hears(t, "heads dm:ann:bob#2")
		a2.hears(t, "heads dm:ann:bob#2")
		b.hears(t)

		w.beacon(dm, 3, "bob") // both lost the entry, and ann the beacon as well
		w.beacon(dm, 2, "ann")
		b.hears(t, "heads dm:ann:bob#3")
		w.beacon(dm, 3, "ann", "bob")
		a1.hears(t, "heads dm:ann:bob#3")
		a2.hears(t, "heads dm:ann:bob#3")
		b.hears(t)

		// A device that comes later begins with a Sync, and hears what follows.
		a3 := w.parked("ann", "3", wire.Protobuf())
		w.beacon(dm, 3, "ann")
		a3.hears(t)
		one("ann", 4)
		a3.hears(t, "push dm:ann:bob#4=hi")
		// A feed has one user.
		w.beacon(im.Me("bob"), 1, "bob")
		b.hears(t, "heads me:bob#1")
		w.beacon(im.Me("bob"), 1, "bob")
		b.hears(t)
	})
}

// Who was added to a group while the news was lost hears it from the beacon, also
// where the group is known for the sake of others; and so when the registry is
// read again for any other reason.
func TestAddedWhileTheNewsWasLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, withPeers(&neighbours{}))
		w.set("ann", grp)
		a, b, c := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.Protobuf()), w.parked("cid", "1", wire.Protobuf())
		w.toGroup(grp, entry(grp, 1, "x"))
		a.hears(t, "push grp:g#1=x")
		w.set("bob", grp) // by entry 2, which was lost
		w.g.ToGroup(grp, im.Parcel{Head: &im.ParcelHead{Conversation: grp, Seq: 2, Added: []im.UserID{"bob", "eve"}}})
		w.g.Flush()
		a.hears(t, "heads grp:g#2", "heads grp:g#2")
		// Bob's memberships and the group's roster are read by two, whichever comes
		// first: who is in the roster already is told its end beside it.
		if got := b.heard(); len(got) == 0 || len(got) > 2 || got[0] != "resync" || len(got) == 2 && got[1] != "heads grp:g#2" {
			t.Fatalf("heard %q", got)
		}
		w.toGroup(grp, entry(grp, 3, "y"))
		b.hears(t, "push grp:g#3=y")

		other := im.Group("other") // nobody here was in it
		w.set("cid", other)
		w.g.ToGroup(other, im.Parcel{Head: &im.ParcelHead{Conversation: other, Seq: 5, Added: []im.UserID{"cid"}}})
		w.g.Flush()
		c.hears(t, "resync")
		a.hears(t, "push grp:g#3=y")
		w.set("ann") // removed, and that was lost as well
		w.set("cid", other, grp)
		w.g.Verify(false)
		synctest.Wait()
		a.hears(t, "resync")
		b.hears(t)
		c.hears(t, "resync")
	})
}
