package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// The journal's half of im.Pair: the identity and the directory's changes are in
// one key, the position is the journal's own. A directory's change is synced here
// before it is answered, in the same log, and so by the same fsync, as messages
// that are stored at that moment.

const keyPair = "\x00pair"

func loadPair(r pebble.Reader) (p im.Pair, err error) {
	v, err := get(r, []byte(keyPair))
	if err != nil || v == nil {
		return p, err
	}
	changes, n := binary.Uvarint(v)
	if n <= 0 {
		return p, errors.New("the key that names the journal's directory is damaged")
	}
	return im.Pair{Identity: string(v[n:]), Changes: changes}, nil
}

func encodePair(p im.Pair) []byte {
	return append(binary.AppendUvarint(nil, p.Changes), p.Identity...)
}

// Pair returns what this store knows of itself and the directory.
func (j *Journal) Pair() im.Pair {
	j.pairMu.Lock()
	p := j.pair
	j.pairMu.Unlock()
	p.Position = j.position()
	return p
}

// SetPair joins the journal to a directory, durably: a pair that is new, or that
// was restored. The position is the journal's own and not set.
func (j *Journal) SetPair(p im.Pair) error { return j.keepPair(func(im.Pair) im.Pair { return p }) }

// Changed notes that the directory made this many changes, durably: the caller
// answers them after that. Fewer than are known are no news.
func (j *Journal) Changed(changes uint64) error {
	return j.keepPair(func(p im.Pair) im.Pair {
		p.Changes = max(p.Changes, changes)
		return p
	})
}

func (j *Journal) keepPair(change func(im.Pair) im.Pair) error {
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	if err := j.failure(); err != nil {
		return err
	}
	j.pairMu.Lock()
	defer j.pairMu.Unlock()
	next := change(j.pair)
	if next == j.pair {
		return nil
	}
	b := j.db.NewBatch()
	if err := b.Set([]byte(keyPair), encodePair(next), nil); err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, err)
	}
	if err := j.commit(b); err != nil {
		return err // the batch is left as it is: its commit may be under way
	}
	j.pair = next
	return b.Close()
}
