// Command fuzzall runs every fuzz target of the repository, one after another,
// each for a given time and with bounded memory, and prints what each did:
//
//	go run ./test/fuzzall -time 60s
//
// It ends with status 1 when a target failed or none was found; the input that
// failed is in the target's testdata/fuzz, where `go test` tries it from then
// on. It owns nothing and knows no package by name. One goroutine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

type options struct {
	time     time.Duration
	parallel int
	memory   int64 // MiB
	match    string
	packages []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{}
	flag.DurationVar(&o.time, "time", time.Minute, "how long each target is fuzzed")
	flag.IntVar(&o.parallel, "parallel", 2, "workers of a target")
	flag.Int64Var(&o.memory, "memory", 1024, "MiB the heap of a worker may have (GOMEMLIMIT); with 3 GiB more of address space it is killed")
	flag.StringVar(&o.match, "match", "", "fuzz only targets whose package/name matches this expression")
	flag.Parse()
	if o.packages = flag.Args(); len(o.packages) == 0 {
		o.packages = []string{"./..."}
	}
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		os.Exit(1)
	}
}

// run fuzzes all targets and returns an error if one failed.
func run(ctx context.Context, o options, out io.Writer) error {
	match, err := regexp.Compile(o.match)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fuzzall-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := find(ctx, o.packages, match)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("no fuzz target was found")
	}
	fmt.Fprintf(out, "%d targets, %v each, %d workers, GOMEMLIMIT %d MiB\n\n", len(all), o.time, o.parallel, o.memory)
	var results []result
	failed := 0
	binary := ""
	for i, t := range all {
		if i == 0 || all[i-1].pkg != t.pkg {
			if binary, err = build(ctx, dir, t.pkg); err != nil {
				return err
			}
		}
		r := fuzz(ctx, o, binary, t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if results = append(results, r); r.failed {
			failed++
			fmt.Fprintf(out, "FAIL %s\n%s\n", t, r.output)
		}
	}
	table(out, results)
	if failed > 0 {
		return fmt.Errorf("%d of %d targets failed", failed, len(all))
	}
	return nil
}

// table prints one line per target.
func table(out io.Writer, results []result) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "executions\texecs/s\tnew interesting\tcorpus\tmax RSS\tresult\t  target")
	for _, r := range results {
		verdict := "ok"
		if r.failed {
			verdict = "FAIL"
		}
		fmt.Fprintf(w, "%d\t%.0f\t%d\t%d\t%d MiB\t%s\t  %s\n",
			r.execs, float64(r.execs)/max(r.took.Seconds(), 0.001), r.interesting, r.corpus, r.maxRSS>>20, verdict, r.target)
	}
	_ = w.Flush() // stdout is gone; the exit code tells
}

// target is one fuzz function.
type target struct{ pkg, dir, name string }

func (t target) String() string { return t.pkg + "." + t.name }

// find lists the fuzz targets of the packages as they would be built here. It
// reads their test files: compiling every package to ask would take minutes.
func find(ctx context.Context, packages []string, match *regexp.Regexp) ([]target, error) {
	const form = "{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}}\t{{$p.Dir}}\t{{.}}\n{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}}\t{{$p.Dir}}\t{{.}}\n{{end}}"
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-f", form}, packages...)...)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []target
	for line := range strings.Lines(string(raw)) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		if len(parts) != 3 {
			continue
		}
		names, err := declared(filepath.Join(parts[1], parts[2]))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if t := (target{parts[0], parts[1], name}); match.MatchString(t.String()) {
				all = append(all, t)
			}
		}
	}
	return all, nil
}

// declared lists the fuzz functions of a file.
func declared(path string) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
			names = append(names, fn.Name.Name)
		}
	}
	return names, nil
}

// build compiles a package's tests with the fuzzer's instrumentation.
func build(ctx context.Context, dir, pkg string) (string, error) {
	binary := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-fuzz=.", "-o", binary, pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the tests of %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}
