package gateway

import (
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// An entry may add and remove several at once: each of them, with every device,
// hears it and what follows it, or hears it and nothing that follows.
func TestSeveralAreAddedAndRemovedAtOnce(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			w.set("ann", grp)
			ann := w.parked("ann", "1", wire.Protobuf())
			var users []im.UserID
			var theirs []*scriptConn
			for i := range n {
				u := fmt.Sprintf("user%d", i)
				users = append(users, im.UserID(u))
				theirs = append(theirs, w.parked(u, "1", wire.Protobuf()), w.parked(u, "2", wire.JSON()))
			}
			w.toGroup(grp, rosterEntry(grp, 1, im.EventMemberAdded, users...), entry(grp, 2, "welcome"))
			for _, c := range theirs {
				c.hears(t, "push grp:g#1=member_added", "push grp:g#2=welcome")
			}
			w.toGroup(grp, rosterEntry(grp, 3, im.EventMemberRemoved, users...), entry(grp, 4, "secret"))
			w.toGroup(grp, entry(grp, 5, "secret too"))
			for _, c := range theirs {
				c.hears(t, "push grp:g#3=member_removed")
			}
			ann.hears(t, "push grp:g#1=member_added", "push grp:g#2=welcome", "push grp:g#3=member_removed", "push grp:g#4=secret", "push grp:g#5=secret too")
		})
	}
}
