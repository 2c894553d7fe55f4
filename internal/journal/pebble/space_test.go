package pebble

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/skein-im/skein/internal/im"
)

// smallDisk is a file system with a given amount of free space.
type smallDisk struct {
	vfs.FS
	free atomic.Uint64
	asks atomic.Int32
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	d.asks.Add(1)
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 1 << 40}, nil
}

// clock is a clock that tests move.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time        { return time.UnixMilli(1_700_000_000_000 + c.ms.Load()) }
func (c *clock) pass(by time.Duration) { c.ms.Add(by.Milliseconds()) }

func TestDiskFull(t *testing.T) {
	var c clock
	d := &smallDisk{FS: vfs.NewMem()}
	d.free.Store(1 << 30)
	j := open(t, d, func(o *Options) { o.Now = c.now })
	mustAppend(t, j, "grp:g", 1, 50)
	if n := d.asks.Load(); n > 3 {
		t.Errorf("asked %d times for the free space within 200 ms", n)
	}
	d.free.Store(defaultMinFree - 1)
	c.pass(spaceEvery)
	for n := 51; n < 54; n++ {
		if out, err := appendOne(j, message("grp:g", n)); !errors.Is(err, im.ErrJournalFull) || out.Status != im.AppendInvalid {
			t.Fatalf("append on a full disk: %+v, %v", out, err)
		}
	}
	requireMessages(t, j, "grp:g", 50)
	d.free.Store(1 << 30)
	if _, err := appendOne(j, message("grp:g", 51)); !errors.Is(err, im.ErrJournalFull) {
		t.Fatalf("asked too early: %v", err)
	}
	c.pass(spaceEvery)
	mustAppend(t, j, "grp:g", 51, 60)
	closeJournal(t, j)
	// A batch that would eat into what must stay free is refused by itself.
	d.free.Store(defaultMinFree + 1000)
	j = open(t, d, func(o *Options) { o.Now = c.now })
	big := message("grp:g", 61)
	big.Entry.Body = make([]byte, 2000)
	if _, err := appendOne(j, big); !errors.Is(err, im.ErrJournalFull) {
		t.Fatalf("append: %v", err)
	}
	mustAppend(t, j, "grp:g", 61, 61)
	closeJournal(t, j)
}

// TestWriteFindsDiskFull: something else filled the disk between two checks.
// The reserve saves the write that met it, and appends are refused from then on.
func TestWriteFindsDiskFull(t *testing.T) {
	var c clock
	mem := vfs.NewMem()
	d := &smallDisk{FS: mem}
	d.free.Store(1 << 30)
	var fail atomic.Bool
	reserve := mem.PathJoin(testDir, reserveName)
	fs := errorfs.Wrap(d, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if _, err := mem.Stat(reserve); err == nil && fail.Load() && op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".log") {
			return syscall.ENOSPC // while the reserve takes the space
		}
		return nil
	}))
	j := open(t, fs, func(o *Options) { o.Now = c.now })
	mustAppend(t, j, "grp:g", 1, 5)
	if _, err := mem.Stat(reserve); err != nil {
		t.Fatalf("no reserve: %v", err)
	}
	fail.Store(true)
	mustAppend(t, j, "grp:g", 6, 6)
	if _, err := mem.Stat(reserve); err == nil {
		t.Fatal("the reserve was not given up")
	}
	d.free.Store(1000)
	if _, err := appendOne(j, message("grp:g", 7)); !errors.Is(err, im.ErrJournalFull) {
		t.Fatalf("append: %v", err)
	}
	requireMessages(t, j, "grp:g", 6)
	fail.Store(false)
	d.free.Store(1 << 30)
	c.pass(spaceEvery)
	mustAppend(t, j, "grp:g", 7, 9)
	if _, err := mem.Stat(reserve); err != nil {
		t.Errorf("no new reserve: %v", err)
	}
	closeJournal(t, j)
}
