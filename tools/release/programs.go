package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// commands are the programs of a release.
var commands = []string{"skein", "skein-lab"}

func (p platform) program(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

// programs builds the programs of all platforms.
func (r *release) programs(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.root, "internal/webapp/dist/index.html")); err != nil {
		return fmt.Errorf("the web app is not built, which is in the server (make web): %w", err)
	}
	for _, p := range r.platforms {
		fmt.Fprintln(os.Stderr, "release:  ", p)
		args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=v" + r.version, "-o", r.bin(p) + "/"}
		for _, c := range commands {
			args = append(args, "./cmd/"+c)
		}
		if _, err := r.goTool(ctx, p, args...); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// bin is the directory of a platform's programs.
func (r *release) bin(p platform) string { return filepath.Join(r.work, p.os+"_"+p.arch) }

// notes writes what the changelog says of this version.
func (r *release) notes(context.Context) error {
	f, err := os.Open(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	defer f.Close()
	title := "Unreleased"
	if r.tagged {
		title = r.version
	}
	var body strings.Builder
	inside, found := false, false
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	heading := regexp.MustCompile(`^## \[?` + regexp.QuoteMeta(title) + `\]?( .*)?$`)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "## ") {
			inside = heading.MatchString(lines.Text())
			found = found || inside
			continue
		}
		if inside {
			body.WriteString(lines.Text() + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if text := strings.TrimSpace(body.String()); found && text != "" {
		return os.WriteFile(filepath.Join(r.out, "RELEASE_NOTES.md"), []byte(text+"\n"), 0o644)
	}
	return errors.New("CHANGELOG.md has nothing under \"## " + title + "\": say what is new before it is released (docs/releases.md)")
}
