package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// follower reads everything by position, and holds what it is told against the
// contract.
type follower struct {
	f  *fixture
	at im.Place
	// seqs is how far it was told each conversation, by the name.
	seqs    map[im.ConversationID]uint64
	entries map[im.ConversationID][]im.Entry
}

func (f *fixture) follower(at im.Place) *follower {
	return &follower{f: f, at: at, seqs: map[im.ConversationID]uint64{}, entries: map[im.ConversationID][]im.Entry{}}
}

// reachedPlace is where a journal of one shard is, once that is not before pos.
func (f *fixture) reachedPlace(pos uint64) im.Place {
	f.Helper()
	at, one := f.reached(pos).One()
	if !one {
		f.Fatal("several shards are followed each by itself")
	}
	return at
}

func (f *fixture) follows() im.Follow {
	f.Helper()
	r, ok := f.j.(im.Follow)
	if !ok {
		f.Fatalf("%T is not read by position", f.j)
	}
	return r
}

// next takes one stretch. more: there is more behind it.
func (w *follower) next(limit int) (more bool, err error) {
	got, err := w.f.follows().After(w.f.ctx, w.at, limit)
	if err != nil {
		return false, err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("after %+v, %d: up to %+v of %+v: %s", w.at, limit, got.UpTo, got.Now, fmt.Sprintf(format, args...))
	}
	if got.UpTo.Pos < w.at.Pos || got.UpTo.Pos > got.Now.Pos && got.UpTo.Pos != w.at.Pos || got.UpTo.Era != got.Now.Era {
		return false, bad("not a stretch")
	}
	last, positions := w.at.Pos, 0
	for i := range got.Entries {
		e := &got.Entries[i]
		if e.Pos < last || e.Pos <= w.at.Pos || e.Pos > got.UpTo.Pos {
			return false, bad("entry %d of %s has position %d, after %d", e.Seq, e.Conversation, e.Pos, last)
		}
		if e.Pos > last {
			if positions++; i >= limit {
				return false, bad("%d entries", len(got.Entries))
			}
		}
		last = e.Pos
		if seq := w.seqs[e.Conversation]; seq != 0 && e.Seq != seq+1 {
			return false, bad("entry %d of %s follows %d", e.Seq, e.Conversation, seq)
		}
		w.seqs[e.Conversation] = e.Seq
		w.entries[e.Conversation] = append(w.entries[e.Conversation], *e)
	}
	w.at = got.UpTo
	return got.UpTo.Pos < got.Now.Pos, nil
}

// look reads nothing, and requires to be told that the journal is at pos, or further.
func (w *follower) look(pos uint64) {
	w.f.Helper()
	got, err := w.f.follows().After(w.f.ctx, w.at, 0)
	if err != nil {
		w.f.Fatal(err)
	}
	if len(got.Entries) != 0 || got.UpTo.Pos != w.at.Pos || got.UpTo.Era != got.Now.Era || got.Now.Pos < pos {
		w.f.Fatalf("a look from %+v: %d entries up to %+v of %+v, want %d", w.at, len(got.Entries), got.UpTo, got.Now, pos)
	}
}

// catchUp goes on until it was told all up to a position.
func (w *follower) catchUp(pos uint64, limit int) {
	w.f.Helper()
	for deadline := time.Now().Add(time.Minute); w.at.Pos < pos; {
		more, err := w.next(limit)
		if err != nil {
			w.f.Fatal(err)
		}
		if !more && w.at.Pos < pos && time.Now().After(deadline) {
			w.f.Fatalf("it was told up to %d, an entry is at %d", w.at.Pos, pos)
		}
	}
}

// complete requires that it was told all of these conversations, as they are now, but
// for messages that were amended since.
func (w *follower) complete(cs ...im.ConversationID) {
	w.f.Helper()
	for _, c := range cs {
		all := w.f.all(c)
		got := w.entries[c]
		if len(got) != len(all) {
			w.f.Fatalf("%s: %d entries were told, of %d", c, len(got), len(all))
		}
		for i := range all {
			if all[i].Amended != got[i].Amended {
				continue
			}
			if d := differ(&got[i], &all[i]); d != "" {
				w.f.Fatalf("%s: entry %d: %s", c, all[i].Seq, d)
			}
		}
	}
}

// None, one, two, many: whatever was stored is told once, from the beginning or
// from where a reader was, by a store that was opened just now or is in use.
func testFollow(t *testing.T, f *fixture) {
	cs := []im.ConversationID{"grp:a", "grp:b", "grp:c"}
	w := f.follower(im.Place{})
	if more, err := w.next(10); err != nil || more || len(w.seqs) != 0 {
		t.Fatalf("of an empty journal: more %v, %v, %v", more, err, w.seqs)
	}
	n, begun := 0, map[int]*follower{1: w}
	next := func() int { n++; return n }
	var last uint64
	for round := range 40 {
		batch := []im.Append{text(cs[round%3], "a", next(), "x"), text(cs[0], "b", next(), "y"), text(cs[round%3], "a", next(), "z")}
		if round%5 == 4 {
			batch = append(batch, recall(cs[0], "a", next(), uint64(round/5)+1), change(cs[1], "b", next(), 1, uint64(f.amended(cs[1])), fmt.Sprint("state ", round)))
		}
		last = f.stored(batch...)[0].Pos
		for limit, w := range begun {
			if _, err := w.next(limit); err != nil {
				t.Fatal(err)
			}
		}
		switch round {
		case 10:
			begun[3] = f.follower(im.Place{})
		case 20:
			f.reopen()
			begun[500] = f.follower(im.Place{})
		case 30:
			for _, w := range begun { // in turns, so that each is behind the others
				w.catchUp(last, 1)
			}
		}
	}
	for range 2 {
		begun[1000] = f.follower(im.Place{})
		for limit, w := range begun {
			w.catchUp(last, limit)
			w.complete(cs...)
			w.look(last)
		}
		f.follower(im.Place{}).look(last)
		f.reopen()
	}
}

