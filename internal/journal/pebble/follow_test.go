package pebble

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

// followed reads from a position to the end, and returns how many entries of each
// conversation there were, which it requires to come in order.
func followed(t *testing.T, j *Journal, at im.Place, limit int) (seqs map[im.ConversationID]uint64, end im.Place) {
	t.Helper()
	seqs = map[im.ConversationID]uint64{}
	for {
		f, err := j.After(context.Background(), at, limit)
		if err != nil {
			t.Fatal(err)
		}
		last := at.Pos
		for _, e := range f.Entries {
			if before, ok := seqs[e.Conversation]; e.Pos < last || ok && e.Seq != before+1 {
				t.Fatalf("entry %d of %s at %d comes after %d at %d", e.Seq, e.Conversation, e.Pos, before, last)
			}
			seqs[e.Conversation], last = e.Seq, e.Pos
		}
		if at = f.UpTo; at == f.Now {
			return seqs, at
		}
	}
}

// Pebble shows a batch before its fsync is done: nobody is told of it, whether it is
// remembered or looked for, and who was told all before it hears it afterwards.
func TestFollowUnsynced(t *testing.T) {
	fs, hold, entered, release := heldSync()
	j := open(t, fs)
	mustAppend(t, j, "grp:g", 1, 3)
	_, at := followed(t, j, im.Place{}, 1) // from now on what is new is remembered
	mustAppend(t, j, "grp:g", 4, 5)
	hold.Store(true)
	done := make(chan error)
	go func() {
		_, err := appendOne(j, message("grp:g", 6))
		done <- err
	}()
	<-entered
	for _, from := range []im.Place{{}, at} {
		if seqs, end := followed(t, j, from, 10); seqs["grp:g"] != 5 || end.Pos != 5 {
			t.Errorf("from %d: told up to seq %d, position %d", from.Pos, seqs["grp:g"], end.Pos)
		}
	}
	_, at = followed(t, j, at, 10)
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, from := range []im.Place{{}, at} {
		if seqs, end := followed(t, j, from, 10); seqs["grp:g"] != 6 || end.Pos != 6 {
			t.Errorf("from %d, afterwards: told up to seq %d, position %d", from.Pos, seqs["grp:g"], end.Pos)
		}
	}
	closeJournal(t, j)
}

// Whoever is far behind reads windows of epochs: all of it, from wherever they are,
// several at a time; and an epoch that ended before is not looked at.
func TestFollowFarBehind(t *testing.T) {
	const conversations, rounds = 9, 200
	for name, small := range map[string]func(*Options){
		"one epoch, many windows":   func(o *Options) { o.windowBytes = 3000 },
		"many epochs, many windows": func(o *Options) { o.windowBytes, o.epochBytes = 3000, 9000 },
		"many epochs, one window":   func(o *Options) { o.epochBytes = 9000 },
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			j := open(t, fs, small)
			for n := range rounds {
				for c := range conversations {
					if n%(c+1) == 0 {
						mustAppend(t, j, im.ConversationID(fmt.Sprint("grp:", c)), n/(c+1)+1, n/(c+1)+1)
					}
				}
			}
			closeJournal(t, j)
			j = open(t, fs, small)
			defer closeJournal(t, j)
			end := j.place()
			for pos := uint64(0); pos < end.Pos; pos += 37 {
				at := end.At(pos)
				seqs, _ := followed(t, j, at, 50)
				if pos > 0 {
					continue
				}
				for c := range conversations {
					if got, want := seqs[im.ConversationID(fmt.Sprint("grp:", c))], uint64((rounds+c)/(c+1)); got != want {
						t.Errorf("%d: told %d entries, want %d", c, got, want)
					}
				}
			}
			if len(j.windows.list) != 0 {
				t.Errorf("%d windows are kept that were read to their end", len(j.windows.list))
			}
			o := spaceBounds(spaceEntry)
			it, err := j.db.NewIter(&o)
			if err != nil {
				t.Fatal(err)
			}
			defer it.Close()
			for after := range end.Pos {
				ok, err := j.seekEpoch(it, after)
				if !ok || err != nil {
					t.Fatal(ok, err)
				}
				w := &window{after: after, upTo: end.Pos, keep: 1, most: 2}
				if err := j.fillFromEpoch(context.Background(), it, append([]byte(nil), it.Key()[:epochPrefix]...), w); err != nil {
					t.Fatal(err)
				}
				// What follows is in this epoch, or it is the last entry of it that does not.
				if len(w.entries) > 0 && w.entries[0].Pos != after+1 {
					t.Fatalf("after %d comes %d", after, w.entries[0].Pos)
				}
			}
		})
	}
}

// The tail remembers a number of touches, and knows from where on it has all.
func TestTail(t *testing.T) {
	var tl tail
	tl.add(touch{pos: 1, first: 1, last: 1})
	if len(tl.touches) != 0 {
		t.Fatal("it is kept though nobody asked")
	}
	tl.begin(1)
	const positions = 3 * tailMost
	for pos := uint64(2); pos < positions; pos++ {
		for c := range 2 {
			tl.add(touch{pos: pos, c: im.ConversationID(fmt.Sprint(c)), first: pos, last: pos + 1})
		}
	}
	if len(tl.touches) < tailMost || len(tl.touches) > 2*tailMost || cap(tl.touches) > 3*tailMost {
		t.Fatalf("%d touches, room for %d", len(tl.touches), cap(tl.touches))
	}
	for at := tl.from; ; {
		some, all := tl.after(at, 5)
		for i, x := range some {
			if want := at + 1 + uint64(i/2); x.pos != want || x.c != im.ConversationID(fmt.Sprint(i%2)) {
				t.Fatalf("after %d comes %+v", at, x)
			}
		}
		if len(some) > 6 || len(some)%2 != 0 || all != (len(some) == 0 || some[len(some)-1].pos == positions-1) {
			t.Fatalf("after %d: %d touches, all %v", at, len(some), all)
		}
		if all {
			return
		}
		at = some[len(some)-1].pos
	}
}
