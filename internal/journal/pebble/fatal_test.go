package pebble

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// failing is a file system whose syncs of logs fail when asked to.
func failing(fs vfs.FS, fail *atomic.Bool, cause error, kinds ...errorfs.OpKind) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fail.Load() && strings.HasSuffix(op.Path, ".log") {
			for _, k := range kinds {
				if op.Kind == k {
					return cause
				}
			}
		}
		return nil
	}))
}

// TestFsyncFails: one failed fsync, even if the next would succeed, and nothing
// is acknowledged any more.
func TestFsyncFails(t *testing.T) {
	for name, kinds := range map[string][]errorfs.OpKind{
		"fsync": {errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
		"write": {errorfs.OpFileWrite},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			var fail atomic.Bool
			fatal := make(chan error, 10)
			j := open(t, failing(mem, &fail, syscall.EIO, kinds...), func(o *Options) { o.OnFatal = func(err error) { fatal <- err } })
			mustAppend(t, j, "grp:g", 1, 3)
			fail.Store(true)
			if out, err := appendOne(j, message("grp:g", 4)); !errors.Is(err, im.ErrJournalFailed) || !errors.Is(err, im.ErrOutcomeUnknown) || !errors.Is(err, syscall.EIO) || out.Status != im.AppendInvalid {
				t.Fatalf("append: %+v, %v", out, err)
			}
			if err := <-fatal; !errors.Is(err, syscall.EIO) {
				t.Fatalf("OnFatal got %v", err)
			}
			fail.Store(false)
			for n := 4; n < 8; n++ {
				if out, err := appendOne(j, message("grp:g", n)); !errors.Is(err, im.ErrJournalFailed) || errors.Is(err, im.ErrOutcomeUnknown) || out.Status != im.AppendInvalid {
					t.Fatalf("append %d after the failure: %+v, %v", n, out, err)
				}
			}
			if err := j.SetMarks(context.Background(), []im.Mark{{User: "u", Conversation: "grp:g", Read: 1}}, im.MarkWait{}); !errors.Is(err, im.ErrJournalFailed) {
				t.Fatalf("SetMarks: %v", err)
			}
			// The batch that failed stays invisible; what was acknowledged is read.
			requireMessages(t, j, "grp:g", 3)
			if err := j.Close(); !errors.Is(err, im.ErrJournalFailed) {
				t.Fatalf("Close: %v", err)
			}
			if len(fatal) != 0 {
				t.Fatal("OnFatal was called again")
			}
			// The next process finds all that was acknowledged.
			j = open(t, mem.CrashClone(vfs.CrashCloneCfg{}))
			requireMessages(t, j, "grp:g", 3)
			closeJournal(t, j)
		})
	}
}

// TestFatalNeverReturns: should OnFatal return, Pebble's own fatal errors still
// do not go back into Pebble, and Append refuses.
func TestFatalNeverReturns(t *testing.T) {
	var got atomic.Int32
	j := open(t, vfs.NewMem(), func(o *Options) { o.OnFatal = func(error) { got.Add(1) } })
	done := make(chan bool)
	go func() {
		returned := false
		defer func() { done <- returned }()
		engineLogger{j}.Fatalf("MANIFEST %s", "gone")
		returned = true
	}()
	if <-done || got.Load() != 1 {
		t.Fatalf("Fatalf returned, or OnFatal was called %d times", got.Load())
	}
	if _, err := appendOne(j, message("grp:g", 1)); !errors.Is(err, im.ErrJournalFailed) {
		t.Fatalf("append: %v", err)
	}
}

// TestFatalEndsGoroutine: an OnFatal that does not return holds no lock that
// keeps others from being refused.
func TestFatalEndsGoroutine(t *testing.T) {
	var fail atomic.Bool
	j := open(t, failing(vfs.NewMem(), &fail, syscall.EIO, errorfs.OpFileSync, errorfs.OpFileSyncData), func(o *Options) { o.OnFatal = func(error) { runtime.Goexit() } })
	fail.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = appendOne(j, message("grp:g", 1))
		t.Error("the append came back")
	}()
	<-done
	if _, err := appendOne(j, message("grp:g", 2)); !errors.Is(err, im.ErrJournalFailed) {
		t.Fatalf("append: %v", err)
	}
}

