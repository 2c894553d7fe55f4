package pebble

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/skein-im/skein/internal/im"
)

const testDir = "/data/journal"

func open(t testing.TB, fs vfs.FS, change ...func(*Options)) *Journal {
	t.Helper()
	o := Options{FS: fs, Logger: quiet(), OnFatal: func(err error) { t.Errorf("fatal: %v", err) }}
	for _, f := range change {
		f(&o)
	}
	j, err := Open(testDir, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func closeJournal(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func message(c im.ConversationID, n int) im.Append {
	var random [10]byte
	random[8], random[9] = byte(n>>8), byte(n)
	m := im.Message{
		Conversation: c, ID: im.NewMessageID(time.UnixMilli(1_700_000_000_000+int64(n)), random), Kind: im.EntryMessage,
		Content: im.Content{Type: "text", Body: fmt.Append(nil, "message ", n), Text: true},
	}
	return im.Append{Entry: im.Entry{Conversation: c, ID: m.ID, Sender: "a", Kind: m.Kind, Content: m.Content}, Hash: m.Hash()}
}

func appendOne(j *Journal, it im.Append) (im.Appended, error) {
	out := make([]im.Appended, 1)
	err := j.Append(context.Background(), []im.Append{it}, out)
	return out[0], err
}

func mustAppend(t testing.TB, j *Journal, c im.ConversationID, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		out, err := appendOne(j, message(c, n))
		if err != nil || out.Status != im.Stored || out.Seq != uint64(n) {
			t.Fatalf("append %d: %+v, %v", n, out, err)
		}
	}
}

// requireMessages requires exactly messages 1 … n.
func requireMessages(t testing.TB, j *Journal, c im.ConversationID, n int) {
	t.Helper()
	var got int
	for {
		entries, err := j.Read(context.Background(), c, uint64(got)+1, false, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			got++
			if e.Seq != uint64(got) || string(e.Content.Body) != fmt.Sprint("message ", got) {
				t.Fatalf("entry %d: seq %d %q", got, e.Seq, e.Content.Body)
			}
		}
	}
	if got != n {
		t.Fatalf("%d entries, want %d", got, n)
	}
}

// TestPowerCut: whatever was acknowledged is there after the power was cut, at
// any moment, with any part of what was not synced. Built with skein_nosync it
// must fail.
func TestPowerCut(t *testing.T) {
	for _, percent := range []int{0, 50, 100} {
		t.Run(fmt.Sprintf("unsynced=%d%%", percent), func(t *testing.T) {
			c := im.Group("g")
			rng := rand.New(rand.NewPCG(7, uint64(percent)))
			fs := vfs.NewCrashableMem()
			acked := 0
			timeline := ""
			for range 12 {
				j := open(t, fs)
				if timeline == "" {
					timeline = j.Timeline()
				}
				if j.Timeline() != timeline {
					t.Fatal("the timeline changed although nothing was lost")
				}
				requireMessages(t, j, c, acked)
				n := 1 + rng.IntN(30)
				mustAppend(t, j, c, acked+1, acked+n)
				acked += n
				after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
				closeJournal(t, j)
				fs = after
			}
		})
	}
}

// TestPowerCutAtOpen cuts the power while the first start makes the directory.
func TestPowerCutAtOpen(t *testing.T) {
	var clones []*vfs.MemFS
	mem := vfs.NewCrashableMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && len(clones) < 200 {
			clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{}))
		}
		return nil
	}))
	j, err := Open(testDir, Options{FS: fs, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	n := len(clones)
	closeJournal(t, j)
	if n < 10 {
		t.Fatalf("only %d moments were tried", n)
	}
	for i := range n {
		j := open(t, clones[i])
		mustAppend(t, j, "grp:g", 1, 3)
		closeJournal(t, j)
	}
}

// copyFS copies a directory within a memory file system.
func copyFS(t testing.TB, fs vfs.FS, from, to string) {
	t.Helper()
	if _, err := vfs.Clone(fs, fs, from, to); err != nil {
		t.Fatal(err)
	}
}

// shortened opens a directory that lost something and requires to be told, then
// accepts the loss.
func shortened(t *testing.T, fs vfs.FS, oldTimeline string, have, witnessed uint64) *Journal {
	t.Helper()
	_, err := Open(testDir, Options{FS: fs, Logger: quiet()})
	var e *ShortenedError
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a *ShortenedError", err)
	}
	if e.Dir != testDir || e.Have != have || e.Witnessed != witnessed {
		t.Fatalf("%+v, want have %d, witnessed %d", e, have, witnessed)
	}
	for _, word := range []string{testDir, "backup", "--accept-loss"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the message does not mention %q: %s", word, err)
		}
	}
	j := open(t, fs, func(o *Options) { o.AcceptLoss = true })
	if j.Timeline() == oldTimeline {
		t.Error("the timeline is the same after a loss")
	}
	return j
}

