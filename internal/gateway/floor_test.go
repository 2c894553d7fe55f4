package gateway

import (
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// A floor that rises is told to every connection of the members, in either codec, and to
// nobody else: of none, one, two and so many that their pushes are paced.
func TestFloorsReachTheMembers(t *testing.T) {
	for _, n := range []int{0, 1, 2, paceFrom + 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				var members []*scriptConn
				for i := range n {
					u := fmt.Sprint("user", i)
					w.set(im.UserID(u), grp)
					codec := wire.Protobuf()
					if i == 1 {
						codec = wire.JSON()
					}
					members = append(members, w.parked(u, "1", codec))
				}
				if n > 0 {
					members = append(members, w.parked("user0", "2", wire.Protobuf()))
				}
				stranger := w.parked("zed", "1", wire.Protobuf())
				w.g.ToGroup(grp, im.Parcel{Floor: &im.Floor{Conversation: grp, Seq: 3, Count: 2}})
				w.g.Flush()
				for _, m := range members {
					m.hears(t, "floor grp:g 3 2")
				}
				stranger.hears(t)
			})
		})
	}
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a, b, c := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.JSON()), w.parked("cat", "1", wire.Protobuf())
		w.g.ToUsers([]im.UserID{"ann", "bob"}, im.Parcel{Floor: &im.Floor{Conversation: dm, Seq: 1 << 40, Count: 7}})
		w.g.ToUsers([]im.UserID{"dan"}, im.Parcel{Floor: &im.Floor{Conversation: dm, Seq: 1, Count: 1}})
		w.g.Flush()
		a.hears(t, "floor dm:ann:bob 1099511627776 7")
		b.hears(t, "floor dm:ann:bob 1099511627776 7")
		c.hears(t)
	})
}
