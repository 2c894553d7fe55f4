package pebble

import (
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// readBytes bounds what one Read returns.
const readBytes = 1 << 20

// Read returns a part of a conversation in ascending seq order.
func (j *Journal) Read(ctx context.Context, c im.ConversationID, from uint64, backward bool, limit int) ([]im.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if limit <= 0 || len(c) == 0 || len(c) > maxName {
		return nil, nil
	}
	if err := j.enter(); err != nil {
		return nil, err
	}
	defer j.life.RUnlock()
	lower, upper := appendEntryKey(nil, c, 0), appendEntryEnd(nil, c)
	switch {
	case !backward:
		lower = appendEntryKey(lower[:0], c, from)
	case from != 0 && from != ^uint64(0):
		upper = appendEntryKey(upper[:0], c, from+1)
	}
	// Positions only grow along a conversation; beyond this one nothing is durable.
	durable := j.position()
	it, err := j.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, j.explain(err)
	}
	entries, err := j.collect(it, c, durable, backward, limit)
	if cerr := it.Close(); err == nil && cerr != nil {
		err = j.explain(cerr)
	}
	if err != nil {
		return nil, err
	}
	if backward {
		slices.Reverse(entries)
	}
	return entries, nil
}

// collect walks the iterator in one direction until limit or readBytes.
func (j *Journal) collect(it *pebble.Iterator, c im.ConversationID, durable uint64, backward bool, limit int) ([]im.Entry, error) {
	var entries []im.Entry
	size := 0
	start, next := it.First, it.Next
	if backward {
		start, next = it.Last, it.Prev
	}
	for ok := start(); ok && len(entries) < limit; ok = next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, j.explain(err)
		}
		seq := seqOfKey(it.Key())
		// The size is checked before the entry is taken; the first always is.
		if size += len(v) + len(c); size > readBytes && len(entries) > 0 {
			break
		}
		e := im.Entry{Conversation: c, Seq: seq}
		if err := decodeRecord(v, &e); err != nil {
			return nil, j.badRecord(c, seq, err)
		}
		if e.Pos <= durable {
			entries = append(entries, e)
			continue
		}
		size -= len(v) + len(c)
		if !backward {
			break
		}
	}
	return entries, j.explain(it.Error())
}

func (j *Journal) badRecord(c im.ConversationID, seq uint64, err error) error {
	return &CorruptionError{Dir: j.dir, File: fmt.Sprintf("the record of entry %d of %s", seq, c), Cause: err}
}