// TestTruncatedLog cuts the end off the write-ahead log, which Pebble by itself
// takes for an unclean end and opens silently shorter.
func TestTruncatedLog(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	timeline := j.Timeline()
	mustAppend(t, j, "grp:g", 1, 20)
	closeJournal(t, j)
	truncateLog(t, fs, 2)
	_, err := Open(testDir, Options{FS: fs, Logger: quiet()})
	var e *ShortenedError
	if !errors.As(err, &e) || e.Witnessed != 20 || e.Have >= 20 {
		t.Fatalf("error %v, want a *ShortenedError", err)
	}
	j = shortened(t, fs, timeline, e.Have, 20)
	requireMessages(t, j, "grp:g", int(e.Have))
	second := j.Timeline()
	mustAppend(t, j, "grp:g", int(e.Have)+1, 25)
	closeJournal(t, j)
	// The loss was accepted once; now all is well, and accepting again is nothing.
	j = open(t, fs, func(o *Options) { o.AcceptLoss = true })
	if j.Timeline() != second {
		t.Error("the timeline changed without a loss")
	}
	requireMessages(t, j, "grp:g", 25)
	closeJournal(t, j)
}

// truncateLog keeps all but a fraction 1/part of the newest log's end.
func truncateLog(t testing.TB, fs vfs.FS, part int) {
	t.Helper()
	path := newest(t, fs, ".log")
	data := readFile(t, fs, path)
	for len(data) > 0 && data[len(data)-1] == 0 {
		data = data[:len(data)-1] // space that was allocated ahead
	}
	writeFile(t, fs, path, data[:len(data)-len(data)/part])
}

func newest(t testing.TB, fs vfs.FS, ext string) string {
	t.Helper()
	dir := fs.PathJoin(testDir, "db")
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, n := range names {
		if strings.HasSuffix(n, ext) && n > found {
			if info, err := fs.Stat(fs.PathJoin(dir, n)); err == nil && info.Size() > 0 {
				found = n
			}
		}
	}
	if found == "" {
		t.Fatalf("no %s file in %v", ext, names)
	}
	return fs.PathJoin(dir, found)
}

func readFile(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	info, err := fs.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data := make([]byte, info.Size())
	if _, err := f.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, fs vfs.FS, path string, data []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append([]byte(nil), data...)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOlderCopy puts an older copy of the store in the place of the newer.
func TestOlderCopy(t *testing.T) {
	fs := vfs.NewMem()
	db := fs.PathJoin(testDir, "db")
	j := open(t, fs)
	timeline := j.Timeline()
	mustAppend(t, j, "grp:g", 1, 5)
	closeJournal(t, j)
	copyFS(t, fs, db, "/copy")
	j = open(t, fs)
	mustAppend(t, j, "grp:g", 6, 9)
	closeJournal(t, j)
	if err := fs.RemoveAll(db); err != nil {
		t.Fatal(err)
	}
	copyFS(t, fs, "/copy", db)
	j = shortened(t, fs, timeline, 5, 9)
	requireMessages(t, j, "grp:g", 5)
	closeJournal(t, j)
}

// TestOtherHistory puts a store in the place of another that got further, so
// that only the chain can tell.
func TestOtherHistory(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	timeline := j.Timeline()
	mustAppend(t, j, "grp:g", 1, 5)
	closeJournal(t, j)
	copyFS(t, fs, testDir, "/copy")
	j = open(t, fs)
	mustAppend(t, j, "grp:g", 6, 9)
	closeJournal(t, j)
	witnessed := readFile(t, fs, fs.PathJoin(testDir, witnessName))
	// The copy goes its own way, and further.
	if err := fs.RemoveAll(testDir); err != nil {
		t.Fatal(err)
	}
	copyFS(t, fs, "/copy", testDir)
	j = open(t, fs)
	for n := range 8 {
		if out, err := appendOne(j, message("grp:other", 100+n)); err != nil || out.Status != im.Stored {
			t.Fatalf("append: %+v, %v", out, err)
		}
	}
	closeJournal(t, j)
	writeFile(t, fs, fs.PathJoin(testDir, witnessName), witnessed)
	j = shortened(t, fs, timeline, 13, 9)
	closeJournal(t, j)
}

func TestStoreGone(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	timeline := j.Timeline()
	mustAppend(t, j, "grp:g", 1, 3)
	closeJournal(t, j)
	if err := fs.RemoveAll(fs.PathJoin(testDir, "db")); err != nil {
		t.Fatal(err)
	}
	closeJournal(t, shortened(t, fs, timeline, 0, 3))
}

// TestWitnessGone: a journal without its witness may be an old one.
func TestWitnessGone(t *testing.T) {
	for name, spoil := range map[string]func(fs vfs.FS, path string) error{
		"missing": func(fs vfs.FS, path string) error { return fs.Remove(path) },
		"garbage": func(fs vfs.FS, path string) error {
			writeFile(t, fs, path, []byte(strings.Repeat("x", 5000)))
			return nil
		},
		"empty": func(fs vfs.FS, path string) error { writeFile(t, fs, path, nil); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			j := open(t, fs)
			timeline := j.Timeline()
			mustAppend(t, j, "grp:g", 1, 3)
			closeJournal(t, j)
			if err := spoil(fs, fs.PathJoin(testDir, witnessName)); err != nil {
				t.Fatal(err)
			}
			closeJournal(t, shortened(t, fs, timeline, 3, 0))
		})
	}
}

