package pebble

import (
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
)

// fail notes that nothing can be made durable any more, and reports it once.
func (j *Journal) fail(cause error) {
	if !j.failed.CompareAndSwap(nil, &cause) {
		return
	}
	j.o.Logger.Error("journal: cannot store durably any more; the process must end", "dir", j.dir, "err", cause)
	j.o.OnFatal(cause)
}

// failure returns im.ErrJournalFailed with its cause, nil while all is well.
func (j *Journal) failure() error {
	if p := j.failed.Load(); p != nil {
		return fmt.Errorf("%w: %w", im.ErrJournalFailed, *p)
	}
	return nil
}

// commit makes a batch durable. On an error the journal has failed, and whether
// the batch comes back after a restart is unknown; it stays invisible until then.
func (j *Journal) commit(b *pebble.Batch) error { return j.write(b, true) }

// write writes a batch. One that is not synced becomes durable with the next one
// that is.
func (j *Journal) write(b *pebble.Batch, sync bool) (err error) {
	defer func() {
		// Pebble panics when its log refuses a write after an earlier failure, or
		// cannot be continued in a new file.
		if r := recover(); r != nil {
			err = fmt.Errorf("commit: %v", r)
		}
		if err != nil {
			j.fail(err)
			err = fmt.Errorf("%w: %w", im.ErrOutcomeUnknown, j.failure())
		}
	}()
	if noSync || !sync {
		return j.db.Apply(b, pebble.NoSync)
	}
	// Waiting apart from applying returns a failed fsync as an error; Apply would
	// end the process.
	if err := j.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return err
	}
	j.metrics.fsync()
	return b.SyncWait()
}

// engineLogger is Pebble's log. Its routine remarks are left out.
type engineLogger struct{ j *Journal }

func (engineLogger) Infof(string, ...any) {}

func (l engineLogger) Errorf(format string, args ...any) {
	l.j.o.Logger.Warn("journal: " + fmt.Sprintf(format, args...))
}

// Fatalf must not return: Pebble goes on as if its state were sound. It ends the
// goroutine, should OnFatal return.
func (l engineLogger) Fatalf(format string, args ...any) {
	l.j.fail(fmt.Errorf(format, args...))
	runtime.Goexit()
}
