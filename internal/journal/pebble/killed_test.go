package pebble

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// migrateDir names the directory for the process that is killed.
const migrateDir = "SKEIN_TEST_MIGRATE_DIR"

// A process that converts a journal on a disk and is killed -9 at each part of it, one
// start after the other: the next start goes on, and at the end everything is what it
// was.
func TestMigrationProcessIsKilled(t *testing.T) {
	if dir := os.Getenv(migrateDir); dir != "" {
		migrateAndTell(t, dir)
		return
	}
	dir := filepath.Join(t.TempDir(), "journal")
	if ok, err := vfs.Clone(vfs.Default, vfs.Default, "testdata/schema3", dir); err != nil || !ok {
		t.Fatal(ok, err)
	}
	killed := 0
	for parts := 1; ; parts++ {
		if parts > 200 {
			t.Fatal("it is never converted")
		}
		if !killAt(t, dir, parts) {
			break
		}
		killed++
	}
	if killed < 10 {
		t.Errorf("only %d processes were killed: the test tests little", killed)
	}
	j, err := Open(dir, Options{Logger: quiet(), OnFatal: func(err error) { t.Errorf("fatal: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer closeJournal(t, j)
	want := schema3(t)
	requireDump(t, j, &want)
}

// killAt starts a process that converts the journal and kills it when so many parts are
// written; false: it came to its end before.
func killAt(t *testing.T, dir string, parts int) bool {
	t.Helper()
	cmd, s, stop := startTest(t, "TestMigrationProcessIsKilled", migrateDir+"="+dir)
	defer stop()
	ended := false
	for n := 0; s.Scan(); {
		switch s.Text() {
		case "part":
			if n++; n == parts {
				_ = cmd.Process.Kill()
			}
		case "converted":
			ended = true
		}
	}
	if err := cmd.Wait(); ended && err != nil {
		t.Fatalf("at its end: %v", err)
	}
	return !ended
}

// startTest starts a process that is one test of this package, and tells its lines. It is
// killed if it runs for a minute, unless stop was called.
func startTest(t *testing.T, name, env string) (cmd *exec.Cmd, lines *bufio.Scanner, stop func()) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tooLong := time.AfterFunc(time.Minute, func() {
		t.Error("the process hangs")
		_ = cmd.Process.Kill()
	})
	return cmd, bufio.NewScanner(out), func() { tooLong.Stop() }
}

// migrateAndTell is the process that is killed: it tells every part it has written, and
// waits a moment for the one that kills it.
func migrateAndTell(t *testing.T, dir string) {
	j, err := Open(dir, Options{Logger: quiet(), migrateBytes: 400, migrateWrote: func(*pebble.DB) {
		fmt.Println("part")
		time.Sleep(time.Millisecond) // it may be killed here, or in the middle of the next one
	}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("converted")
	closeJournal(t, j)
}
