package pebble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// migrations lists the steps in ascending order, each exactly one version
// further. Version 1 is the first there is.
func migrations() []migration {
	return []migration{
		{to: 2, what: "epochs, and a bound of ids for each sender", run: toEpochs},
		{to: 3, what: "what was recalled", run: toRecalls},
		{to: 4, what: "entries have a body, and ids belong to a conversation", run: toBodies},
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

// The spaces of schemas 2 and 3 that schema 4 has elsewhere. The others are the same.
const (
	midIDs      = 0x10 // id(16) sender → seq, hash
	midStrayIDs = 0x20
	midEntries  = 0x30 // ^epoch(4) len conversation seq(8) → record (record1.go)
)

// migrateBytes is how much a migration writes at a time, migrateTells how often it
// logs how far it is.
const (
	migrateBytes = 1 << 20
	migrateTells = 10 * time.Second
)

// mover copies keys for a migration. What it writes is synced by the last batch of
// the migration, which also stores the new version: until then it counts for nothing,
// and is written again, or deleted, by the next try.
type mover struct {
	dir  string
	db   *pebble.DB
	b    *pebble.Batch
	o    *Options
	conv []byte // length and name of the conversation whose entries are copied

	began, told time.Time
	what        string
	keys        int
}

func newMover(db *pebble.DB, dir string, o *Options) *mover {
	now := time.Now()
	return &mover{dir: dir, db: db, b: db.NewBatch(), o: o, began: now, told: now}
}

// run does a migration but for its last batch, which it fills.
func (m *mover) run(step migration, last *pebble.Batch) error {
	m.what = step.what
	err := step.run(m, last)
	return errors.Join(err, m.b.Close())
}

// each calls do for every key of a space. Do adds to the batch.
func (m *mover) each(space byte, do func(key, value []byte) error) error {
	o := spaceBounds(space)
	it, err := m.db.NewIter(&o)
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			err = do(it.Key(), value)
		}
		if err == nil && m.b.Len() > m.o.migrateBytes {
			err = m.flush()
		}
		m.keys++
		m.tell()
	}
	return errors.Join(err, it.Close())
}

// tell logs now and then how far a long migration is.
func (m *mover) tell() {
	if m.keys%1024 != 0 || time.Since(m.told) < migrateTells {
		return
	}
	m.told = time.Now()
	m.o.Logger.Info("journal: its files are converted for this version; until that is done it can be stopped, and begins anew", "change", m.what, "keys", m.keys, "since", time.Since(m.began).Round(time.Second))
}

// done logs that a long one is over.
func (m *mover) done() {
	if m.told != m.began {
		m.o.Logger.Info("journal: its files were converted for this version", "change", m.what, "keys", m.keys, "took", time.Since(m.began).Round(time.Second))
	}
}

// room refuses a migration that copies a range when there is too little room for a
// second one: it would fail in the middle.
func (m *mover) room(from, to []byte) error {
	if m.o.MinFree < 0 {
		return nil
	}
	need, err := m.db.EstimateDiskUsage(from, to)
	if err != nil {
		return err
	}
	need += need/2 + uint64(m.o.MinFree) // what is new is not as compact yet
	u, err := m.o.FS.GetDiskUsage(m.dir)
	if err != nil || u.AvailBytes >= need {
		return nil // who cannot tell how much is free is not refused
	}
	return fmt.Errorf("%w: it needs %d bytes for the time of the migration, %d are free", im.ErrJournalFull, need, u.AvailBytes)
}

// flush writes what was gathered. The last batch is synced, and all before it with it.
func (m *mover) flush() error {
	err := m.db.Apply(m.b, pebble.NoSync)
	m.b.Reset()
	if m.o.migrateWrote != nil && err == nil {
		m.o.migrateWrote(m.db)
	}
	return err
}

// toEpochs copies everything to where schema 2 has it, entries to epoch 0. What
// was copied counts only with the last batch, which also deletes the old keys;
// a migration that is cut short begins anew.
func toEpochs(m *mover, last *pebble.Batch) error {
	for _, s := range []struct {
		from byte
		to   func([]byte) ([]byte, error)
	}{{oldEntries, m.entry}, {oldIDs, respace(midIDs)}, {oldMarks, respace(spaceMark)}, {oldChain, respace(spaceChain)}} {
		err := m.each(s.from, func(key, value []byte) error {
			to, err := s.to(key)
			if err != nil {
				return err
			}
			return m.b.Set(to, value, nil)
		})
		if err != nil {
			return err
		}
	}
	if err := m.flush(); err != nil {
		return err
	}
	highest, err := highestID(m.db, midIDs)
	if err != nil {
		return err
	}
	position, err := get(m.db, []byte(oldPosition))
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
	return append(binary.BigEndian.AppendUint32([]byte{midEntries}, ^uint32(0)), key[1:]...), nil
}

// respace moves keys to another space as they are.
func respace(space byte) func([]byte) ([]byte, error) {
	return func(key []byte) ([]byte, error) { return append([]byte{space}, key[1:]...), nil }
}

// toRecalls takes a journal to schema 3: what was recalled gets its keys.
func toRecalls(m *mover, last *pebble.Batch) error {
	err := m.each(midEntries, func(key, value []byte) error {
		// One that cannot be decoded is found when it is read.
		if !decodeOldHead(value) {
			return nil
		}
		recalled := recalledOf(key)
		if recalled == nil {
			return nil
		}
		// When it was recalled is not known, but it is durable.
		return m.b.Set(recalled, []byte{0}, nil)
	})
	if err != nil {
		return err
	}
	return last.Apply(m.b, nil)
}

// recalledOf makes the key of a recalled message from that of its entry, nil if it
// is none: space, epoch, and then the same.
func recalledOf(entry []byte) []byte {
	const begin = 1 + 4
	if len(entry) < begin+1+8 {
		return nil
	}
	return append([]byte{spaceRecalled}, entry[begin:]...)
}
