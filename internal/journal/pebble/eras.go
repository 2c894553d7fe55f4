package pebble

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

const (
	// eraLength is how long an era lasts at most while something is stored. What was
	// given out in it by a machine that then went back, memory and all, cannot be
	// told from what it gives out afterwards.
	eraLength = time.Hour
	// eraCheck is how often is looked whether a new era is due.
	eraCheck = 5 * time.Second
	// clockJump is how far the wall clock may run from the monotonic one between two
	// looks: a machine that was stopped and resumed is further off.
	clockJump = 2 * time.Second
)

// appendEraKey numbers the eras, so that they come in order.
func appendEraKey(dst []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, spaceEra), n)
}

// eras are those of this history. The slice is replaced, never changed.
type eras struct {
	list im.Eras // guarded by Journal.mu
	next uint64  // number of the next one; appendMu
}

// loadEras reads the eras, in order, and the number of the next one.
func loadEras(r pebble.Reader) (es eras, err error) {
	o := spaceBounds(spaceEra)
	it, err := r.NewIter(&o)
	if err != nil {
		return es, err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var v []byte
		v, err = it.ValueAndErr()
		if err == nil && (len(v) != 16 || len(it.Key()) != 9) {
			err = errors.New("the keys that tell of eras are damaged")
		}
		if err == nil {
			es.list = append(es.list, im.Era{ID: binary.BigEndian.Uint64(v), Begin: binary.BigEndian.Uint64(v[8:])})
			es.next = binary.BigEndian.Uint64(it.Key()[1:]) + 1
		}
	}
	return es, errors.Join(err, it.Close())
}

// beginEra begins an era at the last durable position. Nothing is appended
// meanwhile, so no position beyond that is given out in the era before. Caller
// holds appendMu, or has the journal alone.
func (j *Journal) beginEra(commit func(*pebble.Batch) error) error {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	e := im.Era{ID: binary.BigEndian.Uint64(id[:]), Begin: j.appender.last.pos}
	b := j.db.NewBatch()
	defer func() { _ = b.Close() }()
	v := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, e.ID), e.Begin)
	err := b.Set(appendEraKey(nil, j.eras.next), v, nil)
	if err == nil && j.eras.next >= im.MaxEras {
		err = b.DeleteRange(appendEraKey(nil, 0), appendEraKey(nil, j.eras.next-im.MaxEras+1), nil)
	}
	if err != nil {
		return err
	}
	if err := commit(b); err != nil {
		return err
	}
	j.eras.next++
	j.mu.Lock()
	j.eras.list = j.eras.list.And(e)
	j.mu.Unlock()
	return nil
}

// openEra reads the eras there are and begins that of this opening.
func (j *Journal) openEra() (err error) {
	if j.eras, err = loadEras(j.db); err == nil {
		err = j.beginEra(func(b *pebble.Batch) error { return b.Commit(pebble.Sync) })
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.dir, j.explain(err))
	}
	return nil
}

// place is the last durable position in the era that goes on.
func (j *Journal) place() im.Place {
	j.mu.Lock()
	defer j.mu.Unlock()
	return im.Place{Era: j.eras.list[len(j.eras.list)-1].ID, Pos: j.durable}
}

// Holds tells whether a position is of this history.
func (j *Journal) Holds(_ context.Context, p im.Position) (bool, error) {
	if err := j.enter(); err != nil {
		return false, err
	}
	defer j.life.RUnlock()
	j.mu.Lock()
	list, now := j.eras.list, j.durable
	j.mu.Unlock()
	at, one := p.One()
	return one && list.Hold(at, now), nil
}

// renewEra begins an era if the one that goes on has given out anything.
func (j *Journal) renewEra() error {
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	j.appendMu.Lock()
	defer j.appendMu.Unlock()
	if j.failure() != nil || j.space.check(0) != nil || j.eras.list[len(j.eras.list)-1].Begin == j.appender.last.pos {
		return nil
	}
	return j.beginEra(j.commit)
}

// keepEras begins eras in time, until the journal is closed: a machine that is
// put back to an earlier moment while it runs goes on in the era it was in.
func (j *Journal) keepEras() {
	defer close(j.erasDone)
	t := time.NewTicker(eraCheck)
	defer t.Stop()
	last := time.Now()
	began := last
	for {
		select {
		case <-t.C:
		case <-j.stopEras:
			return
		}
		now := time.Now()
		due := now.Sub(began) >= eraLength || jumped(now.Round(0).Sub(last.Round(0)), now.Sub(last))
		last = now
		if !due {
			continue
		}
		if err := j.renewEra(); err != nil {
			j.o.Logger.Warn("journal: begin an era", "dir", j.dir, "err", err)
			continue
		}
		began = now
	}
}

// jumped tells whether the wall clock was set, from how far both clocks went.
func jumped(wall, monotonic time.Duration) bool { return (wall - monotonic).Abs() > clockJump }
