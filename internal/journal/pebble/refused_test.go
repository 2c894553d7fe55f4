package pebble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

// left is a directory on disk with tables, logs and manifests, as a process that
// was killed leaves it.
func left(t *testing.T) (dir string, total int) {
	t.Helper()
	live := filepath.Join(t.TempDir(), "journal")
	j, err := Open(live, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for range 4 {
		mustAppend(t, j, "grp:g", total+1, total+50)
		total += 50
		if err := j.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, j, "grp:g", total+1, total+20)
	total += 20
	witnessed(t, j)
	dir = filepath.Join(t.TempDir(), "journal")
	if err := os.CopyFS(dir, os.DirFS(live)); err != nil {
		t.Fatal(err)
	}
	return dir, total
}

// witnessed waits until the witness has written what is durable: 20 ms of quiet.
func witnessed(t *testing.T, j *Journal) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		_, seen, _, err := readWitness(j.fs, filepath.Join(j.dir, witnessName))
		if err != nil {
			t.Fatal(err)
		}
		if seen.pos == j.position() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the witness saw %d, not %d", seen.pos, j.position())
		}
	}
}

// contents is every file of a directory by its name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readAll returns how many of the messages are served before an error.
func readAll(j *Journal) (n int, err error) {
	for {
		page, err := j.Read(context.Background(), "grp:g", uint64(n)+1, false, 1000)
		if err != nil || len(page) == 0 {
			return n, err
		}
		n += len(page)
	}
}

// Whatever is done to one file of a journal, a start is whole, or refused with
// every file left as it was, or serves all but what a damaged table held, and
// says so. Once, a bit in the manifest made the refused start delete nearly all
// messages: the next one could not be whole any more.
func TestRefusedStartChangesNothing(t *testing.T) {
	good, total := left(t)
	harm := map[string]func(b []byte) []byte{
		"gone":      nil,
		"one short": func(b []byte) []byte { return b[:max(len(b)-1, 0)] },
		"half":      func(b []byte) []byte { return b[:len(b)/2] },
		"zeroed":    func(b []byte) []byte { b = append([]byte(nil), b...); clear(b[:min(4096, len(b))]); return b },
	}
	for _, part := range []int{20, 50, 80, 98} {
		harm[fmt.Sprintf("flipped at %d%%", part)] = func(b []byte) []byte {
			b = append([]byte(nil), b...)
			if len(b) > 0 {
				b[len(b)*part/100] ^= 4
			}
			return b
		}
	}
	for name, content := range contents(t, good) {
		for what, f := range harm {
			if content == "" && f != nil {
				continue
			}
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "journal")
				if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, name)
				if f == nil {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				} else if err := os.WriteFile(path, f([]byte(content)), 0o600); err != nil {
					t.Fatal(err)
				}
				requireWholeOrUntouched(t, dir, name, total)
			})
		}
	}
}

func requireWholeOrUntouched(t *testing.T, dir, name string, total int) {
	t.Helper()
	before := contents(t, dir)
	j, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1})
	if err == nil {
		n, err := readAll(j)
		if n != total && (err == nil || !isTable(name)) {
			t.Errorf("%d of %d messages are served, %v", n, total, err)
		}
		closeJournal(t, j)
		return
	}
	if !strings.Contains(err.Error(), dir) {
		t.Errorf("the refusal does not say where: %v", err)
	}
	if _, again := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1}); again == nil || again.Error() != err.Error() {
		t.Errorf("refused with %v, then answered with %v", err, again)
	}
	after := contents(t, dir)
	for f, content := range before {
		if now, ok := after[f]; !ok || now != content {
			t.Errorf("a refused start (%v) changed %s: %d bytes, then %d", err, f, len(content), len(now))
		}
	}
	for f := range after {
		if _, ok := before[f]; !ok {
			t.Errorf("a refused start made %s", f)
		}
	}
	if strings.Contains(err.Error(), "--accept-loss") {
		requireAccepted(t, dir, before, err)
	}
}

// requireAccepted follows the advice of a refusal: the start goes on under a new
// timeline, is no longer refused, and destroyed nothing.
func requireAccepted(t *testing.T, dir string, before map[string]string, refusal error) {
	t.Helper()
	timeline := ""
	for n, accept := range []bool{true, false, true} {
		j, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1, AcceptLoss: accept})
		if err != nil {
			t.Fatalf("refused with %v; the advice was followed, and start %d says %v", refusal, n+1, err)
		}
		if timeline != "" && j.Timeline() != timeline {
			t.Errorf("start %d began a timeline again", n+1)
		}
		timeline = j.Timeline()
		served, err := readAll(j)
		if unreadable := strings.Contains(refusal.Error(), "all messages are gone"); err != nil || n == 0 && unreadable != (served == 0) {
			t.Errorf("said was %v; %d messages are served (%v)", refusal, served, err)
		}
		mustAppend(t, j, "grp:g", served+1, served+2)
		closeJournal(t, j)
	}
	kept := contents(t, dir)
	for name, content := range before {
		rest, ofStore := strings.CutPrefix(name, "db/")
		if ofStore && rest != "LOCK" && kept[name] != content && kept["lost-1/"+rest] != content && !strings.HasPrefix(refusal.Error(), "journal "+dir+": its ") {
			t.Errorf("accepted was %v; %s is not kept", refusal, name)
		}
	}
}