// amended is the last amendment of the first entry, 0 if there is none.
func (f *fixture) amended(c im.ConversationID) uint64 { return f.read(c, 1, false, 1)[0].Amended }

// What one append stored is told together, however much it is, and what many did in
// stretches of about 1 MiB.
func testFollowBounds(t *testing.T, f *fixture) {
	var batch []im.Append
	for n := range 700 {
		batch = append(batch, text(im.Group(fmt.Sprint(n%7)), "a", n+1, "x"))
	}
	last := f.stored(batch...)[0].Pos
	for range 2 {
		w := f.follower(im.Place{})
		w.catchUp(last, 10)
		if len(w.seqs) != 7 || w.seqs[im.Group("3")] != 100 {
			t.Fatalf("told %v", w.seqs)
		}
		f.reopen()
	}
	big := string(make([]byte, 60<<10))
	at := f.reachedPlace(last)
	for n := range 60 {
		last = f.stored(text("grp:big", "a", 1000+n, big))[0].Pos
	}
	for range 2 {
		w := f.follower(at)
		for before := 0; w.at.Pos < last; before = len(w.entries["grp:big"]) {
			f.reaches(f.shard(said), last)
			if _, err := w.next(500); err != nil {
				t.Fatal(err)
			}
			if n := len(w.entries["grp:big"]) - before; n > 20 {
				t.Fatalf("a stretch of %d entries of 60 KiB", n)
			}
		}
		w.complete("grp:big")
		f.reopen()
		at = im.Place{}
	}
}

// Whoever follows while several append, from the beginning or from now, misses
// nothing, and nothing is told that is not durable.
func testFollowConcurrent(t *testing.T, f *fixture) {
	const writers, batches = 5, 60
	cs := []im.ConversationID{"grp:a", "grp:b", "grp:c", "grp:d"}
	var last [writers]uint64
	var writing, following sync.WaitGroup
	for n := range writers {
		writing.Go(func() {
			for b := range batches {
				batch := []im.Append{text(cs[(n+b)%4], im.UserID(fmt.Sprint("w", n)), 2*b+1, "x"), text(cs[(n*b)%4], im.UserID(fmt.Sprint("w", n)), 2*b+2, "y")}
				out := make([]im.Appended, 2)
				if err := f.j.Append(f.ctx, batch, out); err != nil {
					t.Error(err)
					return
				}
				last[n] = max(last[n], out[0].Pos, out[1].Pos)
			}
		})
	}
	done := make(chan struct{})
	var all []*follower
	for _, limit := range []int{1, 7, 500} {
		w := f.follower(im.Place{})
		all = append(all, w)
		following.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := w.next(limit); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	close(done)
	following.Wait()
	end := uint64(0)
	for _, pos := range last {
		end = max(end, pos)
	}
	for _, w := range all {
		w.catchUp(end, 50)
		w.complete(cs...)
	}
}

// A power cut takes nothing away of what was told, and who goes on from there hears
// the rest.
func testFollowCrash(t *testing.T, f *fixture) {
	if f.store.Crash == nil {
		t.Skip("the database's durability is not this suite's")
	}
	n := 0
	w := f.follower(im.Place{})
	for round := range 6 {
		last := f.say(&n, 5)
		if round%2 == 0 {
			w.catchUp(last, 3)
		}
		f.crash()
		w.catchUp(last, 2)
		w.complete("grp:h")
	}
}

// Who was further than the history that is here now is told, and where both agree.
func testFollowPutBack(t *testing.T, f *fixture) {
	if f.store.Save == nil {
		t.Skip("the harness does not know how to copy this store")
	}
	n := 0
	w := f.follower(im.Place{})
	w.catchUp(f.say(&n, 5), 10)
	before := w.at
	f.close()
	f.store.Save(f)
	f.open()
	w.catchUp(f.say(&n, 5), 10)
	gone := w.at
	f.close()
	f.store.PutBack(f)
	f.open()
	f.place()
	last := f.say(&n, 30) // further than ever before
	if _, err := f.follows().After(f.ctx, gone, 10); !errors.Is(err, im.ErrOtherHistory) {
		t.Fatalf("a place of the history that is gone: %v", err)
	}
	if _, err := f.follows().After(f.ctx, gone, 0); !errors.Is(err, im.ErrOtherHistory) {
		t.Fatalf("a look from a place of the history that is gone: %v", err)
	}
	for _, tt := range []struct{ p, least, most im.Place }{{gone, im.Place{}, before}, {before, before, before}, {im.Place{}, im.Place{}, im.Place{}}} {
		at, err := f.follows().Agree(f.ctx, tt.p)
		if err != nil {
			t.Fatal(err)
		}
		if at.Pos < tt.least.Pos || at.Pos > tt.most.Pos {
			t.Fatalf("agrees with %+v up to %+v, want %+v … %+v", tt.p, at, tt.least, tt.most)
		}
		if at != (im.Place{}) {
			f.holds(im.PositionAt(at), true)
		}
		w := f.follower(at)
		if at == before {
			w.seqs["grp:h"] = 5
		}
		w.catchUp(last, 10)
		if w.seqs["grp:h"] != 35 {
			t.Fatalf("told up to %d", w.seqs["grp:h"])
		}
	}
}
