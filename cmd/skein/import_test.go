//go:build !windows

package main

import (
	"os"
	"path/filepath"
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
