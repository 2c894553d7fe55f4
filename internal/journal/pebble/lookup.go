package pebble

import (
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
	l := lookup{j: j, durable: j.position()}
	for i := range batch {
		err := ctx.Err()
		if err == nil {
			out[i], err = l.find(&batch[i])
		}
		if err != nil {
			return j.damage(batch[i].Entry.Conversation, err)
		}
	}
	return nil
}

// lookup finds ids as of one position.
type lookup struct {
	j       *Journal
	durable uint64
	key     []byte
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
	epoch, err := l.epoch(e.Conversation, seq)
	if err != nil {
		return im.Appended{}, err
	}
	l.key = appendEntryKey(l.key[:0], epoch, e.Conversation, seq)
	o, err := l.j.storedAt(l.key, e, seq)
	if o.Pos > l.durable { // an append is under way
		o = im.Appended{Status: im.Absent}
	}
	return o, err
}

// epoch is where an entry of the conversation with this seq lies, if there is one.
// It is read after the id, so what an append wrote with the id is seen.
func (l *lookup) epoch(c im.ConversationID, seq uint64) (uint32, error) {
	r, err := l.j.newSegmentReader()
	if err != nil {
		return 0, err
	}
	defer r.close()
	s, err := r.at(c, seq)
	return s.epoch, err
}

// value is what is kept of an id, nil if it is not there.
func (l *lookup) value(e *im.Entry) ([]byte, error) {
	l.key = l.j.secret.idKey(l.key[:0], 0, e)
	for _, l.key[0] = range []byte{spaceID, spaceStrayID} {
		v, err := get(l.j.db, l.key)
		if v != nil || err != nil {
			return v, l.j.explain(err)
		}
	}
	return nil, nil
}
