package pebble

import (
	"io"
	"log/slog"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/journaltest"
)

// quiet is a logger for tests that provoke complaints.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestConformanceOnDisk(t *testing.T) {
	journaltest.Run(t, journaltest.Harness{New: func(t testing.TB) journaltest.Store {
		dir, copied := t.TempDir(), t.TempDir()
		replace := func(t testing.TB, to, from string) {
			t.Helper()
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		}
		return journaltest.Store{
			Open: func(t testing.TB) im.Journal {
				t.Helper()
				j, err := Open(dir, Options{MinFree: -1})
				if err != nil {
					t.Fatal(err)
				}
				return j
			},
			Save:    func(t testing.TB) { replace(t, copied, dir) },
			PutBack: func(t testing.TB) { replace(t, dir, copied) },
		}
	}})
}

// crashStore is a store in memory whose power can be cut.
func crashStore(t testing.TB) journaltest.Store { return epochStore(t, 0) }

// epochStore is one whose epochs, and what is read of them by position, are small.
func epochStore(_ testing.TB, epochBytes uint64) journaltest.Store {
	fs := vfs.NewCrashableMem()
	var saved *vfs.MemFS
	var open *Journal
	return journaltest.Store{
		Open: func(t testing.TB) im.Journal {
			t.Helper()
			j, err := Open("/data/journal", Options{FS: fs, epochBytes: epochBytes, windowBytes: int(epochBytes)})
			if err != nil {
				t.Fatal(err)
			}
			open = j
			return j
		},
		Crash: func(t testing.TB) {
			t.Helper()
			// The clone is the disk at this moment; what the old engine does to its own
			// disk afterwards is of no consequence.
			after := fs.CrashClone(vfs.CrashCloneCfg{})
			if err := open.Close(); err != nil {
				t.Fatal(err)
			}
			fs = after
		},
		Save:         func(testing.TB) { saved = fs.CrashClone(vfs.CrashCloneCfg{}) },
		PutBack:      func(testing.TB) { fs = saved.CrashClone(vfs.CrashCloneCfg{}) },
		SavesRunning: true,
	}
}

func TestConformanceInMemory(t *testing.T) {
	journaltest.Run(t, journaltest.Harness{New: crashStore})
}

// TestConformanceManyEpochs: every append, or every few, begins an epoch, so
// that conversations lie in many segments.
func TestConformanceManyEpochs(t *testing.T) {
	for _, bytes := range []uint64{1, 1000} {
		journaltest.Run(t, journaltest.Harness{New: func(t testing.TB) journaltest.Store { return epochStore(t, bytes) }})
	}
}
