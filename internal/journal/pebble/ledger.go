package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The ledger is a small file beside the store that remembers which files the
// store cannot do without: how far each manifest was durable, with a hash of it,
// and which logs there are. Pebble takes a damaged manifest for one that ends
// earlier, believes that the files it does not find in it are left-overs, and
// deletes them when it is opened; a log that is gone it does not miss. Compared
// with the ledger, before anything is opened for writing, both are found.
//
// Nothing is deleted, reused or made the current manifest before the ledger
// knows the manifest that allows it (ledgerFS). So what the ledger does not know
// yet can be lost without a loss: the edit that a crash cut off, whose files are
// all still there.
//
// It has two slots with the same content, written one after the other: a torn
// write, or a damaged block, leaves one.
const (
	ledgerName     = "files"
	ledgerMagic    = "skeinfl1"
	ledgerSlotStep = 16 << 10
	ledgerHeader   = 8 + 8 + 4
)

// sealed is how far a manifest was durable.
type sealed struct {
	size int64
	hash uint64
}

// ledger is what is written there.
type ledger struct {
	fs        vfs.FS // the one below ledgerFS
	dir, path string

	// writing orders seals; taken before mu.
	writing sync.Mutex
	f       vfs.File

	mu        sync.Mutex
	gen       uint64
	changed   bool // since the last seal
	manifests map[string]sealed
	logs      map[string]bool
}

func isManifest(name string) bool { return strings.HasPrefix(name, "MANIFEST-") }
func isLog(name string) bool      { return strings.HasSuffix(name, ".log") }
func isTable(name string) bool    { return strings.HasSuffix(name, ".sst") }

// readLedger returns the newest slot, nil when there is no file or no slot in it
// is whole. It changes nothing.
func readLedger(fs vfs.FS, dir string) (*ledger, error) {
	l := &ledger{fs: fs, dir: dir, path: fs.PathJoin(dir, ledgerName)}
	f, err := fs.Open(l.path)
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found := false
	for i := range int64(2) {
		b := make([]byte, ledgerSlotStep)
		n, err := f.ReadAt(b, i*ledgerSlotStep)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		found = l.parse(b[:n]) || found
	}
	if !found {
		return nil, nil
	}
	return l, nil
}

func (l *ledger) encode(gen uint64) ([]byte, error) {
	b := binary.BigEndian.AppendUint64([]byte(ledgerMagic), gen)
	b = append(b, 0, 0, 0, 0) // the length
	b = binary.AppendUvarint(b, uint64(len(l.manifests)))
	for _, name := range slices.Sorted(maps.Keys(l.manifests)) {
		b = appendName(b, 0, name)
		b = binary.BigEndian.AppendUint64(b, uint64(l.manifests[name].size))
		b = binary.BigEndian.AppendUint64(b, l.manifests[name].hash)
	}
	b = binary.AppendUvarint(b, uint64(len(l.logs)))
	for _, name := range slices.Sorted(maps.Keys(l.logs)) {
		b = appendName(b, 0, name)
	}
	binary.BigEndian.PutUint32(b[16:], uint32(len(b)-ledgerHeader))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	if len(b) > ledgerSlotStep {
		return nil, fmt.Errorf("the ledger of the journal's files has no room for %d manifests and %d logs", len(l.manifests), len(l.logs))
	}
	return b, nil
}

