// Package workflows has actionlint read the workflows of the forge.
package workflows

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

const top = "../../.."

func files(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(top + "/.github/workflows/*.yml")
	if err != nil || len(list) < 3 {
		t.Fatalf("%d workflows, %v", len(list), err)
	}
	return list
}

func TestWorkflows(t *testing.T) {
	var out strings.Builder
	linter, err := actionlint.NewLinter(&out, &actionlint.LinterOptions{Oneline: true})
	if err != nil {
		t.Fatal(err)
	}
	faults, err := linter.LintFiles(files(t), nil)
	if err != nil || len(faults) > 0 {
		t.Errorf("%v\n%s", err, &out)
	}
}

var (
	uses   = regexp.MustCompile(`(?m)^\s*(?:- )?uses: (.*)$`)
	pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$`)
	target = regexp.MustCompile(`(?m)run: make ([a-z-]+)`)
)

// Actions of others are pinned by commit, no workflow may write more than it says, and what they
// make is in the Makefile.
func TestWorkflowsArePinned(t *testing.T) {
	makefile, err := os.ReadFile(top + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files(t) {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, m := range uses.FindAllStringSubmatch(text, -1) {
			if n++; !pinned.MatchString(m[1]) {
				t.Errorf("%s: %q is not pinned by its commit, with the version beside it", name, m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^` + m[1] + `:`).Match(makefile) {
				t.Errorf("%s: there is no make %s", name, m[1])
			}
		}
		if !strings.Contains(text, "\npermissions:\n  contents: read\n") {
			t.Errorf("%s does not say that it only reads", name)
		}
	}
	if n < 5 {
		t.Errorf("only %d uses of actions were found", n)
	}
}
