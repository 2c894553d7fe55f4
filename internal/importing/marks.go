package importing

import (
	"context"
	"maps"
	"slices"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// reading is up to where threads of a conversation are read by those who follow them: by root.
type reading map[uint64]*followed

type followed struct {
	last    uint64
	writers map[im.UserID]bool
}

// reply notes a reply in the thread of t.
func (r reading) reply(t *thread, seq uint64, by im.UserID) {
	f := r[t.top()]
	if f == nil {
		f = &followed{writers: map[im.UserID]bool{}}
		r[t.top()] = f
	}
	if f.last = max(f.last, seq); t.root == 0 {
		f.writers[t.author] = true
	}
	f.writers[by] = true
}

// markRead has all members have read a conversation up to its last entry that is of the
// import, and its threads up to their last replies. It moves marks forward alone, and leaves
// all else as it is that they set: after a second run nothing is another.
func (w *writer) markRead(ctx context.Context, v *conversation) error {
	threads := map[im.UserID][]uint64{}
	for _, root := range slices.Sorted(maps.Keys(v.read)) {
		for u := range v.read[root].writers {
			threads[u] = append(threads[u], root)
		}
	}
	for members := range slices.Chunk(v.members, 1000) {
		keys := make([]im.MarkKey, len(members))
		for i, u := range members {
			keys[i] = im.MarkKey{User: u, Conversation: v.id}
		}
		was := make([]im.Mark, len(keys))
		if err := w.t.Journal.Marks(ctx, keys, was, false); err != nil {
			return err
		}
		var marks []im.Mark
		for i, u := range members {
			m := was[i]
			m.User, m.Conversation, m.Received = u, v.id, max(m.Received, v.last)
			if m.Read < v.last {
				m.Read, m.ReadCount = v.last, v.lastCount
			}
			for _, root := range newest(threads[u]) {
				next, _, _, err := entrycodec.SetMyState(m.Mine, v.id, &im.MyChange{Thread: &im.ThreadChange{Root: root, Read: &v.read[root].last}})
				if err != nil {
					return err
				}
				m.Mine = next
			}
			if m.Received != was[i].Received || m.Read != was[i].Read || m.Mine != was[i].Mine {
				marks = append(marks, m)
			}
		}
		if len(marks) == 0 {
			continue
		}
		if err := w.t.Journal.SetMarks(ctx, marks, im.MarkWait{}); err != nil {
			return err
		}
	}
	return nil
}

// newest are the roots of which it can be kept up to where their threads are read.
func newest(roots []uint64) []uint64 { return roots[max(0, len(roots)-im.MaxThreadMarks):] }
