package pebble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

// wordy is a message whose 150 bytes nothing makes smaller.
func wordy(c im.ConversationID, n int) im.Append {
	it := message(c, n)
	it.Entry.ID = im.NewMessageID(time.UnixMilli(1_700_000_000_000+int64(n)), [10]byte{7: byte(n >> 16), 8: byte(n >> 8), 9: byte(n)})
	r := rand.New(rand.NewPCG(uint64(n), 1))
	it.Entry.Body = make([]byte, 150)
	for i := range it.Entry.Body {
		it.Entry.Body[i] = byte(r.Uint32())
	}
	return it
}

func fillWordy(t testing.TB, j *Journal, c im.ConversationID, from, to int) {
	t.Helper()
	for n := from; n < to; n += 1000 {
		batch := make([]im.Append, min(1000, to-n))
		for k := range batch {
			batch[k] = wordy(c, n+k)
		}
		if err := j.Append(context.Background(), batch, make([]im.Appended, len(batch))); err != nil {
			t.Fatal(err)
		}
	}
}

func mustTrim(t testing.TB, j *Journal, c im.ConversationID, after, until uint64) {
	t.Helper()
	if err := j.Trim(context.Background(), im.Span{Conversation: c, After: after, Until: until}); err != nil {
		t.Fatal(err)
	}
}

