package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// toBodies takes a journal to schema 4: entries get a record with a body, ids a key
// with conversation and sender. Both are written to spaces of their own; the last
// batch deletes the old ones. A try that was cut short had another secret: whatever
// it left is deleted first.
func toBodies(m *mover, last *pebble.Batch) error {
	if err := m.room([]byte{midIDs}, []byte{midEntries + 1}); err != nil {
		return err
	}
	for _, s := range []byte{spaceID, spaceStrayID, spaceEntry} {
		if err := m.b.DeleteRange([]byte{s}, []byte{s + 1}, nil); err != nil {
			return err
		}
	}
	if err := m.flush(); err != nil {
		return err
	}
	b := bodies{m: m, secret: newSecret()}
	var err error
	if b.ids, err = newOldIDs(m.db); err != nil {
		return err
	}
	defer b.ids.close()
	if err := m.each(midEntries, b.entry); err != nil {
		return err
	}
	if err := m.flush(); err != nil {
		return err
	}
	if err := b.amend(); err != nil {
		return err
	}
	if err := m.flush(); err != nil {
		return err
	}
	return errors.Join(
		last.Set([]byte(keySecret), b.secret[:], nil),
		last.DeleteRange([]byte{midIDs}, []byte{midIDs + 1}, nil),
		last.DeleteRange([]byte{midStrayIDs}, []byte{midStrayIDs + 1}, nil),
		last.DeleteRange([]byte{midEntries}, []byte{midEntries + 1}, nil),
	)
}

// bodies converts entries and their ids.
type bodies struct {
	m      *mover
	secret secret
	ids    *oldIDReader
	key    []byte
	value  []byte
	// recalls are the recalls that were met: their targets come in other epochs.
	recalls []recallAt
}

// recallAt is a recall and what it took back.
type recallAt struct {
	c           im.ConversationID
	target, seq uint64
}

// entry converts an entry, and the id that is kept of it.
func (b *bodies) entry(key, value []byte) error {
	if len(key) < 1+4+1+8 {
		return errors.New("the key of an entry is damaged")
	}
	e := im.Entry{Conversation: im.ConversationID(key[6 : len(key)-8]), Seq: seqOfKey(key)}
	if err := decodeOldRecord(value, &e); err != nil {
		return fmt.Errorf("entry %d of %s: %w", e.Seq, e.Conversation, err)
	}
	if e.Kind == im.EntryRecall && e.Target != 0 {
		b.recalls = append(b.recalls, recallAt{e.Conversation, e.Target, e.Seq})
	}
	b.key = append(append(b.key[:0], spaceEntry), key[1:]...)
	b.value = appendRecord(b.value[:0], &e)
	if err := b.m.b.Set(b.key, b.value, nil); err != nil {
		return err
	}
	space, kept, err := b.ids.find(&e)
	if err != nil {
		return err
	}
	if seq, _, ok := decodeIDValue(kept); !ok || seq != e.Seq {
		return fmt.Errorf("entry %d of %s: its id is not kept with it", e.Seq, e.Conversation)
	}
	b.key = b.secret.idKey(b.key[:0], space, &e)
	return b.m.b.Set(b.key, kept, nil)
}

// amend notes in what was recalled which entry was the last to do that. Before, only
// that it was recalled was kept. The entries are all written by now.
func (b *bodies) amend() error {
	j := &Journal{dir: b.m.dir, db: b.m.db} // for reading only
	segments, err := j.newSegmentReader()
	if err != nil {
		return err
	}
	defer segments.close()
	last := make(map[placeKey]uint64, len(b.recalls))
	for _, r := range b.recalls {
		k := placeKey{r.c, r.target}
		last[k] = max(last[k], r.seq)
	}
	for k, seq := range last {
		s, err := segments.at(k.c, k.seq)
		if err != nil {
			return err
		}
		e := im.Entry{Conversation: k.c, Seq: k.seq}
		if err := j.readEntry(&e, s.epoch); err != nil {
			return fmt.Errorf("what entry %d of %s recalls: %w", seq, k.c, err)
		}
		if !e.Recalled {
			continue
		}
		e.Amended = seq
		if err := b.m.b.Set(appendEntryKey(nil, s.epoch, k.c, k.seq), appendRecord(nil, &e), nil); err != nil {
			return err
		}
		if b.m.b.Len() > b.m.o.migrateBytes {
			if err := b.m.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// oldIDReader finds ids as schema 3 kept them.
type oldIDReader struct {
	it  *pebble.Iterator
	key []byte
}

func newOldIDs(db *pebble.DB) (*oldIDReader, error) {
	it, err := db.NewIterWithContext(context.Background(), &pebble.IterOptions{LowerBound: []byte{midIDs}, UpperBound: []byte{midStrayIDs + 1}, UseL6Filters: true})
	return &oldIDReader{it: it}, err
}

// find returns what is kept of an entry's id, and the space it belongs to now. The
// value is valid until the next call.
func (r *oldIDReader) find(e *im.Entry) (space byte, value []byte, err error) {
	for _, s := range []struct{ old, now byte }{{midIDs, spaceID}, {midStrayIDs, spaceStrayID}} {
		r.key = append(append(append(r.key[:0], s.old), e.ID[:]...), e.Sender...)
		if r.it.SeekPrefixGE(r.key) && bytes.Equal(r.it.Key(), r.key) {
			value, err = r.it.ValueAndErr()
			return s.now, value, err
		}
		if err := r.it.Error(); err != nil {
			return 0, nil, err
		}
	}
	return 0, nil, nil
}

func (r *oldIDReader) close() { _ = r.it.Close() }
