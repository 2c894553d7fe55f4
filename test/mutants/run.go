package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Verdict is what became of a bug.
type Verdict string

const (
	// Caught: the test failed, by itself and soon.
	Caught Verdict = "caught"
	// Survived: the test passed.
	Survived Verdict = "SURVIVED"
	// Hung: the test failed only because its time was over, or too late to be read
	// as a failure of what it is about.
	Hung Verdict = "HUNG"
	// NoBuild: it is no bug, it is no program.
	NoBuild Verdict = "DOES NOT BUILD"
	// NoControl: the test fails, or is not there, without the bug as well.
	NoControl Verdict = "FAILS WITHOUT IT"
)

// Result is what became of one bug.
type Result struct {
	Name    string  `json:"name"`
	Breaks  string  `json:"breaks"`
	Package string  `json:"package"`
	Test    string  `json:"test"`
	Verdict Verdict `json:"verdict"`
	// Build and Took are how long the compiler and the test needed.
	Build time.Duration `json:"build_ns"`
	Took  time.Duration `json:"test_ns"`
	// Failed are the tests that failed, with their subtests.
	Failed []string `json:"failed,omitempty"`
	// Output is the test's, or the compiler's, unless the bug was caught.
	Output string `json:"output,omitempty"`
}

type runner struct {
	root, dir string
	jobs      int
	limit     time.Duration // for building and testing
	soon      time.Duration // for the test
	progress  io.Writer

	mu       sync.Mutex
	controls map[string]*control
}

// control is a test without any bug.
type control struct {
	once   sync.Once
	output string
	err    error
}

// runAll tries all, in the order of the list: what is built for one helps the
// next of its package.
func (r *runner) runAll(ctx context.Context, list []Mutant) ([]Result, error) {
	r.controls = map[string]*control{}
	results := make([]Result, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	for range r.jobs {
		wg.Go(func() {
			for i := range next {
				results[i] = r.try(ctx, &list[i], i)
				x := &results[i]
				x.Output = brief(x.Output)
				fmt.Fprintf(r.progress, "%3d/%d %-16s %s (built in %.1f s, %.1f s)\n", i+1, len(list), x.Verdict, x.Name, x.Build.Seconds(), x.Took.Seconds())
			}
		})
	}
	for i := range list {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return results, ctx.Err()
}

// try plants one bug and runs its test with it and without.
func (r *runner) try(ctx context.Context, m *Mutant, i int) Result {
	res := Result{Name: m.Name, Breaks: m.Breaks, Package: m.Package, Test: m.Test}
	files, err := m.mutate(r.root)
	if err != nil {
		res.Verdict, res.Output = NoBuild, err.Error()
		return res
	}
	if output, err := r.control(ctx, m); err != nil {
		res.Verdict, res.Output = NoControl, output+"\n"+err.Error()
		return res
	}
	dir := filepath.Join(r.dir, fmt.Sprint("bug", i))
	defer os.RemoveAll(dir)
	overlay, err := overlayOf(dir, r.root, files)
	if err != nil {
		res.Verdict, res.Output = NoBuild, err.Error()
		return res
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	began := time.Now()
	bin := filepath.Join(dir, "test.bin")
	output, err := r.build(ctx, m, bin, "-overlay", overlay)
	res.Build = time.Since(began)
	if err != nil {
		res.Verdict, res.Output = NoBuild, output+"\n"+err.Error()
		return res
	}
	began = time.Now()
	output, err = r.test(ctx, m, bin)
	res.Took = time.Since(began)
	for _, f := range failed.FindAllStringSubmatch(output, -1) {
		res.Failed = append(res.Failed, f[1])
	}
	switch {
	case errors.Is(err, errHung) || err != nil && res.Took > r.soon:
		res.Verdict, res.Output = Hung, output
	case err != nil:
		res.Verdict = Caught
	default:
		res.Verdict, res.Output = Survived, output
	}
	return res
}

// control runs the test without a bug, once for all bugs that it must find.
func (r *runner) control(ctx context.Context, m *Mutant) (string, error) {
	key := fmt.Sprint(m.Package, " ", m.pattern(), " ", m.Race)
	r.mu.Lock()
	c := r.controls[key]
	if c == nil {
		c = &control{}
		r.controls[key] = c
	}
	r.mu.Unlock()
	c.once.Do(func() {
		dir, err := os.MkdirTemp(r.dir, "control")
		if err != nil {
			c.err = err
			return
		}
		defer os.RemoveAll(dir)
		bin := filepath.Join(dir, "test.bin")
		if c.output, c.err = r.build(ctx, m, bin); c.err != nil {
			return
		}
		if c.output, c.err = r.test(ctx, m, bin); c.err == nil && !passed.MatchString(c.output) {
			c.err = errors.New("no test ran")
		}
	})
	return c.output, c.err
}

var (
	passed = regexp.MustCompile(`(?m)^--- PASS: `)
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
)

// overlayOf writes changed files to dir and what tells the compiler of them.
func overlayOf(dir, root string, files map[string]string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		to := filepath.Join(dir, fmt.Sprint(len(replace), "_", filepath.Base(path)))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, path)] = to
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// build makes a test's program.
func (r *runner) build(ctx context.Context, m *Mutant, bin string, flags ...string) (string, error) {
	args := append([]string{"test", "-c", "-ldflags=-s -w", "-o", bin}, flags...)
	if m.Race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+m.Package)...)
	cmd.Dir = r.root
	if !m.Race {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	return output(cmd)
}

// errHung: the test did not end by itself.
var errHung = errors.New("the test's time was over")

// test runs the program where `go test` would. Its error is nil if it passed.
func (r *runner) test(ctx context.Context, m *Mutant, bin string) (string, error) {
	args := []string{"-test.run", m.pattern(), "-test.v", "-test.failfast", "-test.timeout", r.soon.String()}
	const rapidKeepsNothing = "rapid.nofailfile"
	if knows, err := mentions(bin, rapidKeepsNothing); err != nil {
		return "", err
	} else if knows { // or a property test would write what failed into the working tree
		args = append(args, "-"+rapidKeepsNothing)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = filepath.Join(r.root, m.Package)
	out, err := output(cmd)
	if err != nil && (ctx.Err() != nil || strings.Contains(out, "panic: test timed out after ")) {
		err = errHung
	}
	return out, err
}

// mentions tells that a program has a flag of that name, or a text like it.
func mentions(bin, flag string) (bool, error) {
	b, err := os.ReadFile(bin)
	return bytes.Contains(b, []byte(flag)), err
}

// output runs a command, with all that it starts in a group that ends with it.
func output(cmd *exec.Cmd) (string, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	b, err := cmd.CombinedOutput()
	return string(b), err
}

// brief is the beginning and the end of what is too long to be read.
func brief(output string) string {
	const kept = 16 << 10
	if len(output) > kept {
		output = output[:kept/2] + "\n…\n" + output[len(output)-kept/2:]
	}
	return output
}
