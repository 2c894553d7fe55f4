package clients

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const document = "../../internal/api/openapi.json"

// A client that openapi-typescript makes from the document compiles under --strict
// and works: it registers, logs in, sends, lists, repeats with a key, and is told what
// was wrong.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	files := []string{"package.json", "package-lock.json"}
	installed := install(t, "typescript", files, func(dir string) {
		tool(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
	})
	dir := within(t, installed, "typescript", "package.json", "tsconfig.json", "client.ts")
	bin := filepath.Join(installed, "node_modules", ".bin")
	// Requests may leave out what has a default.
	tool(t, dir, filepath.Join(bin, "openapi-typescript"), absolute(t, document), "--default-non-nullable=false", "-o", "api.ts")
	tool(t, dir, filepath.Join(bin, "tsc"), "--project", ".")
	if said := tool(t, dir, "node", "out/client.js", s.URL()); !strings.HasSuffix(said, "ok\n") {
		t.Error(said)
	}
}

// A client that openapi-python-client makes from the document does the same.
func TestPython(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	installed := install(t, "python", []string{"requirements.txt"}, func(dir string) {
		tool(t, dir, interpreter(t), "-m", "venv", "venv")
		tool(t, dir, "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
	})
	dir := within(t, installed, "python", "client.py", "generator.yaml")
	python := filepath.Join(installed, "venv", "bin", "python")
	tool(t, dir, python, "-m", "openapi_python_client", "generate", "--meta", "none", "--output-path", "skein_api", "--config", "generator.yaml", "--path", absolute(t, document))
	tool(t, dir, python, "-m", "compileall", "-q", "skein_api")
	if said := tool(t, dir, python, "client.py", s.URL()); !strings.HasSuffix(said, "ok\n") {
		t.Error(said)
	}
}

// interpreter is a Python that can make a virtual environment with pip in it. Debian's
// package for that is for /usr/bin/python3 only, which need not be the first one.
func interpreter(t *testing.T) string {
	t.Helper()
	var said strings.Builder
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.CommandContext(t.Context(), name, "-c", "import ensurepip, venv").CombinedOutput()
		if err == nil {
			return name
		}
		said.WriteString(name + ": " + err.Error() + "\n" + string(out))
	}
	t.Fatalf("the generated Python client was NOT tested: it needs python3 with venv (`make deps`):\n%s", &said)
	return ""
}

// install returns a directory below bin/.clients that has the files and what do
// installs there. It is made once for what the files say: a later run finds it, one
// at the same time makes it for itself and takes whichever was ready first.
func install(t *testing.T, name string, files []string, do func(dir string)) string {
	t.Helper()
	sum := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(name, file))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%s %d %s", file, len(text), text)
	}
	root := absolute(t, "../../bin/.clients")
	final := filepath.Join(root, fmt.Sprintf("%s-%.6x", name, sum.Sum(nil)))
	if _, err := os.Stat(final); err == nil {
		return final
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := within(t, root, name, files...)
	do(dir)
	if err := os.Rename(dir, final); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return final
}

// within makes a directory with copies of the files, which is gone after the test.
func within(t *testing.T, root, name string, files ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp(root, "run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(name, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tool runs a program in a directory and returns what it said on standard output.
func tool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var failed strings.Builder
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, &failed, time.Second
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &failed)
	}
	return string(out)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}
