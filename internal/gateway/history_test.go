package gateway

import (
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// The stores went back: whoever is connected is told to sync, before anything of
// what is stored now; and until they did, their marks do not count. A beacon of
// what is stored now is news, however far the old one was.
func TestWentBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		both := []im.UserID{"ann", "bob"}
		peers := []*peer{w.login("ann", "1"), w.login("bob", "1")}
		w.g.ToUsers(both, parcel(entry(dm, 9, "x")))
		w.g.Flush()
		for _, p := range peers {
			p.want("push dm:ann:bob#9=x")
		}
		w.g.WentBack()
		w.g.ToUsers(both, parcel(entry(dm, 3, "y")))
		w.g.ToUsers(both, im.Parcel{Head: &im.ParcelHead{Conversation: dm, Seq: 4}})
		w.g.Flush()
		for _, p := range peers {
			p.want("resync")
			p.want("push dm:ann:bob#3=y")
			p.want("heads dm:ann:bob#4")
		}
		a := peers[0]
		a.send(wire.NewClientFrame(&wire.Received{Conversation: string(dm), Seq: 9}))
		synctest.Wait()
		if got := w.logic.markList(); len(got) != 0 {
			t.Errorf("a mark of what is gone: %v", got)
		}
		a.send(wire.NewClientFrame(&wire.Sync{Number: 4}))
		a.want("delta 4 p1")
		a.send(wire.NewClientFrame(&wire.Received{Conversation: string(dm), Seq: 3}))
		synctest.Wait()
		if got := w.logic.markList(); len(got) != 1 || got[0].Received != 3 {
			t.Errorf("marks after the sync: %v", got)
		}
	})
}
