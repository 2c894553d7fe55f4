package skein

import (
	"fmt"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// The read mark of another device counts right wherever it stands, also between
// two times of membership, and a mark that this device is ahead with.
func TestReadMarksAcrossTimes(t *testing.T) {
	for read := uint64(1); read <= 16; read++ {
		for _, how := range []string{"", "told", "ahead"} {
			inBubble(t, func(t *testing.T, r *rig) {
				r.dial()
				r.comesBack()
				r.comesBack()
				r.sayMany(grp, "bob", 2)
				pause(time.Minute)
				if how == "ahead" {
					r.do(func() { r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool { return f.GetRead() != nil } })
					if err := r.c.Conversation(grp).MarkRead(bg, read); err != nil {
						t.Fatal(err)
					}
					pause(time.Minute)
					broadcast(r.fake, &wire.Resync{})
					pause(time.Minute)
					r.do(func() { r.onFrame = nil; r.markRead(grp, read) })
				} else {
					told := &wire.Receipt{Conversation: grp, User: "alice", Read: read}
					r.do(func() {
						r.markRead(grp, read)
						if how == "told" { // what counts up to there, whoever may read it
							told.ReadCount = r.journal[grp][read-1].Count
						}
					})
					broadcast(r.fake, told)
				}
				pause(time.Second)
				got, _ := r.c.Conversation(grp).Unread(bg)
				eq(t, fmt.Sprint("unread, read up to ", read, " ", how), got, r.unread())
				r.restart()
				pause(time.Minute)
				got, _ = r.c.Conversation(grp).Unread(bg)
				eq(t, "unread after a restart", got, r.unread())
			})
		}
	}
}

// comesBack: alice has three messages of a time in the group, and misses two of none.
func (r *rig) comesBack() {
	r.sayMany(grp, "bob", 3)
	r.roster(false)
	r.sayMany(grp, "bob", 2)
	r.roster(true)
}
