package pebble

import (
	"bytes"
	"context"
	"errors"

	"github.com/skein-im/skein/internal/im"
)

var _ im.Lookups = (*Journal)(nil)

// Lookup finds ids that were stored before.
func (j *Journal) Lookup(ctx context.Context, batch []im.Append, out []im.Appended) error {
	if len(out) != len(batch) {
		return errors.New("journal: Lookup: len(out) differs from len(batch)")
	}
	clear(out)
	if len(batch) == 0 {
		return nil
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	segments, err := j.newSegmentReader()
	if err != nil {
		return err
	}
	defer segments.close()
	l := lookup{j: j, segments: segments, durable: j.position()}
	for i := range batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		if out[i], err = l.find(&batch[i]); err != nil {
			return j.damage(batch[i].Entry.Conversation, err)
		}
	}
	return nil
}

// lookup finds ids as of one position.
type lookup struct {
	j        *Journal
	segments *segmentReader
	durable  uint64
	key      []byte
}

func (l *lookup) find(it *im.Append) (im.Appended, error) {
	e := &it.Entry
	value, err := l.value(e)
	if value == nil || err != nil {
		return im.Appended{Status: im.Absent}, err
	}
	seq, hash, ok := decodeIDValue(value)
	switch {
	case !ok:
		return im.Appended{}, l.j.badRecord(e.Conversation, seq, errRecord)
	case hash != it.Hash:
		return im.Appended{Status: im.IDConflict}, nil
	}
	// The id's conversation is not kept with it: see appender.onDisk.
	s, err := l.segments.at(e.Conversation, seq)
	if err != nil {
		return im.Appended{}, err
	}
	l.key = appendEntryKey(l.key[:0], s.epoch, e.Conversation, seq)
	if value, err = get(l.j.db, l.key); err != nil {
		return im.Appended{}, l.j.explain(err)
	}
	var original im.Entry
	if s.first == 0 || value == nil {
		return im.Appended{Status: im.IDConflict}, nil
	}
	sender, err := decodeHead(value, &original)
	switch {
	case err != nil:
		return im.Appended{}, l.j.badRecord(e.Conversation, seq, err)
	case original.ID != e.ID || !bytes.Equal(sender, []byte(e.Sender)):
		return im.Appended{Status: im.IDConflict}, nil
	case original.Pos > l.durable: // an append is under way
		return im.Appended{Status: im.Absent}, nil
	}
	return im.Appended{
		Status: im.Duplicate, Seq: seq, Count: original.Count, Time: original.Stored, Pos: original.Pos, Roster: original.Roster,
	}, nil
}

// value is what is kept of an id, nil if it is not there.
func (l *lookup) value(e *im.Entry) ([]byte, error) {
	for _, space := range []byte{spaceID, spaceStrayID} {
		l.key = appendIDKey(l.key[:0], space, e.Sender, e.ID)
		v, err := get(l.j.db, l.key)
		if v != nil || err != nil {
			return v, l.j.explain(err)
		}
	}
	return nil, nil
}
