package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is what is known of the release that is made.
type release struct {
	root, out, work string
	version         string // 1.2.3, or of a commit without a tag 0.0.0-20260102150405.g0123456789ab
	tagged          bool
	commit          string
	at              time.Time // of the commit
	goVersion       string    // the one that go.mod asks for
	platforms       []platform
	modules         []goModule   // of the programs, by notices
	npm             []npmPackage // of the web app, by notices
}

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// platforms are all that a release is for.
var platforms = []platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

func names(all []platform) (list []string) {
	for _, p := range all {
		list = append(list, p.String())
	}
	return list
}

// choose finds the platforms of a list; of an empty one all.
func choose(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(names(platforms), name)
		if i < 0 {
			return nil, fmt.Errorf("--platforms: %q is none of %s", name, strings.Join(names(platforms), ", "))
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}

// semver is a version as a tag has it, after its v.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// open reads from git which commit and version is released.
func open(ctx context.Context, root string, dirty bool) (*release, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r := &release{root: root}
	changed, err := r.git(ctx, "status", "--porcelain", "--untracked-files=normal")
	if err != nil {
		return nil, err
	}
	if changed != "" && !dirty {
		return nil, fmt.Errorf("the tree has changes that are in no commit; commit them first:\n%s", changed)
	}
	if r.commit, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	seconds, err := r.git(ctx, "show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	r.at = time.Unix(n, 0).UTC()
	tags, err := r.git(ctx, "tag", "--points-at", "HEAD", "--list", "v[0-9]*")
	if err != nil {
		return nil, err
	}
	if r.version, r.tagged, err = versionOf(strings.Fields(tags), r.commit, r.at); err != nil {
		return nil, err
	}
	if r.tagged && changed != "" {
		return nil, fmt.Errorf("v%s is tagged, and the tree has changes: --dirty is for trying out", r.version)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	r.goVersion, err = goOf(mod)
	return r, err
}

// goOf is the version of Go that go.mod names to build with; its line "go" alone is the oldest one
// that would do.
func goOf(mod []byte) (string, error) {
	for _, line := range []string{`(?m)^toolchain go(\S+)$`, `(?m)^go (\S+)$`} {
		if m := regexp.MustCompile(line).FindSubmatch(mod); m != nil {
			return string(m[1]), nil
		}
	}
	return "", errors.New("go.mod does not say which Go it is for")
}

// versionOf is the version of a commit with these tags.
func versionOf(tags []string, commit string, at time.Time) (version string, tagged bool, err error) {
	switch len(tags) {
	case 0:
		return fmt.Sprintf("0.0.0-%s.g%.12s", at.Format("20060102150405"), commit), false, nil
	case 1:
		version = strings.TrimPrefix(tags[0], "v")
		if !semver.MatchString(version) {
			return "", false, fmt.Errorf("the tag %s is no version like v1.2.3 or v1.2.3-rc.1", tags[0])
		}
		return version, true, nil
	}
	return "", false, fmt.Errorf("the commit has %d versions: %s", len(tags), strings.Join(tags, ", "))
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	return r.output(ctx, nil, r.root, "git", args...)
}

// goTool is Go as it builds the release: of exactly the version that go.mod names, and without
// anything that the machine's own settings would change in what comes out.
func (r *release) goTool(ctx context.Context, p platform, args ...string) (string, error) {
	env := append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off", "GODEBUG=", "GOTOOLCHAIN=go"+r.goVersion)
	return r.output(ctx, env, r.root, "go", args...)
}

// output runs a program and returns what it printed, without the newline at its end.
func (r *release) output(ctx context.Context, env []string, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args[:min(len(args), 3)], " "), err, stderr.Bytes())
	}
	return strings.TrimRight(string(out), "\n"), nil
}
