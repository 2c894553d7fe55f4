// Command tryout takes a release that was made and looks whether it is one: it builds it once
// more, in another directory and with a build cache of its own, and compares every byte; it looks
// into every program; starts those of this machine; runs the image in a chroot as its user, with
// a message sent in it; and opens the packages.
//
//	go run -C tools/release ./tryout --root ../.. --release ../../bin/release
//
// It needs root for the chroot, and Debian's dpkg-deb. It owns the directories that it makes and the processes
// that it starts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// trial is a release that is tried out.
type trial struct {
	root, dir, work string
	version         string
	platforms       string
	sharedCache     bool
}

func main() {
	var t trial
	flag.StringVar(&t.root, "root", "../..", "the checkout that the release was made of")
	flag.StringVar(&t.dir, "release", "../../bin/release", "the release")
	flag.StringVar(&t.platforms, "platforms", "", "the platforms that it was made for, if not all")
	flag.BoolVar(&t.sharedCache, "shared-cache", false, "build the second time with the cache of the first: faster, and shows less")
	again := flag.Bool("again", true, "build it a second time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := t.run(ctx, *again); err != nil {
		fmt.Fprintln(os.Stderr, "tryout:", err)
		stop()
		os.Exit(1)
	}
}

func (t *trial) run(ctx context.Context, again bool) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("it needs root, for the chroot of the image")
	}
	for _, dir := range []*string{&t.root, &t.dir} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	if t.work, err = os.MkdirTemp("", "skein-tryout-"); err != nil {
		return err
	}
	defer os.RemoveAll(t.work)
	bills, err := filepath.Glob(filepath.Join(t.dir, "skein_*.cdx.json"))
	if err != nil || len(bills) != 1 {
		return fmt.Errorf("%s has %d bills of materials, want one", t.dir, len(bills))
	}
	t.version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(bills[0]), "skein_"), ".cdx.json")
	if err := command(ctx, t.dir, nil, "sha256sum", "--check", "--quiet", "SHA256SUMS"); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"programs", t.programs}, {"image", t.image}, {"packages", t.packages}} {
		fmt.Println("tryout:", step.name)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	if !again {
		fmt.Println("tryout: it is good; it was not built a second time")
		return nil
	}
	fmt.Println("tryout: the second build")
	if err := t.again(ctx); err != nil {
		return err
	}
	fmt.Println("tryout: two builds, the same bytes")
	return nil
}

// again builds the commit in a directory of its own and compares.
func (t *trial) again(ctx context.Context) (err error) {
	tree, out := filepath.Join(t.work, "a longer path", "tree"), filepath.Join(t.work, "again")
	if err := command(ctx, t.root, nil, "git", "worktree", "add", "--quiet", "--detach", tree, "HEAD"); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, command(context.WithoutCancel(ctx), t.root, nil, "git", "worktree", "remove", "--force", tree))
	}()
	env := os.Environ()
	if !t.sharedCache {
		env = append(env, "GOCACHE="+filepath.Join(t.work, "cache"))
	}
	if err := command(ctx, filepath.Join(tree, "web"), env, "sh", "-c", "npm ci --no-audit --no-fund --silent && npm run build --silent"); err != nil {
		return err
	}
	if err := command(ctx, filepath.Join(tree, "tools/release"), env, "go", "run", ".", "--root", "../..", "--out", out, "--platforms", t.platforms); err != nil {
		return err
	}
	return compare(t.dir, out)
}

// compare tells the files that are not the same in both.
func compare(a, b string) error {
	first, err := os.ReadDir(a)
	if err != nil {
		return err
	}
	second, err := os.ReadDir(b)
	if err != nil {
		return err
	}
	if len(first) != len(second) {
		return fmt.Errorf("%d files the first time, %d the second", len(first), len(second))
	}
	var faults []error
	for _, f := range first {
		if exec.Command("cmp", "--silent", filepath.Join(a, f.Name()), filepath.Join(b, f.Name())).Run() != nil {
			faults = append(faults, fmt.Errorf("%s has other bytes the second time", f.Name()))
		}
	}
	return errors.Join(faults...)
}

func command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	_, err := output(ctx, dir, env, name, args...)
	return err
}

func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out[max(0, len(out)-4000):])
	}
	return string(out), nil
}
