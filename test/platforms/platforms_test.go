package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: what one platform lacks is found there and nowhere else, also below
// what is asked for and inside a function.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":      "module github.com/skein-im/skein/x\n\ngo 1.26\n",
		"main.go":     "package main\n\nimport \"github.com/skein-im/skein/x/low\"\n\nfunc main() { low.End() }\n",
		"low/low.go":  "package low\n\nimport \"syscall\"\n\nfunc End() { _ = syscall.Kill(1, 0) }\n",
		"low/file.go": "package low\n\nfunc unused() int { return 1 }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	for _, platform := range []string{"linux/arm64", "darwin/arm64"} {
		if err := check(platform, []string{"."}); err != nil {
			t.Errorf("%s: %v", platform, err)
		}
	}
	if err := check("windows/amd64", []string{"."}); err == nil || !strings.Contains(err.Error(), "low.go:5") || !strings.Contains(err.Error(), "Kill") {
		t.Errorf("windows has no Kill; told: %v", err)
	}
	if err := check("linux/none", []string{"."}); err == nil {
		t.Error("an architecture that does not exist was checked")
	}
	if err := check("linux/amd64", []string{"./none"}); err == nil {
		t.Error("a package that does not exist was checked")
	}
}
