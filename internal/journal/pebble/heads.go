package pebble

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// conversation is a cached head, with what the batch in work makes of it.
type conversation struct {
	name im.ConversationID
	// head is the durable head, guarded by Journal.mu.
	head im.Head
	// segment is where head lies; durable and guarded like it.
	segment segment
	// The rest belongs to the committer, under appendMu, and means something only
	// while batch is the number of the batch in work.
	batch       uint64
	next        im.Head
	nextSegment segment
	stored      bool // an item of this batch was stored
	blocked     bool // a new item was refused: roster or target changed
}

// headsChunk bounds how long Heads keeps the committer from publishing.
const headsChunk = 256

// Heads fills out with the durable heads of cs.
func (j *Journal) Heads(ctx context.Context, cs []im.ConversationID, out []im.Head) error {
	if len(out) != len(cs) {
		return errors.New("journal: Heads: len(out) differs from len(cs)")
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	var missing []int
	for from := 0; from < len(cs); from += headsChunk {
		to := min(from+headsChunk, len(cs))
		j.mu.Lock()
		for i := from; i < to; i++ {
			if c, ok := j.heads.Get(cs[i]); ok {
				out[i] = c.head
			} else {
				missing = append(missing, i)
			}
		}
		j.mu.Unlock()
	}
	if len(missing) == 0 {
		return nil
	}
	r, err := j.newHeadReader()
	if err != nil {
		return err
	}
	defer r.close()
	for n, i := range missing {
		if n%headsChunk == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c := conversation{name: cs[i]}
		switch err := j.damage(cs[i], r.read(&c)); {
		case errors.Is(err, im.ErrJournalDamaged):
			out[i] = im.Head{Damaged: true}
			continue
		case err != nil:
			return err
		}
		out[i] = c.head
		j.keepHead(&c, r.durable)
	}
	return nil
}

// keepHead caches a head that was read when the journal stood at durable. A
// commit since then may have made it old; then it is left out.
func (j *Journal) keepHead(c *conversation, durable uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.durable != durable {
		return
	}
	if _, ok := j.heads.Get(c.name); !ok {
		j.heads.Put(c.name, c)
	}
}

// headReader reads heads from the store as of one position.
type headReader struct {
	j        *Journal
	segments *segmentReader
	it       *pebble.Iterator
	durable  uint64
	key      []byte
}

func (j *Journal) newHeadReader() (*headReader, error) {
	// The position first: the iterator then sees all up to it, and read leaves out
	// what is beyond.
	r := &headReader{j: j, durable: j.position()}
	var err error
	if r.segments, err = j.newSegmentReader(); err != nil {
		return nil, err
	}
	o := spaceBounds(spaceEntry)
	if r.it, err = j.db.NewIter(&o); err != nil {
		r.segments.close()
		return nil, j.explain(err)
	}
	return r, nil
}

// read fills in head and segment of c; a conversation without entries has none.
func (r *headReader) read(c *conversation) error {
	s, err := r.segments.at(c.name, maxSeq)
	for err == nil && s.first != 0 {
		var found bool
		if found, err = r.readIn(c, s); found || err != nil || s.first == 1 {
			break
		}
		s, err = r.segments.at(c.name, s.first-1)
	}
	return err
}

// readIn looks for the last durable entry of c in segment s.
func (r *headReader) readIn(c *conversation, s segment) (found bool, err error) {
	r.key = appendEntryKey(r.key[:0], s.epoch, c.name, maxSeq)
	prefix := r.key[:len(r.key)-8]
	for ok := r.it.SeekLT(r.key); ok && isSeqOf(r.it.Key(), prefix); ok = r.it.Prev() {
		v, err := r.it.ValueAndErr()
		if err != nil {
			return false, r.j.explain(err)
		}
		var e im.Entry
		if _, _, err := decodeHead(v, &e); err != nil {
			return false, r.j.badRecord(c.name, seqOfKey(r.it.Key()), err)
		}
		if e.Pos <= r.durable {
			c.head = im.Head{Seq: seqOfKey(r.it.Key()), Count: e.Count, Time: e.Stored, Roster: e.Roster, Pos: e.Pos}
			c.segment = s
			return true, nil
		}
	}
	return false, r.j.explain(r.it.Error())
}

func (r *headReader) close() {
	r.segments.close()
	_ = r.it.Close()
}
