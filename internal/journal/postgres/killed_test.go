package postgres

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
)

// rewriteURL names the database for the process that is killed.
const rewriteURL = "SKEIN_TEST_REWRITE_URL"

// A process that rewrites the tables and is killed -9, a little later each time, leaves
// version 3; the first one that comes to its end leaves version 4, whole.
func TestRewritingProcessIsKilled(t *testing.T) {
	if url := os.Getenv(rewriteURL); url != "" {
		fmt.Println("begun")
		open(t, url).Close()
		fmt.Println("rewritten")
		return
	}
	url := pgtest.Database(t)
	items := oldDatabase(t, url, 2*rewritePage+9)
	before, killed := rowsOf(t, url), 0
	for wait := time.Duration(0); !rewritten(t, url, wait); wait += wait/2 + 30*time.Millisecond {
		if wait > time.Minute {
			t.Fatal("it is never rewritten")
		}
		killed++
		unlocked(t, url)
		if rangeOf(t, url).Version > 3 {
			break // killed between its last word to the database and its last one to us
		}
		unharmed(t, url, before)
	}
	t.Logf("%d processes were killed", killed)
	if killed < 3 {
		t.Errorf("only %d processes were killed: the test tests little", killed)
	}
	if after := rowsOf(t, url); !reflect.DeepEqual(before, after) {
		t.Errorf("%d rows, before %d", len(after), len(before))
	}
	j := open(t, url)
	defer j.Close()
	sayTheSame(t, j, items)
}

// rewritten starts a process that rewrites the tables and kills it after a while, unless
// it came to its end before.
func rewritten(t *testing.T, url string, wait time.Duration) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRewritingProcessIsKilled$")
	cmd.Env = append(os.Environ(), rewriteURL+"="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	limit, ended := time.After(2*time.Minute), false
	for kill := (<-chan time.Time)(nil); ; {
		select {
		case line, ok := <-lines:
			if !ok {
				if err := cmd.Wait(); ended && err != nil {
					t.Fatalf("at its end: %v", err)
				}
				return ended
			}
			switch line {
			case "begun":
				kill = time.After(wait)
			case "rewritten":
				ended, kill = true, nil
			}
		case <-kill:
			kill = nil
			_ = cmd.Process.Kill()
		case <-limit:
			t.Error("the process hangs")
			_ = cmd.Process.Kill()
		}
	}
}

// unlocked waits until PostgreSQL has noticed that the process is gone.
func unlocked(t testing.TB, url string) {
	t.Helper()
	for range 600 {
		busy, err := pgtest.Collect[struct{ PID int }](t.Context(), url,
			"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()")
		must(t, err)
		if len(busy) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("PostgreSQL does not notice that the process is gone")
}
