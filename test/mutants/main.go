// Command mutants plants bugs, one at a time, and expects a test to find each:
//
//	go run ./test/mutants                     all of them
//	go run ./test/mutants -run 'beacon|ack'   those whose names match
//	go run ./test/mutants -json               for a program
//
// A test that nothing can make fail proves nothing. Each bug of the list breaks
// one promise (ARCHITECTURE.md, "What always holds"; the checker's invariants)
// and names the test that must fail because of it: by an assertion or a panic,
// within seconds. One that is found only because the test hangs into its limit
// is a survivor: nobody reads a dump of stacks as "the ack came before the
// fsync".
//
// The working tree is never changed: the compiler reads the changed files from
// elsewhere (go build -overlay). A bug is a text that occurs exactly once in its
// file and what takes its place, so that code may move; `go test` here checks
// that every text and every test is still there.
//
// Goroutines: one for every job that may run at the same time; all end before
// the command does.
//
// Exit codes: 0 all were caught; 1 one survived, or a test fails without any
// bug; 2 the command line is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

var (
	errUsage    = errors.New("wrong command line")
	errSurvived = errors.New("not every bug was caught")
)

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("mutants", flag.ContinueOnError)
	names := fs.String("run", "", "only bugs whose names match this regular expression")
	asJSON := fs.Bool("json", false, "print JSON")
	jobs := fs.Int("jobs", 2, "how many at the same time")
	limit := fs.Duration("limit", time.Minute, "what a bug may take to be built and found")
	soon := fs.Duration("soon", 20*time.Second, "what its test may take to fail")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 || *jobs < 1 {
		return errUsage
	}
	match, err := regexp.Compile(*names)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	var chosen []Mutant
	for _, m := range all() {
		if match.MatchString(m.Name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("%w: no bug is named so", errUsage)
	}
	dir, err := os.MkdirTemp("", "skein-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &runner{root: root, dir: dir, jobs: *jobs, limit: *limit, soon: *soon, progress: os.Stderr}
	results, err := r.runAll(ctx, chosen)
	if err != nil {
		return err
	}
	if err := print(out, results, *asJSON); err != nil {
		return err
	}
	for i := range results {
		if results[i].Verdict != Caught {
			return errSurvived
		}
	}
	return nil
}

// moduleRoot is where the module's go.mod is.
func moduleRoot(ctx context.Context) (string, error) {
	b, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	path := strings.TrimSpace(string(b))
	if path == "" || path == os.DevNull {
		return "", errors.New("this is no module")
	}
	return filepath.Dir(path), nil
}
