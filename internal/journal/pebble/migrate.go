package pebble

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// migrations lists the steps in ascending order, each exactly one version
// further. Version 1 is the first there is.
func migrations() []migration {
	return []migration{
		{to: 2, what: "epochs, and a bound of ids for each sender", run: toEpochs},
		{to: 3, what: "what was recalled", run: toRecalls},
	}
}

// The spaces of schema 1.
const (
	oldEntries  = 0x01
	oldIDs      = 0x02
	oldMarks    = 0x03
	oldChain    = 0x04
	oldPosition = "\x00pos"
)

// migrateBytes is how much a migration writes at a time.
const migrateBytes = 1 << 20

// toEpochs copies everything to where schema 2 has it, entries to epoch 0. What
// was copied counts only with the last batch, which also deletes the old keys;
// a migration that is cut short begins anew.
func toEpochs(db *pebble.DB, last *pebble.Batch) error {
	m := mover{db: db, b: db.NewBatch()}
	defer func() { _ = m.b.Close() }()
	for _, s := range []struct {
		from byte
		to   func([]byte) ([]byte, error)
	}{{oldEntries, m.entry}, {oldIDs, respace(spaceID)}, {oldMarks, respace(spaceMark)}, {oldChain, respace(spaceChain)}} {
		if err := m.move(s.from, s.to); err != nil {
			return err
		}
	}
	if err := m.flush(); err != nil {
		return err
	}
	highest, err := highestID(db, spaceID)
	if err != nil {
		return err
	}
	position, err := get(db, []byte(oldPosition))
	if err != nil {
		return err
	}
	return errors.Join(
		last.Set([]byte(keyFloor), highest[:], nil),
		last.Set([]byte(keyLast), appendEpoch(position, epoch{number: 1}), nil),
		last.Delete([]byte(oldPosition), nil),
		last.DeleteRange([]byte{oldEntries}, []byte{oldChain + 1}, nil),
	)
}

// mover copies keys.
type mover struct {
	db   *pebble.DB
	b    *pebble.Batch
	conv []byte // length and name of the conversation whose entries are copied
}

// move copies a space, every key to what to says.
func (m *mover) move(space byte, to func(key []byte) ([]byte, error)) error {
	o := spaceBounds(space)
	it, err := m.db.NewIter(&o)
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var key, value []byte
		if value, err = it.ValueAndErr(); err == nil {
			if key, err = to(it.Key()); err == nil {
				err = m.b.Set(key, value, nil)
			}
		}
		if err == nil && m.b.Len() > migrateBytes {
			err = m.flush()
		}
	}
	return errors.Join(err, it.Close())
}

func (m *mover) flush() error {
	// The last batch is synced, and all before it with it.
	err := m.db.Apply(m.b, pebble.NoSync)
	m.b.Reset()
	return err
}

// entry moves an entry to epoch 0, and begins a segment with the first one of a
// conversation.
func (m *mover) entry(key []byte) ([]byte, error) {
	if len(key) < 10 {
		return nil, errRecord
	}
	if conv := key[1 : len(key)-8]; !bytes.Equal(conv, m.conv) {
		m.conv = bytes.Clone(conv)
		segment := appendSegmentKey(nil, im.ConversationID(conv[1:]), seqOfKey(key))
		if err := m.b.Set(segment, make([]byte, 4), nil); err != nil {
			return nil, err
		}
	}
	return append(binary.BigEndian.AppendUint32([]byte{spaceEntry}, ^uint32(0)), key[1:]...), nil
}

// respace moves keys to another space as they are.
func respace(space byte) func([]byte) ([]byte, error) {
	return func(key []byte) ([]byte, error) { return append([]byte{space}, key[1:]...), nil }
}
