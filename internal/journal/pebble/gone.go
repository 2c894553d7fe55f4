package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// What a trim, or a recall, gives up lies in the store's files until they are merged with what was
// written in its place, and files of older epochs are never merged by themselves. So
// they are here, an epoch at a time: when there is much to be given back, and whatever
// there is after a while. Which epochs are due is kept in the store, so that a start
// goes on with them.

const (
	// goneBytesDue is how much is given up of an epoch before it is merged at once.
	goneBytesDue = 16 << 20
	// goneEvery is how long anything that was given up may wait.
	goneEvery = time.Hour
)

// keyGone begins the keys of epochs of which something was given up.
const keyGone = "\x00gone"

func appendGoneKey(dst []byte, epoch uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, keyGone...), epoch)
}

// goneBytes is how much was given up, by epoch.
type goneBytes map[uint32]uint64

// note adds to a batch which epochs it gives something up of.
func (g goneBytes) note(b *pebble.Batch) error {
	for epoch := range g {
		if err := b.Set(appendGoneKey(nil, epoch), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// gone is what was given up and is not given back yet.
type gone struct {
	wake chan struct{} // holds one: an epoch is due
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	epochs goneBytes
}

func (g *gone) add(some goneBytes) {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := false
	for epoch, n := range some {
		g.epochs[epoch] += n
		due = due || g.epochs[epoch] >= goneBytesDue
	}
	if due {
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
}

// take returns the epochs of which at least so much was given up, and forgets that.
func (g *gone) take(least uint64) (epochs []uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, epoch := range slices.Sorted(maps.Keys(g.epochs)) {
		if g.epochs[epoch] >= least {
			epochs = append(epochs, epoch)
			delete(g.epochs, epoch)
		}
	}
	return epochs
}

func (g *gone) has(epoch uint32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.epochs[epoch]
	return ok
}

// loadGone reads which epochs are due.
func loadGone(r pebble.Reader) (goneBytes, error) {
	prefix := []byte(keyGone)
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return nil, err
	}
	epochs := goneBytes{}
	for ok := it.First(); ok; ok = it.Next() {
		if key := it.Key(); len(key) == len(prefix)+4 {
			epochs[binary.BigEndian.Uint32(key[len(prefix):])] = 0
		}
	}
	return epochs, it.Close()
}

// begin starts who gives back.
func (g *gone) begin(j *Journal) {
	ctx, stop := context.WithCancel(context.Background())
	g.wake, g.stop, g.done = make(chan struct{}, 1), stop, make(chan struct{})
	go func() {
		defer close(g.done)
		t := time.NewTicker(goneEvery)
		defer t.Stop()
		for {
			least := uint64(0)
			select {
			case <-t.C:
			case <-g.wake:
				least = goneBytesDue
			case <-ctx.Done():
				return
			}
			if err := j.giveBack(ctx, least); err != nil && ctx.Err() == nil {
				j.o.Logger.Warn("journal: the room of what was trimmed is not given back; it is tried again", "dir", j.dir, "err", j.explain(err))
			}
		}
	}()
}

// end stops who gives back, and waits for it.
func (g *gone) end() {
	g.stop()
	<-g.done
}

// giveBack merges the epochs of which at least so much was given up.
func (j *Journal) giveBack(ctx context.Context, least uint64) error {
	epochs := j.gone.take(least)
	for n, epoch := range epochs {
		from := appendEpochPrefix(nil, epoch)
		if err := j.db.Compact(ctx, from, prefixEnd(bytes.Clone(from)), false); err != nil {
			again := goneBytes{}
			for _, epoch := range epochs[n:] {
				again[epoch] = 0
			}
			j.gone.add(again)
			return err
		}
		if err := j.gaveBack(epoch); err != nil {
			return err
		}
	}
	return nil
}

// gaveBack forgets that an epoch is due, unless it is again.
func (j *Journal) gaveBack(epoch uint32) error {
	j.appendMu.Lock()
	defer j.appendMu.Unlock()
	if j.gone.has(epoch) {
		return nil
	}
	if err := j.failure(); err != nil {
		return err
	}
	b := j.db.NewBatch()
	if err := b.Delete(appendGoneKey(nil, epoch), nil); err != nil {
		return err
	}
	if err := j.write(b, false); err != nil {
		return err
	}
	return b.Close()
}