// A loss that is accepted destroys nothing: what the damaged manifest does not
// name is kept beside.
func TestAcceptedLossKeepsFiles(t *testing.T) {
	dir, _ := left(t)
	manifests, err := filepath.Glob(filepath.Join(dir, "db", "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	path := manifests[len(manifests)-1]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	before := contents(t, filepath.Join(dir, "db"))
	j, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1, AcceptLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
	kept := contents(t, filepath.Join(dir, "lost-1"))
	for name, content := range before {
		if name != "LOCK" && kept[name] != content {
			t.Errorf("%s is not kept", name)
		}
	}
	j, err = Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1})
	if err != nil {
		t.Fatalf("after a loss was accepted: %v", err)
	}
	closeJournal(t, j)
}

// Without a witness nobody knows whether something is missing; it said that acknowledged
// messages were, from a position 0 on. And what is wrong with a damaged table is said once.
func TestRefusalsAreTrue(t *testing.T) {
	dir, total := left(t)
	if err := os.Remove(filepath.Join(dir, witnessName)); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("ends at position %d", total)) || strings.Contains(err.Error(), "are missing") || strings.Contains(err.Error(), "position 0") {
		t.Errorf("without a witness: %v", err)
	}
	dir, _ = left(t)
	tables, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		b, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		b[10] ^= 1
		if err := os.WriteFile(table, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1})
	if err == nil || strings.Count(err.Error(), "checksum") != 1 || strings.Contains(err.Error(), "carrier") || !strings.Contains(err.Error(), ".sst") {
		t.Errorf("damaged tables: %v", err)
	}
}

// What a disk or its rights refuse is no loss: nothing is set aside for it.
func TestRightsAreNoLoss(t *testing.T) {
	dir, total := left(t)
	refuse := denyingFS{vfs.Default}
	for range 2 {
		_, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1, AcceptLoss: true, FS: refuse})
		if !errors.Is(err, fs.ErrPermission) {
			t.Fatalf("answered with %v", err)
		}
	}
	j, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := readAll(j); n != total || err != nil {
		t.Error(n, err)
	}
	closeJournal(t, j)
}

// denyingFS opens no table.
type denyingFS struct{ vfs.FS }

func (f denyingFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if isTable(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
	}
	return f.FS.Open(name, o...)
}

// A journal that an earlier version left has no ledger: it gets one.
func TestLedgerIsAdopted(t *testing.T) {
	dir, total := left(t)
	if err := os.Remove(filepath.Join(dir, ledgerName)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		j, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := readAll(j); n != total || err != nil {
			t.Fatal(n, err)
		}
		closeJournal(t, j)
	}
	if _, err := os.Stat(filepath.Join(dir, ledgerName)); err != nil {
		t.Error(err)
	}
}

// What the other store says is heard before anything is written, and the pair is
// kept.
func TestPair(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	refusal := errors.New("not with that directory")
	check := func(p im.Pair) error {
		if p != (im.Pair{}) {
			t.Errorf("a new journal knows %+v", p)
		}
		return refusal
	}
	if _, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), Check: check}); !errors.Is(err, refusal) {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused start made %s: %v", dir, err)
	}
	j, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.SetPair(im.Pair{Identity: "one", Changes: 3}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{5, 4} {
		if err := j.Changed(n); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, j, "grp:g", 1, 2)
	want := im.Pair{Identity: "one", Changes: 5, Position: 2}
	if p := j.Pair(); p != want {
		t.Errorf("%+v", p)
	}
	timeline := j.Timeline()
	closeJournal(t, j)
	told := im.Pair{}
	check = func(p im.Pair) error { told = p; return refusal }
	if _, err := Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), Check: check}); !errors.Is(err, refusal) || told != want {
		t.Errorf("%+v, %v", told, err)
	}
	j, err = Open(dir, Options{Logger: quiet(), OnFatal: fatal(t), Check: check, AcceptLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	if j.Timeline() == timeline {
		t.Error("a pair that does not fit was accepted without a new timeline")
	}
	closeJournal(t, j)
}

func fatal(t *testing.T) func(error) {
	return func(err error) { t.Errorf("fatal: %v", err) }
}
