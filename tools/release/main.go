// Command release makes what a release of Skein consists of, from a clean tree, into one
// directory: programs for six platforms and their archives, packages for Debian and Red Hat, an
// image for containers, a chart, a formula for Homebrew, notices, a bill of materials, notes and
// checksums.
//
// What it promises: the same commit, version and Go make the same bytes, on any machine and in
// any directory. So every time is that of the commit, every owner is root, every list is sorted,
// and nothing is asked of the machine but Go, git and Node. It downloads nothing but modules, and publishes nothing.
//
// It is a module of its own, so that none of what it needs reaches the server's go.mod.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", "../..", "top of the tree")
	out := flags.String("out", "", "directory of the release; it must not be there yet, or be empty")
	only := flags.String("platforms", "", "only these of "+strings.Join(names(platforms), ","))
	dirty := flags.Bool("dirty", false, "also of a tree with changes that are in no commit; what comes out is nobody's release")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *out == "" {
		return fmt.Errorf("usage: release --out DIR [--root DIR] [--platforms OS/ARCH,…] [--dirty]")
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	r, err := open(ctx, *root, *dirty)
	if err != nil {
		return err
	}
	r.platforms = chosen
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	return r.make(ctx)
}

// make writes all files. When it fails, what it wrote is no release: the checksums, which come
// last, are missing.
func (r *release) make(ctx context.Context) error {
	if left, err := os.ReadDir(r.out); err == nil && len(left) > 0 {
		return fmt.Errorf("%s is not empty", r.out)
	}
	work, err := os.MkdirTemp("", "skein-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r.work = work
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"notes", r.notes},
		{"programs", r.programs},
		{"notices", r.notices},
		{"bill of materials", r.billOfMaterials},
		{"archives", r.archives},
		{"packages", r.packages},
		{"image", r.image},
		{"chart", r.chart},
		{"formula", r.formula},
		{"checksums", r.checksums},
	} {
		fmt.Fprintln(os.Stderr, "release:", step.name)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	fmt.Println(r.out)
	return nil
}
