package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bench"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// asProgram makes this test binary the program itself, for those that start it.
const asProgram = "TEST_AS_PROGRAM"

// skein is the path of the server, of this tree, built once.
var skein string

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "skein-lab-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	skein = filepath.Join(dir, "skein")
	if out, err := exec.Command("go", "build", "-o", skein, "../skein").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the server: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// lab runs a command line of this program.
func lab(t *testing.T, env []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, said strings.Builder
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	return out.String(), said.String(), err
}

// TestLab: a scenario with the floor and a worker in a process of its own, and two
// builds compared, by the program as people start it. The server is found by its
// flag and on PATH; where there is none, the error says what to do.
func TestLab(t *testing.T) {
	out, said, err := lab(t, nil, "bench", "chat", "--skein", skein, "--users", "10", "--messages", "5", "--warmup", "0s",
		"--workers", "2", "--no-half", "--floor", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var r bench.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if r.Acked != 50 || r.Floor == nil || r.Floor.Acked != 50 || !strings.HasPrefix(r.Server.Version, "skein dev") {
		t.Errorf("%d acknowledged by %q, floor %+v", r.Acked, r.Server.Version, r.Floor)
	}
	path := []string{"PATH=" + filepath.Dir(skein)}
	if _, said, err := lab(t, path, "bench", "compare", skein, "--users", "200", "--rate", "1000", "--duration", "500ms", "--rounds", "1", "--max-cpu", "100", "--max-allocs", "100", "--set", "search.index=off"); err != nil {
		t.Errorf("compare, with the server on PATH: %v\n%s", err, said)
	}
	if _, said, err := lab(t, path, "bench", "compare", skein, "--users", "2", "--rounds", "1", "--set", "no.such=1"); err == nil || !strings.Contains(said, "no.such") {
		t.Errorf("a setting that is none: %v\n%s", err, said)
	}
	for want, args := range map[string][]string{
		"make build":    {"bench", "chat", "--users", "2"},
		"--skein: stat": {"bench", "idle", "--skein", skein + "-none"},
		"a directory":   {"bench", "idle", "--skein", filepath.Dir(skein)},
	} {
		if _, said, err := lab(t, []string{"PATH="}, args...); err == nil || !strings.Contains(said, want) {
			t.Errorf("%v: %v, %q; want it to say %q", args, err, said, want)
		}
	}
}

// TestBenchBackup: two backups of a server under load, the second of what is new
// only, a drill, a restore and a start, by the commands that operators use.
func TestBenchBackup(t *testing.T) {
	t.Setenv(asProgram, "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o := bench.Options{
		Transport: "ws", Codec: "pb", Connections: 50, Rate: 100, Duration: time.Second, Window: 1, Payload: 100,
		Lab: exe, Log: io.Discard,
	}
	r, err := bench.Backup(ctx, o, 5000, 0, func(ctx context.Context, set ...string) (*bench.Server, error) {
		return bench.StartServer(ctx, skein, io.Discard, set...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if broken := r.Failed(); broken != "" {
		t.Error(broken)
	}
	b := r.Backup
	if b.Messages < 5000 || b.First.Entries < b.Messages || b.Second.Entries < b.First.Entries {
		t.Errorf("%d messages, then backups of %d and %d entries", b.Messages, b.First.Entries, b.Second.Entries)
	}
	if b.First.NewBytes == 0 || b.Second.NewBytes >= b.Second.Bytes {
		t.Errorf("new bytes: %d of the first backup, %d of %d of the second", b.First.NewBytes, b.Second.NewBytes, b.Second.Bytes)
	}
	if b.During.Count == 0 || b.ReadySeconds == 0 {
		t.Errorf("%d acks beside the backup, ready after %g s", b.During.Count, b.ReadySeconds)
	}
}

// TestStall: each trouble happens while direct chats go on, on both stores, and nothing
// of theirs is lost.
func TestStall(t *testing.T) {
	for store, more := range map[string][]string{"embedded": nil, "postgres": {"--postgres", pgtest.Database(t)}} {
		out, said, err := lab(t, nil, append([]string{"bench", "stall", "--skein", skein, "--users", "4", "--rate", "40", "--group", "5", "--duration", "2s", "--json"}, more...)...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", store, err, said)
		}
		var r bench.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("%s: %v in %s", store, err, out)
		}
		if r.Stall == nil || r.Stall.Alone.Count == 0 || len(r.Stall.Beside) != 2+3*len(more)/2 {
			t.Fatalf("%s: %s", store, out)
		}
		for _, x := range r.Stall.Beside {
			if x.Times == 0 || x.Ack.Count == 0 || x.P99Ratio == 0 {
				t.Errorf("%s: %+v", store, x)
			}
		}
	}
}

// TestBenchBytes: every way to speak is measured; lists and history become less by
// deflate, and single messages do not. They do not become more, either, but for a
// position more or less, which goes with what is pushed once a second at most.
func TestBenchBytes(t *testing.T) {
	out, said, err := lab(t, nil, "bench", "bytes", "--skein", skein, "--messages", "21", "--conversations", "20", "--connections", "4", "--quiet", "0s", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var r bench.BytesReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(r.Rows) != 4 || len(r.Crowds) != 2 || !strings.HasPrefix(r.ServerVersion, "skein dev") {
		t.Fatal(out)
	}
	for i, x := range r.Rows {
		if x.Chat.Down == 0 || x.Chat.Up == 0 || x.Resume.Up == 0 || x.History.Up == 0 {
			t.Errorf("not counted: %+v", x)
		}
		if i%2 == 0 {
			continue
		}
		plain := r.Rows[i-1]
		if x.Codec != plain.Codec || !x.Deflate || plain.Deflate {
			t.Fatalf("%+v beside %+v", x, plain)
		}
		if x.Resume.Down > plain.Resume.Down*2/3 || x.History.Down > plain.History.Down/2 || x.Chat.Down > plain.Chat.Down*105/100 {
			t.Errorf("deflated %+v, plain %+v", x, plain)
		}
	}
	if plain, deflated := r.Crowds[0], r.Crowds[1]; plain.Deflate || !deflated.Deflate || deflated.DownPerDelivery > plain.DownPerDelivery*3/4 || plain.DownPerDelivery < 1000 {
		t.Errorf("a message to all: %+v", r.Crowds)
	}
}
