package pebble

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

// spaceEvery is how often the free space is asked for, at most.
const spaceEvery = 200 * time.Millisecond

// A write that fails for want of space would end the journal, so two things
// stand before it: Append refuses while less than MinFree is free, and should
// something else fill the disk between two checks, a reserve file is given up,
// the write is done again by vfs.OnDiskFull, and Append refuses from then on.
const (
	reserveName  = "reserve"
	reserveBytes = 8 << 20
)

// space watches the free space of the journal's disk.
type space struct {
	fs      vfs.FS // below vfs.OnDiskFull
	dir     string
	min     uint64
	reserve string
	now     func() time.Time
	log     *slog.Logger
	hit     atomic.Bool // a write met ENOSPC since the last check

	mu      sync.Mutex
	checked time.Time
	full    bool
	free    uint64
}

func newSpace(o *Options, dir string) *space {
	s := &space{fs: o.FS, dir: dir, reserve: o.FS.PathJoin(dir, reserveName), now: o.Now, log: o.Logger}
	if o.MinFree > 0 {
		s.min = uint64(o.MinFree)
	}
	return s
}

// ranOut is called by vfs.OnDiskFull while the failed write waits to be done again.
func (s *space) ranOut() {
	s.hit.Store(true)
	if err := s.fs.Remove(s.reserve); err == nil {
		s.log.Error("journal: the disk ran full; the reserve was given up", "dir", s.dir)
	}
}

// check returns im.ErrJournalFull while there is no room for another n bytes.
func (s *space) check(n int) error {
	if s.min == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	hit := s.hit.Swap(false)
	if since := now.Sub(s.checked); hit || s.checked.IsZero() || since >= spaceEvery || since < 0 {
		s.checked = now
		s.look(hit)
	}
	if s.full || s.free < s.min+uint64(n) {
		return fmt.Errorf("%w: %d bytes are free in %s, %d must stay", im.ErrJournalFull, s.free, s.dir, s.min)
	}
	s.free -= min(s.free, uint64(n))
	return nil
}

// look asks the file system. hit means a write failed for want of space, which
// counts as full until the next look.
func (s *space) look(hit bool) {
	u, err := s.fs.GetDiskUsage(s.dir)
	switch {
	case errors.Is(err, vfs.ErrUnsupported):
		s.free = 1 << 62
	case err != nil:
		s.log.Warn("journal: cannot ask for the free disk space", "dir", s.dir, "err", err)
		s.free = 1 << 62
	default:
		s.free = u.AvailBytes
	}
	was := s.full
	s.full = hit || s.free < s.min
	switch {
	case s.full && !was:
		s.log.Error("journal: disk full, nothing is stored until there is room", "dir", s.dir, "free", s.free, "keep", s.min)
	case !s.full && was:
		s.log.Info("journal: there is room again", "dir", s.dir, "free", s.free)
	}
	if !s.full && (was || !s.reserved()) {
		s.keepReserve()
	}
}

func (s *space) reserved() bool {
	_, err := s.fs.Stat(s.reserve)
	return !oserror.IsNotExist(err)
}

// keepReserve makes the reserve file when there is plenty of room for it.
func (s *space) keepReserve() {
	if s.free < s.min+2*reserveBytes || s.free == 1<<62 || s.reserved() {
		return
	}
	f, err := s.fs.Create(s.reserve, vfs.WriteCategoryUnspecified)
	if err == nil {
		err = errors.Join(f.Preallocate(0, reserveBytes), f.Close())
	}
	if err != nil {
		s.log.Warn("journal: no reserve for a full disk", "dir", s.dir, "err", err)
	}
}

// RoomToOpen is how many bytes opening the journal in dir writes at most: what its logs
// hold is put into tables. 0 for a new one.
func RoomToOpen(dir string) (n uint64, err error) {
	logs, err := filepath.Glob(filepath.Join(dir, "db", "*.log"))
	for _, path := range logs {
		if st, err := os.Stat(path); err == nil { // gone: it holds nothing
			n += uint64(st.Size())
		}
	}
	return n, err
}

// GiveUpReserve removes what the journal in dir keeps for a full disk, and tells whether
// there was any. It is made again when there is room. Nobody may have the journal open.
func GiveUpReserve(dir string) bool {
	return os.Remove(filepath.Join(dir, reserveName)) == nil
}
