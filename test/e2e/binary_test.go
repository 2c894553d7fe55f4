package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// skeinPath is the path of the real program, built once.
var skeinPath string

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == movedCommand {
		if err := serveMoved(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "skein-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	skeinPath = filepath.Join(dir, "skein")
	if out, err := exec.Command("go", "build", "-o", skeinPath, "../../cmd/skein").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// output collects what a program writes and lets tests wait for it.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	read int // up to here it was expected
	news chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.news != nil {
		close(o.news)
		o.news = nil
	}
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// expect waits for a match behind what was expected before.
func (o *output) expect(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		o.mu.Lock()
		rest := o.buf.Bytes()[o.read:]
		if m := re.FindIndex(rest); m != nil {
			o.read += m[1]
			text := string(rest[m[0]:m[1]])
			o.mu.Unlock()
			return text
		}
		if o.news == nil {
			o.news = make(chan struct{})
		}
		news := o.news
		o.mu.Unlock()
		select {
		case <-news:
		case <-timeout.C:
			t.Fatalf("no %q in:\n%s", pattern, o)
		}
	}
}

// program is a running skein.
type program struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err output
	done     chan struct{} // closed when it has ended
}

// environ is the environment without what would configure a server.
func environ() (env []string) {
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SKEIN_") {
			env = append(env, kv)
		}
	}
	return env
}

func launch(t *testing.T, stdin *os.File, args ...string) *program {
	t.Helper()
	return launchAt(t, skeinPath, stdin, args...)
}

// launchAt is launch of another program.
func launchAt(t *testing.T, path string, stdin *os.File, args ...string) *program {
	t.Helper()
	return launchWith(t, path, stdin, nil, "", args...)
}

// launchWith is launchAt with more in the environment, in a directory.
func launchWith(t *testing.T, path string, stdin *os.File, env []string, dir string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env, p.cmd.Dir = &p.out, &p.err, append(environ(), env...), dir
	if stdin != nil {
		p.cmd.Stdin = stdin
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // exit tells
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended already when all went well
		<-p.done
	})
	return p
}

// exit waits for the end and returns the code.
func (p *program) exit() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("%v is still running:\n%s%s", p.cmd.Args, &p.out, &p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// runs is a command that ends by itself with a code.
func runs(t *testing.T, stdin string, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, skeinPath, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = strings.NewReader(stdin), &out, &errs, environ()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("skein %s ended with %d, want %d:\n%s%s", strings.Join(args, " "), got, code, &out, &errs)
	}
	return out.String(), errs.String()
}

// process is a World of the real program.
type process struct {
	dir  string
	args []string
	*program
	at atomic.Pointer[addresses] // clients dial while it starts
}

// addresses are where a process listens.
type addresses struct{ http, tcp string }

// oneProcess is a deployment of one real program.
func oneProcess(t *testing.T, o terms) World {
	args := []string{"--set", fmt.Sprint("groups.max_strangers_per_day=", manyStrangers)}
	for key, value := range o.settings {
		args = append(args, "--set", key+"="+value)
	}
	return serve(t, t.TempDir(), args...)
}

func serve(t *testing.T, dir string, args ...string) *process {
	p := &process{dir: dir, args: args}
	p.Start(t)
	return p
}

// sameKeys gives a data directory the keys of another one: of what was restored from it, or of
// a server on the same database. A start takes them only where nobody else can read them.
func sameKeys(t *testing.T, from, to string) {
	t.Helper()
	must(0, os.MkdirAll(filepath.Join(to, "keys"), 0o700))(t)
	for _, e := range must(os.ReadDir(filepath.Join(from, "keys")))(t) {
		key := must(os.ReadFile(filepath.Join(from, "keys", e.Name())))(t)
		must(0, os.WriteFile(filepath.Join(to, "keys", e.Name()), key, 0o600))(t)
	}
}

