package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// result is what became of a target.
type result struct {
	target
	execs, interesting, corpus int64
	took                       time.Duration
	// maxRSS is the largest resident size of any process of the target, in bytes.
	maxRSS int64
	failed bool
	output string
}

// addressSpace is what a worker may map beyond its heap: Go reserves far more
// than it uses, and the fuzzer shares 100 MiB with every worker.
const addressSpace = 3 << 30

// fuzz runs one target in its package's directory.
func fuzz(ctx context.Context, o options, binary string, t target) result {
	r := result{target: t}
	cache, err := cacheDir(ctx, t.pkg)
	if err != nil {
		r.failed, r.output = true, err.Error()
		return r
	}
	// A run that hangs is a failure as well.
	ctx, cancel := context.WithTimeout(ctx, o.time+2*time.Minute)
	defer cancel()
	command := limited(uint64(o.memory)<<20+addressSpace, binary,
		"-test.fuzz=^"+t.name+"$", "-test.run=^$", "-test.fuzztime="+o.time.String(),
		"-test.parallel="+strconv.Itoa(o.parallel), "-test.fuzzcachedir="+cache, "-test.timeout=0")
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%dMiB", o.memory))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets it end its workers
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err = cmd.Run()
	r.took = time.Since(start)
	if cmd.ProcessState == nil {
		r.failed, r.output = true, err.Error() // it was not started
		return r
	}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.maxRSS = maxRSSBytes(u)
	}
	r.output = out.String()
	r.read(r.output)
	r.failed = err != nil && !onlyTimeIsOver(r.output)
	if r.failed {
		r.output += "\n" + err.Error()
	}
	if !r.failed && r.execs == 0 {
		r.failed = true
		r.output += "\nnothing was executed"
	}
	return r
}

// timeIsOver is how a target ends whose time is over while a worker is busy.
var timeIsOver = regexp.MustCompile(`--- FAIL: Fuzz\w+ \([0-9.]+s\)\n {4}context deadline exceeded\nFAIL\n$`)

// onlyTimeIsOver tells that nothing was found: up to Go 1.26 the end of the
// time is now and then taken for a failure (go.dev/issue/75804). One that was
// found comes with its input.
func onlyTimeIsOver(output string) bool {
	return timeIsOver.MatchString(output) && !strings.Contains(output, "Failing input written")
}

// e.g. fuzz: elapsed: 3s, execs: 102 (34/sec), new interesting: 5 (total: 17)
var progress = regexp.MustCompile(`(?m)^fuzz: elapsed: [^,]+, execs: (\d+) .*new interesting: (\d+) \(total: (\d+)\)`)

// read takes the figures from the last line of progress.
func (r *result) read(output string) {
	all := progress.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(all[len(all)-1][i], 10, 64) // digits by the expression
		return n
	}
	r.execs, r.interesting, r.corpus = number(1), number(2), number(3)
}

// cacheDir is where `go test -fuzz` keeps what it found interesting, so that
// both go on from there.
func cacheDir(ctx context.Context, pkg string) (string, error) {
	raw, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOCACHE: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(raw)), "fuzz", filepath.FromSlash(pkg)), nil
}
