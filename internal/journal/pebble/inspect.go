package pebble

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// Pair is what the journal knows of itself and the directory.
func (r *Reader) Pair() (im.Pair, error) {
	p, err := loadPair(r.j.db)
	p.Position = r.last.pos
	return p, err
}

// Inspect reads everything, and returns what cannot be read because a stored
// block is damaged. conversations is how many there are.
func (r *Reader) Inspect(ctx context.Context) (conversations int, damaged []string, err error) {
	names, err := r.names(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, c := range names {
		switch err := r.inspect(ctx, c); {
		case errors.Is(err, im.ErrJournalDamaged):
			damaged = append(damaged, fmt.Sprintf("conversation %s cannot be read: %v", c, err))
		case err != nil:
			return len(names), damaged, err
		}
	}
	// What is kept of ids, marks and recalls lies below the entries.
	it, err := r.j.db.NewIterWithContext(ctx, &pebble.IterOptions{UpperBound: []byte{spaceEntry}})
	if err != nil {
		return len(names), damaged, r.j.named(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		if _, err := it.ValueAndErr(); err != nil {
			break // Close tells
		}
	}
	if err := r.j.explain(it.Close()); errors.Is(err, im.ErrJournalDamaged) {
		damaged = append(damaged, fmt.Sprintf("the ids of messages, marks, or what was recalled cannot be read: %v", err))
	} else if err != nil {
		return len(names), damaged, r.j.named(err)
	}
	return len(names), damaged, nil
}

// inspect reads a conversation.
func (r *Reader) inspect(ctx context.Context, c im.ConversationID) error {
	for from := uint64(1); ; {
		entries, err := r.j.Read(ctx, c, from, false, 1000)
		if err != nil || len(entries) == 0 {
			return err
		}
		from = entries[len(entries)-1].Seq + 1
	}
}

// names lists the conversations.
func (r *Reader) names(ctx context.Context) (all []im.ConversationID, err error) {
	o := spaceBounds(spaceSegment)
	it, err := r.j.db.NewIterWithContext(ctx, &o)
	if err != nil {
		return nil, r.j.named(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		key := it.Key()
		if len(key) < 10 {
			return nil, errors.Join(r.damaged("a segment"), it.Close())
		}
		if c := im.ConversationID(key[2 : len(key)-8]); len(all) == 0 || all[len(all)-1] != c {
			all = append(all, c)
		}
	}
	if err := it.Close(); err != nil {
		return nil, r.j.named(err)
	}
	return all, nil
}
