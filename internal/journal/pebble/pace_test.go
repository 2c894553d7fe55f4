package pebble

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// paced runs f in fake time and returns how long it took.
func paced(t *testing.T, p *pacer, f func()) (took time.Duration) {
	synctest.Test(t, func(*testing.T) {
		p.start()
		start := time.Now()
		f()
		took = time.Since(start)
	})
	return took
}

const paceBlock = 16 << 10

func keepsUp() bool { return false }

// TestPacerHoldsBack: background writes come at the base rate when nothing is
// appended, and at a multiple of the log's rate when something is.
func TestPacerHoldsBack(t *testing.T) {
	p := &pacer{behind: keepsUp}
	idle := paced(t, p, func() {
		for range 10 * paceBase / paceBlock {
			p.wait(paceBlock)
		}
	})
	if idle < 9*time.Second || idle > 11*time.Second {
		t.Errorf("ten times the base rate took %s", idle)
	}
	p = &pacer{behind: keepsUp}
	busy := paced(t, p, func() {
		for range 10 * paceBase / paceBlock {
			p.logged(paceBlock / paceShare)
			p.wait(paceBlock)
		}
	})
	if busy > time.Second {
		t.Errorf("what the log had paid for took %s", busy)
	}
}

// TestPacerLetsGo: nobody waits when the store falls behind, before start and
// after stop.
func TestPacerLetsGo(t *testing.T) {
	write := func(p *pacer) {
		for range 10 * paceBase / paceBlock {
			p.wait(paceBlock)
		}
	}
	p := &pacer{behind: func() bool { return true }}
	if took := paced(t, p, func() { write(p) }); took > 2*paceLook {
		t.Errorf("while behind, writing took %s", took)
	}
	p = &pacer{behind: keepsUp}
	took := paced(t, p, func() {
		time.AfterFunc(time.Second, p.stop)
		write(p)
	})
	if took > 2*time.Second {
		t.Errorf("stopped after a second, writing took %s", took)
	}
	synctest.Test(t, func(*testing.T) {
		p := &pacer{behind: keepsUp}
		start := time.Now()
		write(p)
		if took := time.Since(start); took != 0 {
			t.Errorf("before start, writing took %s", took)
		}
	})
}

// TestWhatIsPaced: tables are held back, logs pay, nothing else matters.
func TestWhatIsPaced(t *testing.T) {
	for category, want := range map[vfs.DiskWriteCategory]float64{
		"pebble-memtable-flush": -1, "pebble-compaction": -1, "pebble-wal": paceShare, "pebble-manifest": 0, vfs.WriteCategoryUnspecified: 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			fs := pacedFS{vfs.NewMem(), &pacer{behind: keepsUp}}
			fs.p.start()
			f, err := fs.Create("f", category)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Write(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			if fs.p.credit != want*1000 {
				t.Errorf("%q: credit %v after a write, want %v", category, fs.p.credit, want*1000)
			}
		})
	}
}

// Tables in memory were counted as cache and left nothing for blocks: every
// look-up of an id read a filter from disk.
func TestCacheIsForBlocks(t *testing.T) {
	j := open(t, vfs.NewMem())
	defer closeJournal(t, j)
	o := j.engineOptions()
	if tables := int64(o.MemTableStopWritesThreshold+1) * int64(o.MemTableSize); o.CacheSize < j.o.CacheBytes+tables {
		t.Errorf("cache of %d bytes, of which tables may take %d; %d are to be for blocks", o.CacheSize, tables, j.o.CacheBytes)
	}
}
