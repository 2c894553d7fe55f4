package pebble

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// Entries are kept by epoch first and by conversation second, so that the store
// merges new entries with those of the same epoch only, and leaves older ones
// where they are: what a message costs does not grow with the journal. A
// conversation lies in one segment per epoch in which it has entries.

// epochBytes is how much is written before the next epoch begins. Smaller ones
// are merged less and make conversations lie in more segments.
const epochBytes = 128 << 20

// epoch is where new entries go.
type epoch struct {
	number uint32 // 0 has what was stored before there were epochs
	filled uint64 // bytes written since it began
}

// after returns the epoch after n bytes more.
func (e epoch) after(n int, limit uint64) epoch {
	if e.filled += uint64(n); e.filled >= limit {
		return epoch{number: e.number + 1}
	}
	return e
}

// segment is a run of a conversation's entries that lie together: from seq
// first until the next segment begins.
type segment struct {
	first uint64 // 0: no segment
	epoch uint32
}

// segmentReader finds the segments of conversations.
type segmentReader struct {
	j   *Journal
	it  *pebble.Iterator
	key []byte
}

func (j *Journal) newSegmentReader() (*segmentReader, error) {
	o := spaceBounds(spaceSegment)
	it, err := j.db.NewIter(&o)
	if err != nil {
		return nil, j.explain(err)
	}
	return &segmentReader{j: j, it: it}, nil
}

func (r *segmentReader) close() { _ = r.it.Close() }

// at returns the segment that seq is in, or would be; none if c has none.
func (r *segmentReader) at(c im.ConversationID, seq uint64) (segment, error) {
	r.key = appendSegmentKey(r.key[:0], c, seq)
	if seq < maxSeq {
		r.key = appendSegmentKey(r.key[:0], c, seq+1)
	}
	return r.found(r.it.SeekLT(r.key))
}

// after returns the segment of c that follows s.
func (r *segmentReader) after(c im.ConversationID, s segment) (segment, error) {
	r.key = appendSegmentKey(r.key[:0], c, s.first+1)
	return r.found(r.it.SeekGE(r.key))
}

// found returns the segment the iterator is at, if it is of the conversation of
// key.
func (r *segmentReader) found(ok bool) (segment, error) {
	if !ok || !isSeqOf(r.it.Key(), r.key[:len(r.key)-8]) {
		return segment{}, r.j.explain(r.it.Error())
	}
	v, err := r.it.ValueAndErr()
	if err != nil {
		return segment{}, r.j.explain(err)
	}
	if len(v) != 4 {
		c := im.ConversationID(r.key[2 : len(r.key)-8])
		return segment{}, r.j.badRecord(c, seqOfKey(r.it.Key()), errRecord)
	}
	return segment{first: seqOfKey(r.it.Key()), epoch: binary.BigEndian.Uint32(v)}, nil
}

// epochOf returns the epoch of entry seq of c, which has it or never had it; c is
// of the batch in work.
func (a *appender) epochOf(c *conversation, seq uint64) (uint32, error) {
	for _, s := range []segment{c.nextSegment, c.segment} {
		if s.first != 0 && seq >= s.first {
			return s.epoch, nil
		}
	}
	if a.segments == nil {
		r, err := a.j.newSegmentReader()
		if err != nil {
			return 0, err
		}
		a.segments = r
	}
	s, err := a.segments.at(c.name, seq)
	return s.epoch, err
}