// onDisk is how much the tables take that have entries, when nothing is in memory.
func onDisk(t testing.TB, j *Journal) uint64 {
	t.Helper()
	if err := j.db.Flush(); err != nil {
		t.Fatal(err)
	}
	n, err := j.db.EstimateDiskUsage([]byte{spaceEntry}, []byte{spaceEntry + 1})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What was trimmed is gone from the disk, too, in the newest epoch and in older ones,
// when what was due before a new start is given back after it; and nothing is due then.
func TestTrimGivesRoomBack(t *testing.T) {
	fs := vfs.NewMem()
	small := func(o *Options) { o.epochBytes = 1 << 20 }
	j := open(t, fs, small)
	const n = 20_000
	fillWordy(t, j, "grp:g", 0, n)
	fillWordy(t, j, "grp:h", n, n+2000)
	// As it lies after a while: merged to the end.
	if err := j.db.Compact(context.Background(), []byte{spaceEntry}, []byte{spaceEntry + 1}, false); err != nil {
		t.Fatal(err)
	}
	before := onDisk(t, j)
	if before < n*150 {
		t.Fatalf("%d messages take %d bytes: the test tests nothing", n, before)
	}
	mustTrim(t, j, "grp:g", 0, n)
	closeJournal(t, j)
	j = open(t, fs, small)
	defer closeJournal(t, j)
	if due := len(j.gone.epochs); due < 3 {
		t.Fatalf("%d epochs are due", due)
	}
	if err := j.giveBack(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	after := onDisk(t, j)
	t.Logf("%d bytes, before %d", after, before)
	if after > before/2 {
		t.Errorf("%d bytes are left of %d", after, before)
	}
	if due, err := loadGone(j.db); err != nil || len(due)+len(j.gone.epochs) != 0 {
		t.Errorf("due: %v, %v, %v", due, j.gone.epochs, err)
	}
	entries, err := j.Read(context.Background(), "grp:h", 1, false, 3000)
	if err != nil || len(entries) != 2000 || string(entries[7].Body) != string(wordy("grp:h", n+7).Entry.Body) {
		t.Errorf("beside it: %d entries, %v", len(entries), err)
	}
}

// Much that is given up is given back at once.
func TestTrimOfMuchIsDue(t *testing.T) {
	g := gone{wake: make(chan struct{}, 1), epochs: goneBytes{}}
	g.add(goneBytes{1: goneBytesDue - 1, 2: 5})
	if len(g.wake) != 0 || len(g.take(goneBytesDue)) != 0 {
		t.Fatal("a little is due")
	}
	g.add(goneBytes{1: 1})
	if len(g.wake) != 1 {
		t.Fatal("much is not due")
	}
	if got := fmt.Sprint(g.take(goneBytesDue), g.take(0), g.take(0)); got != "[1] [2] []" {
		t.Fatal(got)
	}
}

// A label that an append puts on while a step looks for labels goes with the step, and
// one of an entry beside it stays.
func TestTrimMeetsLabels(t *testing.T) {
	j := open(t, vfs.NewMem())
	defer closeJournal(t, j)
	mustAppend(t, j, "grp:g", 1, 5)
	step := &trimming{c: "grp:g", after: 0, until: 3}
	j.appender.trimming = step
	for n, target := range []uint64{2, 4} {
		it := changeOf("grp:g", 20+n, target, 0, "changed")
		it.Labels = []string{"x"}
		if _, err := appendOne(j, it); err != nil {
			t.Fatal(err)
		}
	}
	j.appender.trimming = nil
	if len(step.labels) != 1 || seqOfKey(step.labels[0]) != 2 {
		t.Fatalf("noted: %x", step.labels)
	}
}

// trimDir names the directory for the process that is killed.
const trimDir = "SKEIN_TEST_TRIM_DIR"

// A process that trims and is killed -9, a little later each time, leaves a beginning of
// whole steps trimmed and the rest as it was; nothing that one found trimmed comes back.
func TestTrimmingProcessIsKilled(t *testing.T) {
	const n = 20_000
	if dir := os.Getenv(trimDir); dir != "" {
		j, err := Open(dir, Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("begun")
		mustTrim(t, j, "grp:g", 0, n)
		fmt.Println("trimmed")
		closeJournal(t, j)
		return
	}
	dir := filepath.Join(t.TempDir(), "journal")
	j, err := Open(dir, Options{Logger: quiet(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	fillWordy(t, j, "grp:g", 0, n)
	closeJournal(t, j)
	killed, cut, least := 0, 0, 0
	for wait := time.Duration(0); ; wait += wait/4 + time.Millisecond {
		if wait > time.Minute {
			t.Fatal("it is never trimmed")
		}
		ended := killTrimming(t, dir, wait)
		trimmed := trimmedUntil(t, dir, n)
		if trimmed < least || ended && trimmed != n {
			t.Fatalf("%d entries are trimmed, were %d; ended: %v", trimmed, least, ended)
		}
		if least = trimmed; trimmed > 0 && trimmed < n {
			cut++
		}
		if ended || trimmed == n {
			break
		}
		killed++
	}
	t.Logf("%d processes were killed, %d in the middle", killed, cut)
	if killed == 0 {
		t.Error("no process was killed: the test tests nothing")
	}
}

// trimmedUntil is how many entries have no body; all that are behind them have theirs.
func trimmedUntil(t *testing.T, dir string, n int) (trimmed int) {
	t.Helper()
	j, err := Open(dir, Options{Logger: quiet(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer closeJournal(t, j)
	seen := 0
	for seen < n {
		entries, err := j.Read(context.Background(), "grp:g", uint64(seen)+1, false, 1000)
		if err != nil || len(entries) == 0 {
			t.Fatalf("%d entries, %v", seen, err)
		}
		for i := range entries {
			switch e := &entries[i]; {
			case len(e.Body) == 0 && trimmed == seen:
				trimmed++
			case string(e.Body) != string(wordy("grp:g", seen).Entry.Body):
				t.Fatalf("entry %d, of which %d before it are trimmed, says %x", e.Seq, trimmed, e.Body)
			}
			seen++
		}
	}
	return trimmed
}

// killTrimming starts a process that trims, and kills it after a while, unless it came
// to its end before.
func killTrimming(t *testing.T, dir string, wait time.Duration) (ended bool) {
	t.Helper()
	cmd, s, stop := startTest(t, "TestTrimmingProcessIsKilled", trimDir+"="+dir)
	defer stop()
	for s.Scan() {
		switch s.Text() {
		case "begun":
			kill := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
		case "trimmed":
			ended = true
		}
	}
	_ = cmd.Wait() // it was killed, or what it said counts
	return ended
}

// BenchmarkTrim trims 100,000 messages of 150 bytes.
func BenchmarkTrim(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		b.StopTimer()
		j, err := Open(filepath.Join(b.TempDir(), "journal"), Options{Logger: quiet(), MinFree: -1})
		if err != nil {
			b.Fatal(err)
		}
		fillWordy(b, j, "grp:g", 0, n)
		if err := j.db.Compact(context.Background(), []byte{spaceEntry}, []byte{spaceEntry + 1}, false); err != nil {
			b.Fatal(err)
		}
		before := onDisk(b, j)
		begun := time.Now()
		b.StartTimer()
		mustTrim(b, j, "grp:g", 0, n)
		b.StopTimer()
		b.ReportMetric(float64(time.Since(begun).Microseconds())/n, "µs/entry")
		if err := j.giveBack(context.Background(), 0); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(before)/n, "bytes/entry-before")
		b.ReportMetric(float64(onDisk(b, j))/n, "bytes/entry-after")
		closeJournal(b, j)
		b.StartTimer()
	}
}
