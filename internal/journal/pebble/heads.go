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
	// The rest belongs to the committer, under appendMu, and means something only
	// while batch is the number of the batch in work.
	batch   uint64
	next    im.Head
	stored  bool // an item of this batch was stored
	blocked bool // a new item was refused with RosterChanged
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
			if c, ok := j.heads.get(cs[i]); ok {
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
		if out[i], err = r.read(cs[i]); err != nil {
			return err
		}
		j.keepHead(cs[i], out[i], r.durable)
	}
	return nil
}

// keepHead caches a head that was read when the journal stood at durable. A
// commit since then may have made it old; then it is left out.
func (j *Journal) keepHead(c im.ConversationID, h im.Head, durable uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.durable != durable {
		return
	}
	if _, ok := j.heads.get(c); !ok {
		j.heads.put(c, &conversation{name: c, head: h})
	}
}

// headReader reads heads from the store as of one position.
type headReader struct {
	j       *Journal
	it      *pebble.Iterator
	durable uint64
	key     []byte
}

func (j *Journal) newHeadReader() (*headReader, error) {
	// The position first: the iterator then sees all up to it, and read leaves out
	// what is beyond.
	r := &headReader{j: j, durable: j.position()}
	o := spaceBounds(spaceEntry)
	it, err := j.db.NewIter(&o)
	if err != nil {
		return nil, j.explain(err)
	}
	r.it = it
	return r, nil
}

func (r *headReader) read(c im.ConversationID) (im.Head, error) {
	r.key = appendEntryEnd(r.key[:0], c)
	for ok := r.it.SeekLT(r.key); ok && isEntryOf(r.it.Key(), c); ok = r.it.Prev() {
		v, err := r.it.ValueAndErr()
		if err != nil {
			return im.Head{}, r.j.explain(err)
		}
		var e im.Entry
		if _, err := decodeHead(v, &e); err != nil {
			return im.Head{}, r.j.badRecord(c, seqOfKey(r.it.Key()), err)
		}
		if e.Pos <= r.durable {
			return im.Head{Seq: seqOfKey(r.it.Key()), Count: e.Count, Time: e.Stored, Roster: e.Roster, Pos: e.Pos}, nil
		}
	}
	return im.Head{}, r.j.explain(r.it.Error())
}

func (r *headReader) close() { _ = r.it.Close() }
