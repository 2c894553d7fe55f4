package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// What an amendment says of a message is not pushed to who may not read the message:
// they are told by Heads that there is something, and pull what is theirs of it. So it
// is in a small group and in one that is paced, for who is added while they are
// connected and for whom the groups were read. Nor are they told the next part of a
// message that grows.
func TestAmendmentsOfWhatIsNotTheirs(t *testing.T) {
	for _, n := range []int{2, paceFrom} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newCrowd(t, n)
				late, all, read := w.parked("late", "1", wire.Protobuf()), w.parked("all", "1", wire.Protobuf()), im.UserID("read")
				w.opens(2)
				w.changes(im.EventMemberAdded, "late") // 4
				w.last++
				e := rosterEntry(grp, w.last, im.EventMemberAdded, "all") // 5, who may read all
				e.Event.Group = &im.GroupChange{History: im.HistoryAll}
				w.toGroup(grp, e)
				w.set(read, grp)
				w.mu.Lock()
				w.from = 5
				w.mu.Unlock()
				came := w.parked(string(read), "1", wire.Protobuf())
				time.Sleep(2 * paceEvery)
				synctest.Wait()
				for _, c := range append(w.all, late, all, came) {
					c.heard()
				}
				// The last one amends a reply in a thread whose root is 2.
				for _, tt := range []struct {
					target, root uint64
					hidden       bool
				}{{2, 0, true}, {5, 0, false}, {5, 2, true}} {
					target, hidden := tt.target, tt.hidden
					part := fmt.Sprintf("part grp:g#%d= and", target)
					w.g.ToGroup(grp, im.Parcel{Custom: &im.CustomSignal{Conversation: grp, User: "u0", Type: im.SignalPart, Data: entrycodec.PartSignal(target, 0, 1, " and")}})
					w.g.Flush()
					w.all[0].hears(t, part) // its author's other devices as well
					all.hears(t, part)
					for _, c := range []*scriptConn{late, came} {
						if hidden && tt.root == 0 {
							c.hears(t)
						} else {
							c.hears(t, part)
						}
					}
					w.last++
					e := entry(grp, w.last, "edited")
					e.Kind, e.Target = im.EntryEdit, target
					if tt.root != 0 {
						e.Body = entrycodec.InThread(e.Body, &im.Entry{Kind: im.EntryReply, Target: tt.root})
					}
					w.toGroup(grp, e)
					time.Sleep(2 * paceEvery)
					push, heads := fmt.Sprintf("push grp:g#%d=edited", w.last), fmt.Sprintf("heads grp:g#%d", w.last)
					w.all[0].hears(t, push)
					all.hears(t, push)
					want := push
					if hidden {
						want = heads
					}
					late.hears(t, want)
					came.hears(t, want)
				}
			})
		})
	}
}