// parse takes a slot if it is whole and newer than what l has.
func (l *ledger) parse(b []byte) bool {
	if len(b) < ledgerHeader || string(b[:8]) != ledgerMagic {
		return false
	}
	gen, n := binary.BigEndian.Uint64(b[8:]), uint64(binary.BigEndian.Uint32(b[16:]))
	if uint64(len(b)) < ledgerHeader+n+4 {
		return false
	}
	end := ledgerHeader + n
	if crc32.Checksum(b[:end], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(b[end:]) || gen < l.gen {
		return false
	}
	b = b[ledgerHeader:end]
	name := func() string {
		s := string(b[2 : 2+b[1]])
		b = b[2+len(s):]
		return s
	}
	count := func() uint64 {
		c, n := binary.Uvarint(b)
		b = b[n:]
		return c
	}
	l.gen, l.manifests, l.logs = gen, map[string]sealed{}, map[string]bool{}
	for range count() {
		s := name()
		l.manifests[s] = sealed{int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}
		b = b[16:]
	}
	for range count() {
		l.logs[name()] = true
	}
	return true
}

// adoptLedger makes a ledger of what is there, for a store that has none. It
// refuses a manifest that does not end as it should.
func adoptLedger(fs vfs.FS, dir string, desc *pebble.DBDesc) (*ledger, error) {
	l := &ledger{fs: fs, dir: dir, path: fs.PathJoin(dir, ledgerName), changed: true, manifests: map[string]sealed{}, logs: map[string]bool{}}
	if !desc.Exists {
		return l, nil
	}
	s, err := readManifest(fs, desc.ManifestFilename)
	if err != nil {
		return nil, &FilesError{Dir: dir, File: fs.PathBase(desc.ManifestFilename), Reason: err.Error()}
	}
	l.manifests[fs.PathBase(desc.ManifestFilename)] = s
	names, err := fs.List(fs.PathJoin(dir, "db"))
	for _, name := range names {
		if isLog(name) {
			l.logs[name] = true
		}
	}
	return l, err
}

// readManifest hashes a manifest, all of whose records must be whole.
func readManifest(fs vfs.FS, path string) (s sealed, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	hash := xxhash.New()
	size := &counter{}
	records := record.NewReader(io.TeeReader(f, io.MultiWriter(hash, size)), 0)
	for {
		r, err := records.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if errors.Is(err, io.EOF) {
			return sealed{size.n, hash.Sum64()}, nil
		}
		if err != nil {
			return s, fmt.Errorf("it is damaged: %w", err)
		}
	}
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// check compares the store's files with the ledger. A *FilesError tells what is
// missing. It changes nothing.
func (l *ledger) check(desc *pebble.DBDesc) error {
	if !desc.Exists {
		// The first start was cut short, or everything is gone: the witness knows.
		l.manifests, l.logs, l.changed = map[string]sealed{}, map[string]bool{}, true
		return nil
	}
	db := l.fs.PathJoin(l.dir, "db")
	name := l.fs.PathBase(desc.ManifestFilename)
	s, known := l.manifests[name]
	if !known {
		return &FilesError{Dir: l.dir, File: name, Reason: "it is not a manifest that this journal was left with, as after restoring an older copy"}
	}
	if err := s.check(l.fs, desc.ManifestFilename); err != nil {
		return &FilesError{Dir: l.dir, File: name, Reason: err.Error()}
	}
	for _, log := range slices.Sorted(maps.Keys(l.logs)) {
		if _, err := l.fs.Stat(l.fs.PathJoin(db, log)); err != nil {
			return &FilesError{Dir: l.dir, File: log, Reason: err.Error()}
		}
	}
	return nil
}

// check reads a manifest as far as it was durable.
func (s sealed) check(fs vfs.FS, path string) error {
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := xxhash.New()
	n, err := io.Copy(hash, io.LimitReader(f, s.size))
	switch {
	case err != nil:
		return err
	case n < s.size:
		return fmt.Errorf("it has %d bytes, and had %d", n, s.size)
	case hash.Sum64() != s.hash:
		return errors.New("it holds something else than was written")
	}
	return nil
}

// seal makes what the ledger has to say durable, if there is anything new.
func (l *ledger) seal() (err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	if !l.changed {
		l.mu.Unlock()
		return nil
	}
	l.gen++
	b, err := l.encode(l.gen)
	l.changed = false
	l.mu.Unlock()
	if err == nil {
		err = l.write(b)
	}
	if err != nil {
		l.mu.Lock()
		l.changed = true
		l.mu.Unlock()
		return fmt.Errorf("the ledger of the journal's files: %w", err)
	}
	return nil
}

func (l *ledger) write(b []byte) (err error) {
	if l.f == nil {
		if l.f, err = l.fs.OpenReadWrite(l.path, vfs.WriteCategoryUnspecified); err != nil {
			l.f = nil
			return err
		}
		if err := syncDir(l.fs, l.dir); err != nil {
			return err
		}
	}
	for i := range int64(2) {
		if _, err := l.f.WriteAt(slices.Clone(b), i*ledgerSlotStep); err != nil {
			return err
		}
		if err := l.f.Sync(); err != nil {
			return err
		}
	}
	return nil
}

func (l *ledger) close() error {
	if l == nil || l.f == nil {
		return nil
	}
	return errors.Join(l.seal(), l.f.Close())
}

// grown notes that a manifest is durable so far.
func (l *ledger) grown(name string, s sealed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.manifests[name] != s {
		l.manifests[name], l.changed = s, true
	}
}

// gone notes that a file is about to go, and makes that durable.
func (l *ledger) gone(name string) error {
	l.mu.Lock()
	if _, ok := l.manifests[name]; ok || l.logs[name] {
		delete(l.manifests, name)
		delete(l.logs, name)
		l.changed = true
	}
	l.mu.Unlock()
	return l.seal()
}

// begun notes a new log, and makes that durable.
func (l *ledger) begun(name string) error {
	// A log that is known must be there, also when the power fails now.
	if err := syncDir(l.fs, l.fs.PathJoin(l.dir, "db")); err != nil {
		return err
	}
	l.mu.Lock()
	l.logs[name], l.changed = true, true
	l.mu.Unlock()
	return l.seal()
}
