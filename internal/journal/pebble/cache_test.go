package pebble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// TestTinyCaches: nothing depends on what the caches hold. Conversations,
// senders and marks fall out all the time, and ids come in any order.
func TestTinyCaches(t *testing.T) {
	const names, rounds = 40, 1500
	j := open(t, vfs.NewMem())
	j.heads = cache.New[im.ConversationID, *conversation](16)
	j.appender.senders = cache.New[im.UserID, *sender](16)
	j.marks.clean = cache.New[im.MarkKey, im.Mark](4)
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(5, 6))
	seqs := map[im.ConversationID]uint64{}
	stored := map[string]im.Appended{}
	marks := map[im.MarkKey]uint64{}
	for range rounds {
		batch, out := make([]im.Append, 4), make([]im.Appended, 4)
		for i := range batch {
			n := rng.IntN(names * 20)
			batch[i] = message(im.Group(fmt.Sprint(n%names)), n)
			batch[i].Entry.Sender = im.UserID(fmt.Sprint("u", n%names))
		}
		if err := j.Append(ctx, batch, out); err != nil {
			t.Fatal(err)
		}
		for i := range out {
			e := &batch[i].Entry
			key := fmt.Sprint(e.Sender, e.ID)
			first, known := stored[key]
			switch {
			case known && (out[i].Status != im.Duplicate || out[i].Seq != first.Seq || out[i].Pos != first.Pos):
				t.Fatalf("a resend got %+v, want %+v", out[i], first)
			case !known && (out[i].Status != im.Stored || out[i].Seq != seqs[e.Conversation]+1):
				t.Fatalf("a new one got %+v after seq %d", out[i], seqs[e.Conversation])
			case !known:
				seqs[e.Conversation], stored[key] = out[i].Seq, out[i]
			}
		}
		k := im.MarkKey{User: batch[0].Entry.Sender, Conversation: batch[0].Entry.Conversation}
		read := rng.Uint64N(100)
		marks[k] = max(marks[k], read)
		if err := j.SetMarks(ctx, []im.Mark{{User: k.User, Conversation: k.Conversation, Read: read}}, im.MarkWait{}); err != nil {
			t.Fatal(err)
		}
		got := make([]im.Mark, 1)
		if err := j.Marks(ctx, []im.MarkKey{k}, got, false); err != nil || got[0].Read != marks[k] {
			t.Fatalf("mark %+v, %v, want read %d", got[0], err, marks[k])
		}
		head := make([]im.Head, 1)
		c := im.Group(fmt.Sprint(rng.IntN(names)))
		if err := j.Heads(ctx, []im.ConversationID{c}, head); err != nil || head[0].Seq != seqs[c] {
			t.Fatalf("head %+v, %v, want seq %d", head[0], err, seqs[c])
		}
	}
	closeJournal(t, j)
}

// TestLateHead: a head that was read before a commit must not be remembered
// after it.
func TestLateHead(t *testing.T) {
	j := open(t, vfs.NewMem())
	mustAppend(t, j, "grp:g", 1, 3)
	r, err := j.newHeadReader()
	if err != nil {
		t.Fatal(err)
	}
	c := conversation{name: "grp:g"}
	err = r.read(&c)
	r.close()
	if err != nil || c.head.Seq != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	mustAppend(t, j, "grp:g", 4, 4)
	j.heads = cache.New[im.ConversationID, *conversation](16) // evicted meanwhile
	j.keepHead(&c, r.durable)
	mustAppend(t, j, "grp:g", 5, 5)
	closeJournal(t, j)
}
