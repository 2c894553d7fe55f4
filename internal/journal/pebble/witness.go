package pebble

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The witness is a small file beside the journal that remembers the last
// position known to be durable, and the chain value there. A log whose tail was
// cut off, or an older copy put in its place, opens without an error in any
// log-structured store; compared with the witness it does not.
//
// It has two slots, written in turn, each in a disk block of its own: a torn
// write leaves the other. It is written behind the commits, so it is never ahead
// of the journal, and behind it by what was committed in the last 20 ms.
const (
	witnessName     = "witness"
	witnessMagic    = "skeinwt1"
	witnessSlotSize = 36
	witnessSlotStep = 4096
	witnessInterval = 20 * time.Millisecond
)

// sighting is what the witness saw.
type sighting struct {
	pos   uint64
	chain uint64
}

func appendSlot(dst []byte, gen uint64, s sighting) []byte {
	dst = append(dst, witnessMagic...)
	dst = binary.BigEndian.AppendUint64(dst, gen)
	dst = binary.BigEndian.AppendUint64(dst, s.pos)
	dst = binary.BigEndian.AppendUint64(dst, s.chain)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst, crc32.MakeTable(crc32.Castagnoli)))
}

func parseSlot(b []byte) (gen uint64, s sighting, ok bool) {
	if len(b) < witnessSlotSize || string(b[:8]) != witnessMagic {
		return 0, s, false
	}
	if crc32.Checksum(b[:32], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(b[32:36]) {
		return 0, s, false
	}
	s.pos, s.chain = binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint64(b[24:])
	return binary.BigEndian.Uint64(b[8:]), s, true
}

// readWitness returns the newest slot; found is false when there is no file or
// no slot in it is whole.
func readWitness(fs vfs.FS, path string) (gen uint64, s sighting, found bool, err error) {
	f, err := fs.Open(path)
	if oserror.IsNotExist(err) {
		return 0, s, false, nil
	}
	if err != nil {
		return 0, s, false, err
	}
	defer f.Close()
	for i := range int64(2) {
		var b [witnessSlotSize]byte
		if _, err := f.ReadAt(b[:], i*witnessSlotStep); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, s, false, err
		}
		if g, seen, ok := parseSlot(b[:]); ok && (!found || g > gen) {
			gen, s, found = g, seen, true
		}
	}
	return gen, s, found, nil
}

// witness writes sightings behind the commits.
type witness struct {
	f     vfs.File
	gen   uint64
	fail  func(error)
	note  chan struct{} // holds one: there is something to write
	syncs atomic.Uint64 // what was written durably
	stop  chan struct{}
	done  chan struct{}

	mu   sync.Mutex
	last sighting // what is durable in the journal
}

// openWitness opens the file and makes s durable in it, so that its absence
// later on means something.
func openWitness(fs vfs.FS, path string, gen uint64, s sighting, fail func(error)) (*witness, error) {
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	w := &witness{
		f: f, gen: gen, last: s, fail: fail,
		note: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err = w.write(s); err == nil {
		if err = f.Sync(); err == nil {
			err = syncDir(fs, fs.PathDir(path))
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	go w.run()
	return w, nil
}

// saw takes note of a durable commit. It does not wait.
func (w *witness) saw(s sighting) {
	w.mu.Lock()
	w.last = s
	w.mu.Unlock()
	select {
	case w.note <- struct{}{}:
	default:
	}
}

func (w *witness) write(s sighting) error {
	var buf [witnessSlotSize]byte
	w.gen++
	slot := appendSlot(buf[:0], w.gen, s)
	if _, err := w.f.WriteAt(slot, int64(w.gen&1)*witnessSlotStep); err != nil {
		return err
	}
	w.syncs.Add(1)
	return w.f.SyncData()
}

func (w *witness) flush() {
	w.mu.Lock()
	s := w.last
	w.mu.Unlock()
	err := w.write(s)
	switch {
	case err == nil:
	case errors.Is(err, syscall.ENOSPC):
		// Only where files are not overwritten in place. The slot before stays valid,
		// and Append stops by itself on a full disk.
	default:
		w.fail(err)
	}
}

// run writes at most one sighting per witnessInterval.
func (w *witness) run() {
	defer close(w.done)
	t := time.NewTimer(0)
	<-t.C
	for {
		select {
		case <-w.note:
		case <-w.stop:
			return
		}
		w.flush()
		t.Reset(witnessInterval)
		select {
		case <-t.C:
		case <-w.stop:
			return
		}
	}
}

// close writes the last sighting and closes the file. No commit may follow.
func (w *witness) close() error {
	close(w.stop)
	<-w.done
	w.mu.Lock()
	s := w.last
	w.mu.Unlock()
	err := w.write(s)
	return errors.Join(err, w.f.Close())
}

// abandon ends the goroutine without writing: the disk failed.
func (w *witness) abandon() {
	close(w.stop)
	<-w.done
	_ = w.f.Close()
}

// syncDir makes the names in a directory durable.
func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// makeDir makes a directory and its parents, durably.
func makeDir(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(dir); err == nil {
		return nil
	}
	parent := fs.PathDir(dir)
	if parent != dir {
		if err := makeDir(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncDir(fs, parent)
}
