package pebble

import (
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// readBytes bounds what one Read returns, and one Page.
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
	w := walk{j: j, c: c, from: from, backward: backward}
	switch {
	case backward && from == 0:
		w.from = maxSeq
	case !backward && from == 0:
		w.from = 1
	}
	var entries []im.Entry
	size := 0
	err := w.run(ctx, func(e *im.Entry, sender, body []byte) (done bool, err error) {
		keep(e, sender, body)
		j.durableForm(e)
		// The size is checked before the entry is taken; the first always is.
		if size += entrySize(e); size > readBytes && len(entries) > 0 {
			return true, nil
		}
		entries = append(entries, *e)
		return len(entries) == limit, nil
	})
	w.close()
	if err := j.damage(c, err); err != nil {
		return nil, err
	}
	if backward {
		slices.Reverse(entries)
	}
	return entries, nil
}

// walk goes through the durable entries of a conversation in either direction, a
// segment at a time.
type walk struct {
	j        *Journal
	c        im.ConversationID
	from     uint64
	backward bool

	durable  uint64  // positions only grow along a conversation; beyond this one nothing is durable
	newest   segment // the durable one, if it is in memory
	segments *segmentReader
	it       *pebble.Iterator
	visit    visitor
	e        im.Entry // the one that is visited
}

// visitor gets an entry as decodeHead tells of it, with Conversation and Seq; all of
// it is valid until it returns.
type visitor func(e *im.Entry, sender, body []byte) (done bool, err error)

// run calls visit for every entry from `from` on until it is done.
func (w *walk) run(ctx context.Context, visit visitor) error {
	w.visit = visit
	w.j.mu.Lock()
	w.durable = w.j.durable
	if c, ok := w.j.heads.Get(w.c); ok {
		w.newest = c.segment
	}
	w.j.mu.Unlock()
	s, err := w.start()
	for err == nil && s.first != 0 {
		var done bool
		if done, err = w.fill(ctx, s); done || err != nil {
			break
		}
		s, err = w.next(s)
	}
	return err
}

// start returns the segment that from is in.
func (w *walk) start() (segment, error) {
	if w.newest.first != 0 && w.from >= w.newest.first {
		return w.newest, nil
	}
	return w.find(w.from)
}

// next returns the segment on which reading goes on after s.
func (w *walk) next(s segment) (segment, error) {
	switch {
	case w.backward && s.first == 1 || !w.backward && s == w.newest:
		return segment{}, nil
	case w.backward:
		return w.find(s.first - 1)
	}
	if w.segments == nil {
		if _, err := w.find(s.first); err != nil {
			return segment{}, err
		}
	}
	return w.segments.after(w.c, s)
}

func (w *walk) find(seq uint64) (segment, error) {
	if w.segments == nil {
		r, err := w.j.newSegmentReader()
		if err != nil {
			return segment{}, err
		}
		w.segments = r
	}
	return w.segments.at(w.c, seq)
}

// fill visits the entries of segment s; done tells that no more are wanted.
func (w *walk) fill(ctx context.Context, s segment) (done bool, err error) {
	prefix := appendEntryPrefix(nil, s.epoch, w.c)
	lower, upper := prefix, appendEntryKey(nil, s.epoch, w.c, maxSeq)
	switch {
	case !w.backward:
		lower = appendEntryKey(nil, s.epoch, w.c, w.from)
	case w.from != maxSeq:
		upper = appendEntryKey(upper[:0], s.epoch, w.c, w.from+1)
	}
	if w.it != nil {
		w.it.SetBounds(lower, upper)
	} else {
		w.it, err = w.j.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			return true, w.j.explain(err)
		}
	}
	start, next := w.it.First, w.it.Next
	if w.backward {
		start, next = w.it.Last, w.it.Prev
	}
	for ok := start(); ok; ok = next() {
		if done, err := w.step(); done || err != nil {
			return true, err
		}
	}
	return false, w.j.explain(w.it.Error())
}

// step visits the entry the iterator is at.
func (w *walk) step() (done bool, err error) {
	v, err := w.it.ValueAndErr()
	if err != nil {
		return true, w.j.explain(err)
	}
	w.e = im.Entry{Conversation: w.c, Seq: seqOfKey(w.it.Key())}
	sender, body, err := decodeHead(v, &w.e)
	if err != nil {
		return true, w.j.badRecord(w.c, w.e.Seq, err)
	}
	if w.e.Pos > w.durable {
		return !w.backward, nil
	}
	return w.visit(&w.e, sender, body)
}

func (w *walk) close() {
	if w.segments != nil {
		w.segments.close()
	}
	if w.it != nil {
		_ = w.it.Close() // its errors were taken where they arose
	}
}

func (j *Journal) badRecord(c im.ConversationID, seq uint64, err error) error {
	return &CorruptionError{Dir: j.dir, File: fmt.Sprintf("the record of entry %d of %s", seq, c), Cause: err}
}
