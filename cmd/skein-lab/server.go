package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// skeinPath is where the server's program lies, "" if nobody said.
type skeinPath string

// find returns the program. One that lies beside this one was built with it, so it
// comes before what else is installed; one that was named and is not there is an
// error, not a reason to measure another.
func (p skeinPath) find() (string, error) {
	if p != "" {
		return p.named()
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	name := "skein"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	beside := filepath.Join(filepath.Dir(self), name)
	switch st, err := os.Stat(beside); {
	case err == nil && !st.IsDir():
		return beside, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the server's program: %w", err)
	}
	found, err := exec.LookPath("skein")
	if err != nil {
		return "", fmt.Errorf("there is no server to start: no %s, and no skein on PATH; build one (make build), name it with --skein PATH, or measure one that runs (--server URL)", beside)
	}
	return found, nil
}

func (p skeinPath) named() (string, error) {
	path, err := filepath.Abs(string(p)) // exec looks for a bare name on PATH only
	if err != nil {
		return "", err
	}
	switch st, err := os.Stat(path); {
	case err != nil:
		return "", fmt.Errorf("--skein: %w", err)
	case st.IsDir():
		return "", fmt.Errorf("--skein: %s is a directory; name the program in it", path)
	}
	return path, nil
}

// versionOf asks the program, which may be any build, and finds out whether it is
// one of Skein at all.
func versionOf(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "version").Output()
	said := strings.TrimSpace(string(out))
	if err == nil && !strings.HasPrefix(said, "skein ") {
		err = fmt.Errorf("`version` printed %q", said)
	}
	if err != nil {
		return "", fmt.Errorf("%s is no Skein server that can be started: %w", program, err)
	}
	return said, nil
}