// TestTornWitness: a torn write of one slot leaves the other.
func TestTornWitness(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	mustAppend(t, j, "grp:g", 1, 3)
	closeJournal(t, j)
	path := fs.PathJoin(testDir, witnessName)
	whole := readFile(t, fs, path)
	gen, newestSlot, _, err := readWitness(fs, path)
	if err != nil {
		t.Fatal(err)
	}
	torn := append([]byte(nil), whole...)
	torn[int(gen&1)*witnessSlotStep+17] ^= 1
	writeFile(t, fs, path, torn)
	g, older, found, err := readWitness(fs, path)
	if err != nil || !found || g != gen-1 || older.pos > newestSlot.pos {
		t.Fatalf("gen %d %+v %v %v", g, older, found, err)
	}
	closeJournal(t, open(t, fs))
}

// TestWitnessIsExactAtClose, and is never ahead.
func TestWitnessIsExactAtClose(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	for n := 1; n <= 30; n++ {
		mustAppend(t, j, "grp:g", n, n)
		_, s, found, err := readWitness(fs, fs.PathJoin(testDir, witnessName))
		if err != nil || !found || s.pos > uint64(n) {
			t.Fatalf("after %d appends the witness says %+v, %v, %v", n, s, found, err)
		}
	}
	closeJournal(t, j)
	if _, s, _, _ := readWitness(fs, fs.PathJoin(testDir, witnessName)); s.pos != 30 {
		t.Fatalf("after Close the witness says %d, want 30", s.pos)
	}
}

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
			if err := j.SetMarks(context.Background(), []im.Mark{{User: "u", Conversation: "grp:g", Read: 1}}); !errors.Is(err, im.ErrJournalFailed) {
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

// TestUnsyncedIsInvisible: while an fsync is under way nobody reads its batch,
// neither as entry nor as head nor as position.
func TestUnsyncedIsInvisible(t *testing.T) {
	var hold atomic.Bool
	entered, release := make(chan struct{}), make(chan struct{})
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) && strings.HasSuffix(op.Path, ".log") && hold.CompareAndSwap(true, false) {
			close(entered)
			<-release
		}
		return nil
	}))
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
	j.heads = newGenCache[im.ConversationID, *conversation](cachedHeads) // as if it had been evicted
	j.mu.Unlock()
	out := make([]im.Head, 1)
	if err := j.Heads(ctx, []im.ConversationID{"grp:g"}, out); err != nil || out[0].Seq != 3 {
		t.Errorf("head %+v, %v", out[0], err)
	}
	if p, err := j.Position(ctx); err != nil || p != 3 {
		t.Errorf("position %d, %v", p, err)
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
	big.Entry.Content.Body = make([]byte, 2000)
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

func TestLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	j, err := Open(dir, Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{MinFree: -1})
	var e *LockedError
	if !errors.As(err, &e) || e.Dir != dir || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want a *LockedError naming %s", err, dir)
	}
	mustAppend(t, j, "grp:g", 1, 2)
	closeJournal(t, j)
	j, err = Open(dir, Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
}