// heldSync is a disk that holds up the next fsync of the log, once it is told to:
// entered is closed then, and it goes on when release is.
func heldSync() (fs vfs.FS, hold *atomic.Bool, entered, release chan struct{}) {
	hold, entered, release = new(atomic.Bool), make(chan struct{}), make(chan struct{})
	return errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) && strings.HasSuffix(op.Path, ".log") && hold.CompareAndSwap(true, false) {
			close(entered)
			<-release
		}
		return nil
	})), hold, entered, release
}

// TestUnsyncedIsInvisible: while an fsync is under way nobody reads its batch,
// neither as entry nor as head nor as position.
func TestUnsyncedIsInvisible(t *testing.T) {
	fs, hold, entered, release := heldSync()
	j := open(t, fs)
	ctx := context.Background()
	mustAppend(t, j, "grp:g", 1, 3)
	hold.Store(true)
	done := make(chan error)
	go func() {
		_, err := appendOne(j, message("grp:g", 4))
		done <- err
	}()
	<-entered
	requireMessages(t, j, "grp:g", 3)
	for _, backward := range []bool{false, true} {
		if got, err := j.Read(ctx, "grp:g", 4, backward, 1); err != nil || backward != (len(got) == 1 && got[0].Seq == 3) || !backward && len(got) != 0 {
			t.Errorf("backward %v: %v %v", backward, got, err)
		}
	}
	j.mu.Lock()
	j.heads = cache.New[im.ConversationID, *conversation](cachedHeads) // as if it had been evicted
	j.mu.Unlock()
	out := make([]im.Head, 1)
	if err := j.Heads(ctx, []im.ConversationID{"grp:g"}, out); err != nil || out[0].Seq != 3 {
		t.Errorf("head %+v, %v", out[0], err)
	}
	if p, err := j.Position(ctx); err != nil || p.At(0) != 3 {
		t.Errorf("position %+v, %v", p, err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	requireMessages(t, j, "grp:g", 4)
	if err := j.Heads(ctx, []im.ConversationID{"grp:g"}, out); err != nil || out[0].Seq != 4 {
		t.Errorf("head after the append: %+v, %v", out[0], err)
	}
	closeJournal(t, j)
}

// TestOneAnswerForMarks: when too many wait for marks, SetMarks writes them itself.
// When that write fails, each hears it once: by Stored, or by the error, not by
// both. The waiter may be memory that is in use again by then.
func TestOneAnswerForMarks(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var fail atomic.Bool
	j := open(t, failing(mem, &fail, syscall.EIO, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo), func(o *Options) { o.OnFatal = func(error) {} })
	mustAppend(t, j, "grp:g", 1, 2)
	fail.Store(true)
	told := make([]atomic.Int32, maxDirtyMarks+1)
	refused := make([]bool, len(told))
	mark := []im.Mark{{User: "u", Conversation: "grp:g", Received: 1}}
	set := func(i int) {
		err := j.SetMarks(context.Background(), mark, im.MarkWait{Stored: func(error) { told[i].Add(1) }})
		refused[i] = err != nil
	}
	j.flushMu.Lock() // nothing is written before all of them wait
	for i := range maxDirtyMarks {
		set(i)
	}
	last := make(chan struct{})
	go func() {
		set(maxDirtyMarks)
		close(last)
	}()
	for waiting := 0; waiting <= maxDirtyMarks; runtime.Gosched() {
		j.mu.Lock()
		waiting = len(j.marks.waiters)
		j.mu.Unlock()
	}
	j.flushMu.Unlock()
	<-last
	_ = j.Close()
	for i := range told {
		if n := told[i].Load(); refused[i] != (n == 0) || n > 1 {
			t.Fatalf("waiter %d: refused is %v, and it was called %d times", i, refused[i], n)
		}
	}
}
