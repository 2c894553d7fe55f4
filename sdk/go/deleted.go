package skein

import (
	"context"
	"fmt"
	"slices"

	"github.com/skein-im/skein/wire"
)

// DeleteForMe deletes messages for the user alone, on all their devices and for ever:
// others see them as before. They are no part of History, of what is unread and of the
// list from then on, here when it returns, on the other devices once they are told (a
// MyStateEvent). Of a conversation 500 stretches of deleted messages are kept, also when it
// is cleared; one more is ErrTooLarge. SPEC §4.28.
func (v *Conversation) DeleteForMe(ctx context.Context, seqs ...uint64) error {
	for some := range slices.Chunk(seqs, 100) {
		if _, err := v.SetMyState(ctx, &wire.SetMyStateRequest{Delete: some}); err != nil {
			return err
		}
	}
	return nil
}

// gone tells whether the user deleted a message for themselves.
func (r *ConversationRecord) gone(seq uint64) bool {
	all := r.Mine.GetDeleted()
	i, _ := slices.BinarySearchFunc(all, seq, func(g *wire.SeqRange, seq uint64) int {
		switch {
		case g.Last < seq:
			return -1
		case g.First > seq:
			return 1
		}
		return 0
	})
	return i < len(all) && all[i].First <= seq && seq <= all[i].Last
}

// hides tells whether an entry is one that the user deleted for themselves.
func (r *ConversationRecord) hides(e *wire.Entry) bool { return e.Deleted || r.gone(e.Seq) }

// withoutDeleted takes what the user deleted out of what is unread, as what was recalled
// is. ask: where only the server knows whether it is, it is asked.
func (k *core) withoutDeleted(cv *conv, ask bool) {
	r, unsure := &cv.rec, false
	for _, g := range r.Mine.GetDeleted() {
		for seq := max(g.First, r.Read+1); seq <= min(g.Last, r.Head); seq++ {
			unsure = !r.recall(seq) || unsure
			unsure = !r.noMention(seq) || unsure
		}
	}
	if ask && unsure {
		k.askMembership(cv)
	}
}

// local are the newest entries of the store up to hi that the user did not delete.
func (v *Conversation) local(ctx context.Context, w window, hi uint64, limit int) ([]*wire.Entry, error) {
	var out []*wire.Entry
	for {
		want := limit - len(out)
		es, err := v.c.o.store.Entries(ctx, v.id, w.Low, hi, want)
		if err != nil {
			return nil, err
		}
		out = append(w.undeleted(es), out...)
		if len(es) < want || len(out) >= limit || es[0].Seq <= w.Low {
			return out, nil
		}
		hi = es[0].Seq - 1
	}
}

// undeleted leaves out of entries what the user deleted.
func (r *ConversationRecord) undeleted(es []*wire.Entry) []*wire.Entry {
	if !slices.ContainsFunc(es, r.hides) {
		return es
	}
	return slices.DeleteFunc(slices.Clone(es), r.hides)
}

// last is the last entry that is shown of a conversation, as far as it is known here.
func (k *core) last(cv *conv) *wire.Entry {
	r := &cv.rec
	e := r.Last
	if e == nil || !r.hides(e) {
		return e
	}
	k.commit() // what is read from the store has all that was applied
	for to := r.before(e.Seq); to >= max(r.Low, r.Mine.GetClearedBelow(), 1); {
		es, err := k.o.store.Entries(context.Background(), r.ID, r.Low, to, 50)
		if err != nil {
			k.die(fmt.Errorf("%w: %w", ErrStore, err))
			return nil
		}
		if len(es) == 0 {
			return nil
		}
		if shown := r.undeleted(es); len(shown) > 0 {
			return shown[len(shown)-1]
		}
		to = r.before(es[0].Seq)
	}
	return nil
}