func TestNewerVersion(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	mustAppend(t, j, "grp:g", 1, 2)
	if err := j.db.Set([]byte(keySchema), []byte{schemaVersion + 1}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	// A newer version may describe itself differently.
	if err := j.db.Set([]byte(keyPosition), []byte("something else"), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
	for _, accept := range []bool{false, true} {
		_, err := Open(testDir, Options{FS: fs, Logger: quiet(), AcceptLoss: accept})
		var e *VersionError
		if !errors.As(err, &e) || e.Have != schemaVersion+1 || e.Known != schemaVersion || !strings.Contains(err.Error(), testDir) {
			t.Fatalf("error %v, want a *VersionError naming the directory", err)
		}
	}
}

func TestForeignStore(t *testing.T) {
	fs := vfs.NewMem()
	db, err := pebble.Open(fs.PathJoin(testDir, "db"), &pebble.Options{FS: fs, Logger: engineLogger{&Journal{o: Options{Logger: quiet()}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set([]byte("x"), []byte("y"), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testDir, Options{FS: fs, Logger: quiet()}); err == nil || !strings.Contains(err.Error(), "not a journal") {
		t.Fatalf("error %v", err)
	}
}

func TestMigrations(t *testing.T) {
	for i, m := range migrations() {
		if m.to != uint64(i)+2 {
			t.Errorf("migration %d leads to %d: there must be one step per version", i, m.to)
		}
	}
	fs := vfs.NewMem()
	j := open(t, fs)
	defer closeJournal(t, j)
	put := func(k, v string) func(*pebble.DB, *pebble.Batch) error {
		return func(_ *pebble.DB, b *pebble.Batch) error { return b.Set([]byte(k), []byte(v), nil) }
	}
	broken := errors.New("broken")
	steps := []migration{
		{to: 2, what: "two", run: put("\x09a", "2")},
		{to: 3, what: "three", run: put("\x09a", "3")},
		{to: 4, what: "four", run: func(db *pebble.DB, b *pebble.Batch) error {
			return errors.Join(b.Set([]byte("\x09a"), []byte("4"), nil), broken)
		}},
	}
	value := func() (schema byte, a string) {
		t.Helper()
		s, err := get(j.db, []byte(keySchema))
		if err != nil {
			t.Fatal(err)
		}
		v, err := get(j.db, []byte("\x09a"))
		if err != nil {
			t.Fatal(err)
		}
		return s[0], string(v)
	}
	if err := migrate(j.db, testDir, 1, 3, steps[:2]); err != nil {
		t.Fatal(err)
	}
	if s, a := value(); s != 3 || a != "3" {
		t.Fatalf("schema %d, value %q", s, a)
	}
	if err := migrate(j.db, testDir, 3, 4, steps); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if s, a := value(); s != 3 || a != "3" {
		t.Fatalf("a failed step left schema %d, value %q", s, a)
	}
	if err := migrate(j.db, testDir, 3, 5, steps[:2]); err == nil {
		t.Fatal("no way to version 5, and no error")
	}
	if err := j.db.Set([]byte(keySchema), []byte{1}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
}

// TestBitRot flips bits in each kind of file at rest: the damage is named, or
// the content is whole; it is never silently shorter or other.
func TestBitRot(t *testing.T) {
	for _, ext := range []string{".sst", ".log", "MANIFEST"} {
		t.Run(ext, func(t *testing.T) { testBitRot(t, ext) })
	}
}

func testBitRot(t *testing.T, ext string) {
	fs := vfs.NewMem()
	const total = 300
	j := open(t, fs)
	mustAppend(t, j, "grp:g", 1, total/2)
	if err := j.db.Flush(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, "grp:g", total/2+1, total)
	closeJournal(t, j)
	copyFS(t, fs, testDir, "/good")
	var path string
	if ext == "MANIFEST" {
		names, err := fs.List(fs.PathJoin(testDir, "db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if strings.HasPrefix(n, "MANIFEST") && n > fs.PathBase(path) {
				path = fs.PathJoin(testDir, "db", n)
			}
		}
	} else {
		path = newest(t, fs, ext)
	}
	good := readFile(t, fs, path)
	rng := rand.New(rand.NewPCG(3, 4))
	detected := 0
	for range 60 {
		if err := fs.RemoveAll(testDir); err != nil {
			t.Fatal(err)
		}
		copyFS(t, fs, "/good", testDir)
		bad := append([]byte(nil), good...)
		at := rng.IntN(len(bad))
		bad[at] ^= 1 << rng.IntN(8)
		writeFile(t, fs, path, bad)
		if err := readEverything(fs, total); err != nil {
			detected++
			if !strings.Contains(err.Error(), fs.PathBase(path)) && !strings.Contains(err.Error(), testDir) {
				t.Errorf("byte %d: the error names no file: %v", at, err)
			}
		}
	}
	if detected == 0 {
		t.Error("no damage was noticed")
	}
	t.Logf("%d of 60 flipped bits lay where they mattered", detected)
}

// readEverything returns an error when the journal does not open or read; a
// journal that reads must be whole.
func readEverything(fs vfs.FS, total int) error {
	j, err := Open(testDir, Options{FS: fs, Logger: quiet()})
	if err != nil {
		return err
	}
	defer j.Close()
	entries := 0
	for {
		page, err := j.Read(context.Background(), "grp:g", uint64(entries)+1, false, 1000)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			entries++
			if string(e.Content.Body) != fmt.Sprint("message ", entries) {
				panic(fmt.Sprintf("entry %d reads %q", entries, e.Content.Body))
			}
		}
	}
	if entries != total {
		panic(fmt.Sprintf("%d of %d entries and no error", entries, total))
	}
	return nil
}
