package pebble

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
)

// schemaVersion is what this code reads and writes. A directory with a greater
// one is refused, one with a smaller one is migrated when it is opened.
const schemaVersion = 4

// describedSince is the first version that describes itself as this one does.
const describedSince = 2

// namedSince is the first version whose ids have a secret.
const namedSince = 4

// The meta keys.
const (
	keySchema   = "\x00schema"
	keyTimeline = "\x00timeline"
	keyFloor    = "\x00floor" // a bound for senders without one of their own
	keySecret   = "\x00secret"
	keyLast     = "\x24" // last position, chain and epoch, in a space of its own
)

// migration takes a journal from the version before `to` to `to`. It adds its
// writes to the batch that also stores the new version, so it happens as a whole
// or not at all.
type migration struct {
	to   uint64
	what string
	run  func(m *mover, last *pebble.Batch) error
}

// migrate brings a journal from version have to version want.
func migrate(db *pebble.DB, dir string, have, want uint64, steps []migration, o *Options) error {
	if have > want {
		return &VersionError{Dir: dir, Have: have, Known: want}
	}
	for _, m := range steps {
		if m.to <= have {
			continue
		}
		if m.to != have+1 {
			break
		}
		b, mv := db.NewBatch(), newMover(db, dir, o)
		err := mv.run(m, b)
		if err == nil {
			err = b.Set([]byte(keySchema), binary.AppendUvarint(nil, m.to), nil)
		}
		if err == nil {
			err = b.Commit(pebble.Sync)
		}
		_ = b.Close()
		if err == nil {
			mv.done()
		}
		if err != nil {
			return fmt.Errorf("journal %s: migration to schema %d (%s): %w", dir, m.to, m.what, explain(dir, err))
		}
		have = m.to
	}
	if have != want {
		return fmt.Errorf("journal %s: schema %d is too old: this version knows no way to %d", dir, have, want)
	}
	return nil
}

// meta is what a journal knows of itself.
type meta struct {
	schema   uint64
	timeline string
	last     sighting
	epoch    epoch
	secret   secret
}

// newSecret makes what nobody can guess.
func newSecret() (s secret) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// firstLink is the chain's value before the first batch.
func firstLink(timeline string) uint64 { return xxhash.Sum64String(timeline) }

// newTimeline names a history nobody else has.
func newTimeline() string { return rand.Text() }

// loadMeta reads the meta keys; found is false in a new journal.
func loadMeta(db *pebble.DB) (m meta, found bool, err error) {
	schema, err := get(db, []byte(keySchema))
	if err != nil {
		return m, false, err
	}
	if schema == nil {
		return m, false, requireEmpty(db)
	}
	m.schema, _ = binary.Uvarint(schema)
	timeline, err := get(db, []byte(keyTimeline))
	if err != nil {
		return m, false, err
	}
	m.timeline = string(timeline)
	// Migrate makes an older journal one that does, and refuses a newer.
	if m.schema >= describedSince && m.schema <= schemaVersion {
		v, err := get(db, []byte(keyLast))
		if err != nil {
			return m, false, err
		}
		var ok bool
		if m.last, m.epoch, ok = decodeLast(v); !ok || m.timeline == "" {
			return m, false, errDescribed
		}
	}
	if m.schema >= namedSince && m.schema <= schemaVersion {
		v, err := get(db, []byte(keySecret))
		if err != nil {
			return m, false, err
		}
		if copy(m.secret[:], v) != len(m.secret) {
			return m, false, errDescribed
		}
	}
	return m, true, nil
}

var errDescribed = errors.New("the keys that describe the journal are damaged")

var errForeign = errors.New("holds data but no schema version: not a journal of skein")

// requireEmpty refuses a store of somebody else's.
func requireEmpty(db *pebble.DB) error {
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	some := it.First()
	if err := it.Close(); err != nil {
		return err
	}
	if some {
		return errForeign
	}
	return nil
}

// create stores the meta keys of a new journal.
func create(db *pebble.DB) (meta, error) {
	m := meta{schema: schemaVersion, timeline: newTimeline(), epoch: epoch{number: 1}, secret: newSecret()}
	m.last.chain = firstLink(m.timeline)
	b := db.NewBatch()
	defer b.Close()
	return m, errors.Join(b.Set([]byte(keySecret), m.secret[:], nil), store(b, m))
}

// store commits a batch with the meta keys added to it.
func store(b *pebble.Batch, m meta) error {
	var slot []byte
	return errors.Join(
		b.Set([]byte(keySchema), binary.AppendUvarint(nil, m.schema), nil),
		b.Set([]byte(keyTimeline), []byte(m.timeline), nil),
		b.Set([]byte(keyLast), appendEpoch(appendPosition(nil, m.last), m.epoch), nil),
		b.Set(appendChainKey(slot, m.last.pos), appendPosition(nil, m.last), nil),
		b.Commit(pebble.Sync),
	)
}

func appendPosition(dst []byte, s sighting) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, s.pos), s.chain)
}

func decodePosition(v []byte) (s sighting, ok bool) {
	if len(v) != 16 {
		return s, false
	}
	return sighting{pos: binary.BigEndian.Uint64(v), chain: binary.BigEndian.Uint64(v[8:])}, true
}

// The value of keyLast: position, chain, epoch, bytes written in it.
func appendEpoch(dst []byte, e epoch) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(dst, e.number), e.filled)
}

func decodeLast(v []byte) (s sighting, e epoch, ok bool) {
	if len(v) != 28 {
		return s, e, false
	}
	s, ok = decodePosition(v[:16])
	return s, epoch{number: binary.BigEndian.Uint32(v[16:]), filled: binary.BigEndian.Uint64(v[20:])}, ok
}

// chainAt returns the chain value at a position, ok false when it is too long ago.
func chainAt(db pebble.Reader, pos uint64) (chain uint64, ok bool, err error) {
	v, err := get(db, appendChainKey(nil, pos))
	if err != nil || v == nil {
		return 0, false, err
	}
	s, valid := decodePosition(v)
	return s.chain, valid && s.pos == pos, nil
}

// get returns a copy of a value, nil when there is none.
func get(r pebble.Reader, key []byte) ([]byte, error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(v)), v...)
	return out, closer.Close()
}
