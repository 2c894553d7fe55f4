package skein

import (
	"fmt"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// still returns a core whose loop does not run: tests call its steps.
func still(t *testing.T, store Store) *core {
	t.Helper()
	o := defaultOptions()
	o.store = store
	snap, err := store.Load(bg)
	if err != nil {
		t.Fatal(err)
	}
	k := newCore(&Client{o: o, hub: newHub()}, snap)
	k.meta.User = "alice"
	return k
}

func said(seq uint64) *wire.Entry {
	return &wire.Entry{Conversation: dm, Seq: seq, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: seq}
}

// What is applied in the same turn before the window starts anew does not stay below it.
func TestJumpForgetsWhatTheTurnAdded(t *testing.T) {
	store := NewMemoryStore()
	k := still(t, store)
	k.take([]*wire.Entry{said(1), said(2)})
	k.jump(k.convs[dm], 900, true)
	k.take([]*wire.Entry{said(900)})
	k.commit()
	es, err := store.Entries(bg, dm, 1, 1<<40, 10)
	if err != nil || len(es) != 1 || es[0].Seq != 900 {
		t.Errorf("entries = %v, %v, want 900 only", es, err)
	}
	items, _ := store.Feed(bg, 0, 10)
	var got []string
	for _, it := range items {
		got = append(got, fmt.Sprint(it.Kind, " ", it.From, " ", it.Seq))
	}
	eq(t, "events", got, []string{"1 0 1", "1 0 2", "4 3 899", "1 0 900"})
}

// A message that becomes pending again takes its place, not the last.
func TestOutboxOrder(t *testing.T) {
	k := still(t, NewMemoryStore())
	var ns []uint64
	for _, n := range []uint64{5, 2, 9, 1} {
		id := k.ids.Next()
		k.enqueue(&item{rec: OutboxRecord{N: n, State: OutboxPending, Send: &wire.Send{Conversation: dm, Id: id[:]}}})
	}
	for _, it := range k.queues[dm].items {
		ns = append(ns, it.rec.N)
	}
	eq(t, "order", ns, []uint64{1, 2, 5, 9})
}

// Early entries are bounded; the lowest ones are kept, the head tells of the others.
func TestEarlyEntriesAreBounded(t *testing.T) {
	k := still(t, NewMemoryStore())
	cv := k.newConv(dm, 0)
	for seq := uint64(3000); seq > 1; seq-- {
		k.offer(cv, said(seq), false)
	}
	eq(t, "kept", len(cv.early), maxEarly)
	eq(t, "head", cv.rec.Head, 3000)
	k.offer(cv, said(1), false)
	eq(t, "applied", cv.rec.High, maxEarly+1)
}

// Held entries are bounded; a further sync brings what was dropped.
func TestHeldEntriesAreBounded(t *testing.T) {
	k := still(t, NewMemoryStore())
	k.syncing = true
	for seq := uint64(1); seq <= 3*maxHeld; seq++ {
		k.take([]*wire.Entry{said(seq)})
	}
	eq(t, "held", len(k.held), maxHeld)
	k.syncing = false
	k.release()
	eq(t, "another sync is wanted", k.wantSync, true)
	eq(t, "applied", k.convs[dm].rec.High, maxHeld)
}

// Conversations that grew after the digest was sent stay in the next one.
func TestDigestKeepsWhatCameSince(t *testing.T) {
	k := still(t, NewMemoryStore())
	k.meta.Position, k.base = "p1", "p1"
	k.take([]*wire.Entry{said(1)})
	other := said(1)
	other.Conversation = grp
	k.take([]*wire.Entry{other})
	k.sendPing()
	k.take([]*wire.Entry{said(2)})
	k.onPong(&wire.Pong{Position: "p2"})
	eq(t, "position", k.meta.Position, "p2")
	if _, ok := k.changed[k.convs[dm]]; !ok || len(k.changed) != 1 {
		t.Errorf("%d conversations in the digest, want the one that grew", len(k.changed))
	}
	// An answer that belongs to no question moves nothing.
	k.onPong(&wire.Pong{Position: "p3"})
	eq(t, "position", k.meta.Position, "p2")
}

// A pushed position is where a Sync begins, once nothing waits; the digest stays
// with the position of the last answer.
func TestPushedPositions(t *testing.T) {
	push := func(k *core, position string, seqs ...uint64) {
		var entries []*wire.Entry
		for _, seq := range seqs {
			entries = append(entries, said(seq))
		}
		k.handle(wire.NewServerFrame(&wire.Push{Entries: entries, Position: position}))
	}
	k := still(t, NewMemoryStore())
	k.meta.Position, k.base, k.state = "p1", "p1", StateConnected
	push(k, "p2", 1)
	eq(t, "position", k.meta.Position, "p2")
	eq(t, "digest", k.base, "p1")
	eq(t, "saved with what it came with", k.metaDirty && len(k.batch.Entries) == 1, true)
	push(k, "p3", 5) // a hole is known to be missing
	eq(t, "position", k.meta.Position, "p3")
	eq(t, "known head", k.convs[dm].rec.Head, 5)
	push(k, "", 2)
	eq(t, "position", k.meta.Position, "p3")
	for name, wait := range map[string]func(*core){
		"a sync is unanswered":      func(k *core) { k.syncing = true },
		"a sync is due":             func(k *core) { k.wantSync = true },
		"a sync was refused":        func(k *core) { k.again.at = time.Now() },
		"the list is not complete":  func(k *core) { k.meta.Listing = true },
		"entries wait":              func(k *core) { k.hold(said(9)) },
		"entries were dropped":      func(k *core) { k.heldOver = true },
		"nothing was answered here": func(k *core) { k.state = StateConnecting },
	} {
		k := still(t, NewMemoryStore())
		k.meta.Position, k.base, k.state = "p1", "p1", StateConnected
		wait(k)
		push(k, "p2")
		eq(t, name, k.meta.Position, "p1")
	}
}

// What the turn had applied before a reset does not survive it.
func TestResetForgetsWhatTheTurnAdded(t *testing.T) {
	store := NewMemoryStore()
	k := still(t, store)
	k.take([]*wire.Entry{said(1), said(2)})
	k.reset("t2")
	k.commit()
	es, err := store.Entries(bg, dm, 1, 10, 10)
	if err != nil || len(es) != 0 {
		t.Errorf("entries = %v, %v, want none", es, err)
	}
}

// The read mark may be ahead of what is applied (another device was faster); an
// own message below it does not take it back.
func TestReadMarkNeverGoesBack(t *testing.T) {
	k := still(t, NewMemoryStore())
	cv := k.newConv(dm, 0)
	k.applyState(&wire.ConversationState{Conversation: dm, Seq: 5, Count: 5, ReadSeq: 5, FirstSeq: 1}, false, reqSync)
	mine := said(1)
	mine.Sender = "alice"
	k.take([]*wire.Entry{mine})
	eq(t, "read", cv.rec.Read, 5)
	eq(t, "unread", cv.unread(), 0)
}

// Older entries that do not touch the window are not added, and say nothing
// about its beginning.
func TestExtendOnlyWhatTouches(t *testing.T) {
	k := still(t, NewMemoryStore())
	cv := k.newConv(dm, 99)
	k.take([]*wire.Entry{said(100)})
	k.extend(&request{cv: cv, from: 50}, &wire.Range{FirstSeq: 49, LastSeq: 50, Entries: []*wire.Entry{said(49), said(50)}})
	eq(t, "low", cv.rec.Low, 100)
	eq(t, "first", cv.rec.First, 0)
	k.extend(&request{cv: cv, from: 99}, &wire.Range{FirstSeq: 98, LastSeq: 99, Entries: []*wire.Entry{said(98), said(99)}})
	eq(t, "low", cv.rec.Low, 98)
	k.extend(&request{cv: cv, from: 97}, &wire.Range{})
	eq(t, "first", cv.rec.First, 98)
}
