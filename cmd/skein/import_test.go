//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/importing"
)

// TestReportIsPrivate: the report of an import, which has names and words of it, is its owner's
// alone, also in a file that was there and was everybody's to read.
func TestReportIsPrivate(t *testing.T) {
	for _, there := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "report.json")
		if there {
			if err := os.WriteFile(name, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := (&importCmd{Report: name, JSON: true}).tell(&importing.Report{System: "slack"}); err != nil {
			t.Fatal(err)
		}
		at, err := os.Stat(name)
		if err != nil || at.Mode().Perm() != 0o600 || at.Size() == 0 {
			t.Errorf("there before: %v; %v, %v", there, at, err)
		}
	}
}

// TestNothingWasImported: what cannot be read is told, and not that something of it is kept.
func TestNothingWasImported(t *testing.T) {
	name := filepath.Join(t.TempDir(), "export.zip")
	if err := os.WriteFile(name, []byte("no zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, said := run(t, "import", "slack", name, "--data", t.TempDir())
	if code != 1 || said == "" || strings.Contains(said, "is kept") {
		t.Errorf("it ended with %d and says %q", code, said)
	}
}