func (p *process) Start(t *testing.T) {
	t.Helper()
	p.program = launch(t, nil, append([]string{"serve", "--data", p.dir, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--listen", "tcp://127.0.0.1:0", "--set", "gateway.drain_time=0s"}, p.args...)...)
	var at addresses
	at.http = strings.TrimPrefix(p.out.expect(t, `Open +http://[0-9.:]+`), "Open     ")
	at.tcp = strings.TrimPrefix(p.out.expect(t, `Listens +tcp://[0-9.:]+`), "Listens  tcp://")
	p.at.Store(&at)
	t.Cleanup(p.program.terminate) // whoever forgets Stop gets it checked all the same
	p.out.expect(t, `Private +http://[0-9.:]+/metrics`)
}

func (p *process) Stop(*testing.T) { p.terminate() }

// terminate is what a supervisor does: SIGTERM, and wait.
func (p *program) terminate() {
	p.t.Helper()
	select {
	case <-p.done:
		return
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if code := p.exit(); code != 0 {
		p.t.Errorf("it ended with %d:\n%s", code, &p.err)
	}
}

func (p *process) HTTP() string { return p.at.Load().http }

func (p *process) Dial(ctx context.Context, scheme string) (net.Conn, error) {
	address := strings.TrimPrefix(p.at.Load().http, "http://")
	if scheme == "tcp" {
		address = p.at.Load().tcp
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func (p *process) AdminKey() string { return (&node{dir: p.dir}).AdminKey() }

// TestLocked: two servers never share a data directory.
func TestLocked(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	_, stderr := runs(t, "", 1, "serve", "--data", p.dir, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	if !strings.Contains(stderr, p.dir) || !strings.Contains(stderr, "in use by another process") {
		t.Errorf("the second server says %q", stderr)
	}
	p.Stop(t)
	serve(t, p.dir).Stop(t)
}

// TestTerminate: SIGTERM sends the clients away and ends with 0; what was
// acknowledged is there afterwards.
func TestTerminate(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "--set", "accounts.dm_policy=everyone")
	ann, bob := join(t, p, "ann", 0), join(t, p, "bob", 1)
	watcher := dialRaw(t, p, 0)
	watcher.hello(mint(t, p, "cem", time.Hour).AccessToken, "d", wire.DeviceClass_DEVICE_CLASS_PHONE)
	dm := ann.DM("bob").ID()

	// Sends are on their way while it ends.
	ctx, cancel := context.WithCancel(t.Context())
	acked := make(chan int)
	go func() {
		n := 0
		defer func() { acked <- n }()
		for {
			if _, err := ann.Conversation(dm).Send(ctx, fmt.Sprint("message ", n)); err != nil {
				return
			}
			n++
		}
	}()
	bob.reaches(dm, 20)
	p.Stop(t)
	said := false
	for {
		f, err := watcher.hear()
		if err != nil {
			break
		}
		said = said || f.GetGoAway() != nil
	}
	if !said {
		t.Error("no GoAway")
	}
	find(bob, "being sent away", func(e *skein.StateEvent) bool {
		return e.State == skein.StateDisconnected && isCode(e.Err, wire.CodeGoingAway)
	})
	cancel()
	n := <-acked
	if n < 20 {
		t.Fatalf("only %d were acknowledged", n)
	}

	p.Start(t) // its ports are others now: the clients find them
	if err := errors.Join(ann.WaitConnected(deadline(t)), bob.WaitConnected(deadline(t))); err != nil {
		t.Fatal(err)
	}
	last := ann.says(dm, "the last")
	if last.Seq < uint64(n)+1 {
		t.Errorf("%d were acknowledged, the next is #%d", n, last.Seq)
	}
	bob.reaches(dm, last.Seq)
	agree(t, dm, int(last.Seq), ann, bob)
	// Every acknowledged message is there: each has its place in the sender's count.
	for i, m := range must(bob.Conversation(dm).History(t.Context(), 0, int(last.Seq)))(t) {
		if want := fmt.Sprint("message ", i); i < n && m.Text != want {
			t.Errorf("#%d is %q, want %q", m.Seq, m.Text, want)
		}
	}
	ann.leave()
	bob.leave()
	p.Stop(t)
	if out := p.err.String(); strings.Contains(out, `"level":"ERROR"`) || strings.Contains(out, "panic") {
		t.Errorf("the log says\n%s", out)
	}
}
