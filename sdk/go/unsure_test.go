package skein

import (
	"testing"

	"github.com/skein-im/skein/wire"
)

// A question about a membership is kept until its answer: a process that ends at any write
// between them is followed by one that asks; and none asks for ever.
func TestQuestionsOutliveTheProcess(t *testing.T) {
	store := NewMemoryStore()
	in := func(seq uint64) *wire.Entry { e := said(seq); e.Conversation = grp; return e }
	next := func(what string, asks bool) *core { // a new process, with what is stored
		t.Helper()
		k := still(t, store)
		if _, asked := k.unsure[k.convs[grp]]; asked != asks {
			t.Errorf("%s: the next process asks: %t", what, asked)
		}
		return k
	}
	k := still(t, store)
	k.applyState(&wire.ConversationState{Conversation: grp, Seq: 3, Count: 3, FirstSeq: 1, FromSeq: 1, Entries: []*wire.Entry{in(1), in(2), in(3)}}, false, reqSync)
	k.commit()
	k = next("nothing is unclear", false)
	k.askMembership(k.convs[grp])
	next("it ends before the question is stored: so is what gave rise to it", false)
	k.commit()
	for range 3 { // also one that ends before it is connected
		k = next("it ends before the answer", true)
		k.commit()
	}
	k.applyState(&wire.ConversationState{Conversation: grp, Seq: 4, Count: 4, FirstSeq: 1, FromSeq: 4, Entries: []*wire.Entry{in(4)}}, false, reqSync)
	next("it ends before the answer is stored", true)
	k.commit()
	k = next("it was answered", false)

	// No Sync answers: the list is read instead, once, by whoever comes to its end.
	k.askMembership(k.convs[grp])
	k.commit()
	k = next("it ends before the answer", true)
	k.wantSync = false
	k.listUnsure()
	k.metaDirty = true
	k.commit()
	if k = next("the list is to be read", false); !k.meta.Listing {
		t.Error("and nobody reads it")
	}
}
