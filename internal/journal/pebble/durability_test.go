package pebble

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
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
	body := fmt.Append(nil, "message ", n)
	return im.Append{
		Entry: im.Entry{
			Conversation: c, ID: im.NewMessageID(time.UnixMilli(1_700_000_000_000+int64(n)), random), Sender: "a", Kind: im.EntryMessage, Body: body,
		},
		Hash: xxhash.Sum64String(string(c) + " " + string(body)),
	}
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
			if e.Seq != uint64(got) || string(e.Body) != fmt.Sprint("message ", got) {
				t.Fatalf("entry %d: seq %d %q", got, e.Seq, e.Body)
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
