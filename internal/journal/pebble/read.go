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
	p := page{j: j, c: c, from: from, backward: backward, limit: limit}
	switch {
	case backward && from == 0:
		p.from = maxSeq
	case !backward && from == 0:
		p.from = 1
	}
	err := j.damage(c, p.read(ctx))
	p.close()
	if err != nil {
		return nil, err
	}
	if backward {
		slices.Reverse(p.entries)
	}
	return p.entries, nil
}

// page is what one Read gathers, a segment at a time.
type page struct {
	j        *Journal
	c        im.ConversationID
	from     uint64
	backward bool
	limit    int

	durable  uint64  // positions only grow along a conversation; beyond this one nothing is durable
	newest   segment // the durable one, if it is in memory
	segments *segmentReader
	it       *pebble.Iterator
	entries  []im.Entry
	size     int
}

func (p *page) read(ctx context.Context) error {
	p.j.mu.Lock()
	p.durable = p.j.durable
	if c, ok := p.j.heads.Get(p.c); ok {
		p.newest = c.segment
	}
	p.j.mu.Unlock()
	s, err := p.start()
	for err == nil && s.first != 0 {
		var done bool
		if done, err = p.fill(ctx, s); done || err != nil {
			break
		}
		s, err = p.next(s)
	}
	return err
}

// start returns the segment that from is in.
func (p *page) start() (segment, error) {
	if p.newest.first != 0 && p.from >= p.newest.first {
		return p.newest, nil
	}
	return p.find(p.from)
}

// next returns the segment on which reading goes on after s.
func (p *page) next(s segment) (segment, error) {
	switch {
	case p.backward && s.first == 1 || !p.backward && s == p.newest:
		return segment{}, nil
	case p.backward:
		return p.find(s.first - 1)
	}
	if p.segments == nil {
		if _, err := p.find(s.first); err != nil {
			return segment{}, err
		}
	}
	return p.segments.after(p.c, s)
}

func (p *page) find(seq uint64) (segment, error) {
	if p.segments == nil {
		r, err := p.j.newSegmentReader()
		if err != nil {
			return segment{}, err
		}
		p.segments = r
	}
	return p.segments.at(p.c, seq)
}

// fill takes entries of segment s; done tells that no more are wanted.
func (p *page) fill(ctx context.Context, s segment) (done bool, err error) {
	prefix := appendEntryPrefix(nil, s.epoch, p.c)
	lower, upper := prefix, appendEntryKey(nil, s.epoch, p.c, maxSeq)
	switch {
	case !p.backward:
		lower = appendEntryKey(nil, s.epoch, p.c, p.from)
	case p.from != maxSeq:
		upper = appendEntryKey(upper[:0], s.epoch, p.c, p.from+1)
	}
	if p.it != nil {
		p.it.SetBounds(lower, upper)
	} else {
		p.it, err = p.j.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			return true, p.j.explain(err)
		}
	}
	start, next := p.it.First, p.it.Next
	if p.backward {
		start, next = p.it.Last, p.it.Prev
	}
	for ok := start(); ok; ok = next() {
		if done, err := p.take(); done || err != nil {
			return true, err
		}
	}
	return false, p.j.explain(p.it.Error())
}

// take takes the entry the iterator is at, unless the page is full.
func (p *page) take() (done bool, err error) {
	v, err := p.it.ValueAndErr()
	if err != nil {
		return true, p.j.explain(err)
	}
	e := im.Entry{Conversation: p.c, Seq: seqOfKey(p.it.Key())}
	// The size is checked before the entry is taken; the first always is.
	size := p.size + len(v) + len(p.c)
	if size > readBytes && len(p.entries) > 0 {
		return true, nil
	}
	if err := decodeRecord(v, &e); err != nil {
		return true, p.j.badRecord(p.c, e.Seq, err)
	}
	if e.Pos > p.durable {
		return !p.backward, nil
	}
	p.entries, p.size = append(p.entries, e), size
	return len(p.entries) == p.limit, nil
}

func (p *page) close() {
	if p.segments != nil {
		p.segments.close()
	}
	if p.it != nil {
		_ = p.it.Close() // its errors were taken where they arose
	}
}

func (j *Journal) badRecord(c im.ConversationID, seq uint64, err error) error {
	return &CorruptionError{Dir: j.dir, File: fmt.Sprintf("the record of entry %d of %s", seq, c), Cause: err}
}
