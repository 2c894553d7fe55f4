package skein

import (
	"testing"

	"github.com/skein-im/skein/wire"
)

// Who is added to a group that this device does not know, while a Sync is under way that
// was asked for before, asks once more: title and times of membership come with the answer
// to that alone. Without it all that lies between two times of membership was unread.
func TestAddedWhileASyncIsUnderWay(t *testing.T) {
	in := func(seq uint64) *wire.Entry { e := said(seq); e.Conversation = grp; return e }
	for _, told := range []bool{true, false} {
		k := still(t, NewMemoryStore())
		k.state, k.syncing = StateConnected, true
		k.take([]*wire.Entry{in(19), in(20)})
		k.syncing = false
		k.release() // the answer has nothing of the group
		if k.convs[grp] != nil || len(k.held) != 2 || !k.wantSync {
			t.Fatalf("known %t, %d entries wait, asked again %t; want another Sync", k.convs[grp] != nil, len(k.held), k.wantSync)
		}
		k.wantSync = false
		if told {
			k.applyState(&wire.ConversationState{
				Conversation: grp, Title: "Tea", Seq: 20, Count: 20, FirstSeq: 20, ReadSeq: 3, Unread: 1,
				Earlier: []*wire.Window{{FirstSeq: 1, UntilSeq: 3, Hidden: 16}}, FromSeq: 20, Entries: []*wire.Entry{in(20)},
			}, true, reqPage)
		}
		k.release()
		cv := k.convs[grp]
		if cv == nil || len(k.held) != 0 || k.wantSync { // it is not asked for ever
			t.Fatalf("told %t: known %t, %d entries wait, asked again %t", told, cv != nil, len(k.held), k.wantSync)
		}
		if told && (cv.rec.Title != "Tea" || cv.unread() != 1) {
			t.Errorf("%q with %d unread; want Tea with 1", cv.rec.Title, cv.unread())
		}
	}
}
