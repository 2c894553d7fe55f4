package journaltest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// testConcurrency has goroutines append to conversations they share, resending
// some, with readers between.
func testConcurrency(t *testing.T, f *fixture) {
	const writers, conversations, batches, size = 8, 12, 25, 8
	var wg sync.WaitGroup
	errs := make(chan error, writers)
	for w := range writers {
		wg.Go(func() {
			sender := im.UserID(fmt.Sprint("w", w))
			var before []im.Append
			for b := range batches {
				batch := append([]im.Append(nil), before...)
				for k := range size {
					c := im.Group(fmt.Sprint((w + b + k) % conversations))
					batch = append(batch, text(c, sender, b*size+k+1, "x"))
				}
				out := make([]im.Appended, len(batch))
				if err := f.j.Append(f.ctx, batch, out); err != nil {
					errs <- err
					return
				}
				for i := range out {
					want := im.Stored
					if i < len(before) {
						want = im.Duplicate
					}
					if out[i].Status != want {
						errs <- fmt.Errorf("%s batch %d item %d: status %d, want %d", sender, b, i, out[i].Status, want)
						return
					}
				}
				before = batch[len(batch)-2:]
				if err := f.marks.SetMarks(f.ctx, []im.Mark{{User: sender, Conversation: batch[0].Entry.Conversation, Read: out[0].Seq}}, im.MarkWait{}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
	for range 2 {
		total := 0
		for c := range conversations {
			total += len(f.checkConversation(im.Group(fmt.Sprint(c))))
		}
		if total != writers*batches*size {
			t.Fatalf("%d entries, want %d", total, writers*batches*size)
		}
		f.reopen()
	}
}

// testReaders requires that whoever reads while others append sees a prefix: no
// hole, a position that covers what it promises, heads that only grow.
func testReaders(t *testing.T, f *fixture) {
	const entries = 400
	cs := []im.ConversationID{"grp:r1", "grp:r2"}
	s := f.shard(cs[1])
	last := f.position(s)
	done := make(chan struct{})
	errs := make(chan error, 4)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var seen [2]sight
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := f.observe(cs, &seen); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for n := 1; n <= entries; n += 2 {
		last = f.stored(text(cs[0], "a", n, "x"), text(cs[1], "a", n+1, "x"))[1].Pos
	}
	close(done)
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
	f.reaches(s, last)
}

// sight is what a reader saw of a conversation: at a position, and then up to a
// seq.
type sight struct {
	head im.Head
	pos  uint64
	read uint64
}

func (f *fixture) observe(cs []im.ConversationID, seen *[2]sight) error {
	at, err := f.j.Position(f.ctx)
	if err != nil {
		return err
	}
	var heads [2]im.Head
	if err := f.j.Heads(f.ctx, cs, heads[:]); err != nil {
		return err
	}
	for i, c := range cs {
		h, last, pos := heads[i], seen[i], at.At(f.shard(c))
		if h.Seq < last.head.Seq || h.Pos < last.head.Pos || pos < last.pos {
			return fmt.Errorf("head of %s went back from %+v to %+v, or the position from %d to %d", c, last.head, h, last.pos, pos)
		}
		tail, err := f.j.Read(f.ctx, c, 0, true, 20)
		if err != nil {
			return err
		}
		for k := range tail {
			if want := tail[0].Seq + uint64(k); tail[k].Seq != want {
				return fmt.Errorf("a hole: seq %d where %d belongs", tail[k].Seq, want)
			}
		}
		seen[i] = sight{h, pos, last.read}
		if len(tail) > 0 {
			seen[i].read = tail[len(tail)-1].Seq
		}
		if seen[i].read < h.Seq {
			return fmt.Errorf("the last entry of %s is seq %d, below head %+v", c, seen[i].read, h)
		}
		// What was told to be visible was visible then: what came since is beyond.
		for k := range tail {
			if tail[k].Seq > last.read && tail[k].Pos <= last.pos {
				return fmt.Errorf("seq %d of %s has pos %d and was not visible at position %d", tail[k].Seq, c, tail[k].Pos, last.pos)
			}
		}
	}
	return nil
}

func (f *fixture) crash() {
	f.Helper()
	f.store.Crash(f)
	f.j = nil
	f.open()
}

// testCrash cuts the power again and again: all that was acknowledged is there.
func testCrash(t *testing.T, f *fixture) {
	if f.store.Crash == nil {
		t.Skip("this store's durability is its server's")
	}
	c := im.Group("g")
	var acked []im.Append
	var outs []im.Appended
	timeline := f.j.Timeline()
	for round := range 8 {
		for k := range 5 {
			item := text(c, "a", round*100+k+1, fmt.Sprint("body ", round, k))
			outs = append(outs, f.stored(item)...)
			acked = append(acked, item)
		}
		f.crash()
		if got := f.j.Timeline(); got != timeline {
			t.Fatalf("timeline %q became %q", timeline, got)
		}
		entries := f.checkConversation(c)
		if len(entries) != len(acked) {
			t.Fatalf("round %d: %d entries, %d were acknowledged", round, len(entries), len(acked))
		}
		for i := range entries {
			if string(entries[i].Body) != string(acked[i].Entry.Body) {
				t.Fatalf("entry %d: %q", i, entries[i].Body)
			}
		}
		for i, o := range f.append(acked...) {
			same(t, o, outs[i])
		}
	}
}
