package skein

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skein-im/skein/wire"
)

// Live recalls and states of what was amended that come in any order, each any number
// of times, come to the newest.
func TestStatesInAnyOrder(t *testing.T) {
	at := func(amended uint64, recalled bool) *wire.Entry {
		e := said(2)
		e.Content = &wire.Content{Type: "text", Body: &wire.Content_Text{Text: fmt.Sprint(amended)}}
		e.Amended = amended
		if recalled {
			e = erased(e, amended)
		}
		return e
	}
	states := []*wire.Entry{at(5, false), at(6, false), at(7, false), at(8, true)}
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		top := rng.IntN(len(states)) + 1
		order := slices.Concat(states[:top], states[:top])
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		k := still(t, NewMemoryStore())
		k.take([]*wire.Entry{said(1), said(2), said(3)})
		for _, e := range order {
			switch rng.IntN(3) {
			case 0:
				k.takeStretch(k.convs[dm], stretch{first: 4, last: 8, touched: []*wire.Entry{e}}, false)
			case 1:
				k.takeStretch(k.convs[dm], stretch{first: 1, last: 3, entries: []*wire.Entry{e}}, false)
			default:
				k.commit()
				k.offer(k.convs[dm], e, false)
			}
		}
		k.commit()
		es, err := k.o.store.Entries(bg, dm, 2, 2, 1)
		if err != nil || len(es) != 1 || es[0].Amended != states[top-1].Amended || es[0].Recalled != states[top-1].Recalled {
			t.Fatalf("seed %d: %v, %v; want %v", seed, es, err, states[top-1])
		}
	}
}

// An answer that was read before an amendment and comes after it, of a hole or of
// older history, does not bring back what the message said before; nor does an event
// that waits.
func TestOlderAnswerOfWhatWasAmended(t *testing.T) {
	old, edited := said(2), said(2)
	old.Content = &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "old"}}
	edited.Content, edited.Amended = &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "edited"}}, 5
	recall := &wire.Entry{Conversation: dm, Seq: 5, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: 2, Count: 4}
	touch := stretch{first: 5, last: 5, touched: []*wire.Entry{edited}}
	for _, recalled := range []bool{false, true} {
		check := func(what string, k *core) {
			t.Helper()
			k.commit()
			es, err := k.o.store.Entries(bg, dm, 2, 2, 1)
			if err != nil || len(es) != 1 || es[0].Amended != 5 || es[0].Recalled != recalled || recalled == (es[0].Content != nil) {
				t.Errorf("%s: %v, %v", what, es, err)
			}
		}
		amend := func(k *core) {
			if recalled {
				k.offer(k.convs[dm], recall, false)
			} else {
				k.takeStretch(k.convs[dm], touch, false)
			}
		}
		hole := &wire.Range{FirstSeq: 2, LastSeq: 4, Head: 5, Entries: []*wire.Entry{old, said(3), said(4)}}
		k := still(t, NewMemoryStore())
		k.take([]*wire.Entry{said(1)})
		amend(k)
		k.filled(&request{kind: reqFill, cv: k.convs[dm], from: 2}, hole)
		check("a hole", k)
		eq(t, "the end", k.convs[dm].rec.High, 5)

		k = still(t, NewMemoryStore())
		cv := k.newConv(dm, 2)
		k.take([]*wire.Entry{said(3), said(4)})
		r := &request{kind: reqHistory, cv: cv, from: 2}
		k.reqs[7] = r
		amend(k)
		f := &wire.Range{FirstSeq: 1, LastSeq: 2, Head: 4, Entries: []*wire.Entry{said(1), old}}
		k.extend(r, f)
		check("history", k)
		eq(t, "what the program gets", f.Entries[1].Amended, 5)
	}
	// What left the window may wait to be told.
	k := still(t, NewMemoryStore())
	k.take([]*wire.Entry{said(1), old, said(3), said(4)})
	k.jump(k.convs[dm], 5, true)
	k.take([]*wire.Entry{recall})
	k.commit()
	items, err := k.o.store.Feed(bg, 0, 100)
	if err != nil || items[1].Seq != 2 || !items[1].Entry.Recalled || items[1].Entry.Content != nil {
		t.Errorf("%v, %v; want it erased", items, err)
	}
}

// What a stretch makes of recalled messages counts, and is asked for where only the
// server knows.
func TestTouchedRecallsAreNotUnread(t *testing.T) {
	gone := func(seq, by uint64) *wire.Entry { return erased(said(seq), by) }
	k := still(t, NewMemoryStore())
	cv := k.newConv(dm, 0)
	for seq := uint64(1); seq <= 9; seq++ {
		k.take([]*wire.Entry{said(seq)})
	}
	k.readUpTo(cv, 3, 3)
	k.takeStretch(cv, stretch{first: 10, last: 13, touched: []*wire.Entry{gone(2, 10), gone(4, 11), gone(6, 13)}}, false)
	eq(t, "unread", cv.unread(), 4)
	k.takeStretch(cv, stretch{first: 10, last: 13, touched: []*wire.Entry{gone(4, 11)}}, false)
	eq(t, "unread, told again", cv.unread(), 4)
	k.takeStretch(cv, stretch{first: 14, last: 16, entries: []*wire.Entry{gone(14, 16)}, touched: []*wire.Entry{gone(5, 15)}}, false)
	eq(t, "at the end", cv.rec.High, 16)
	eq(t, "recalled", cv.rec.Recalled, []uint64{4, 5, 6, 14})
	// The server named but some: what it counted is not asked for, what came since is.
	cv.rec.Recalled, cv.rec.RecalledMore, cv.told = []uint64{4}, 3, 16
	k.takeStretch(cv, stretch{first: 15, last: 16, touched: []*wire.Entry{erased(said(7), 16)}}, false)
	eq(t, "asked", k.wantSync, false)
	k.takeStretch(cv, stretch{first: 17, last: 17, touched: []*wire.Entry{erased(said(8), 17)}}, false)
	eq(t, "asked", k.wantSync, true)
}

// What waits behind a hole is bounded, and what is not kept is pulled.
func TestEarlyStretchesAreBounded(t *testing.T) {
	k := still(t, NewMemoryStore())
	cv := k.newConv(dm, 0)
	for first := uint64(2); first < 2000; first += 2 {
		e := said(1)
		e.Seq = first + 1
		k.takeStretch(cv, stretch{first: first, last: first + 1, entries: []*wire.Entry{e}}, false)
	}
	eq(t, "kept", len(cv.early), maxEarly)
	eq(t, "head", cv.rec.Head, 1999)
	var touched []*wire.Entry
	for seq := range uint64(2 * maxEarly) {
		e := said(3000 + seq)
		e.Amended = 9000
		touched = append(touched, e)
	}
	k.takeStretch(cv, stretch{first: 9000, last: 9000, touched: touched}, false)
	eq(t, "states kept", len(cv.newer), 0)
	eq(t, "head", cv.rec.Head, 9000)
	k.offer(cv, said(1), false)
	eq(t, "applied", cv.rec.High, 1+maxEarly)
	eq(t, "left", len(cv.early)+len(cv.newer), 0)
}
