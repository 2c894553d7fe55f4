package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every text and every test of the list is still there.
func TestList(t *testing.T) {
	for _, wrong := range check("../..", all()) {
		t.Error(wrong)
	}
	if n := len(all()); n < 40 {
		t.Errorf("only %d bugs", n)
	}
}

// A list that has rotted is seen.
func TestCheck(t *testing.T) {
	root := small(t)
	good := Mutant{Name: "a", Breaks: "b", Hunks: []Hunk{{"lib.go", "a + b", "a - b"}}, Package: ".", Test: "TestAdd"}
	if wrong := check(root, []Mutant{good}); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	for name, spoil := range map[string]func(*Mutant){
		"a text that is gone":        func(m *Mutant) { m.Hunks[0].Old = "a * b" },
		"a text that is there twice": func(m *Mutant) { m.Hunks[0].Old = "int" },
		"a file that is gone":        func(m *Mutant) { m.Hunks[0].File = "gone.go" },
		"a test that is gone":        func(m *Mutant) { m.Test = "TestAdd|TestGone" },
		"nothing that is broken":     func(m *Mutant) { m.Breaks = "" },
	} {
		m := good
		m.Hunks = []Hunk{good.Hunks[0]}
		spoil(&m)
		if wrong := check(root, []Mutant{m}); len(wrong) != 1 {
			t.Errorf("%s: %q", name, wrong)
		}
	}
	if wrong := check(root, []Mutant{good, good}); len(wrong) != 1 {
		t.Errorf("the same twice: %q", wrong)
	}
}

// small is a module with a function and its tests.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module small\n\ngo 1.26\n",
		"lib.go": "package small\n\nfunc Add(a, b int) int { return a + b }\n\nfunc Ready() bool { return true }\n",
		"lib_test.go": `package small

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

var nofailfile = flag.Bool("rapid.nofailfile", false, "as a property test has it")

func TestAdd(t *testing.T) {
	if Add(1, 2) == 3 {
		return
	}
	if !*nofailfile {
		os.WriteFile("failed", nil, 0o600)
	}
	t.Fatal("no")
}

func TestNothing(t *testing.T) {
	for i := range 2000 { // more than anybody reads: where it passed is in the middle
		t.Run(strconv.Itoa(i), func(t *testing.T) {})
	}
}

func TestWaits(t *testing.T) {
	for !Ready() {
	}
}

func TestFails(t *testing.T) { t.Fatal("always") }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Every verdict, and that the tree is as it was.
func TestVerdicts(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs; run without -short")
	}
	root := small(t)
	minus, waits := Hunk{"lib.go", "a + b", "a - b"}, Hunk{"lib.go", "return true", "return false"}
	list := []Mutant{
		{Name: "caught", Hunks: []Hunk{minus}, Test: "TestAdd"},
		{Name: "survived", Hunks: []Hunk{minus}, Test: "TestNothing"},
		{Name: "hung", Hunks: []Hunk{waits}, Test: "TestWaits"},
		{Name: "no program", Hunks: []Hunk{{"lib.go", "a + b", "a +"}}, Test: "TestAdd"},
		{Name: "fails anyway", Hunks: []Hunk{minus}, Test: "TestFails"},
		{Name: "no test", Hunks: []Hunk{minus}, Test: "TestOfNobody"},
		{Name: "no text", Hunks: []Hunk{{"lib.go", "a * b", "a"}}, Test: "TestAdd"},
	}
	want := []Verdict{Caught, Survived, Hung, NoBuild, NoControl, NoControl, NoBuild}
	r := &runner{root: root, dir: t.TempDir(), jobs: 2, limit: 5 * time.Minute, soon: 2 * time.Second, progress: io.Discard}
	results, err := r.runAll(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range results {
		if res.Verdict != want[i] {
			t.Errorf("%s: %s\n%s", res.Name, res.Verdict, res.Output)
		}
	}
	if r := results[0]; len(r.Failed) != 1 || r.Failed[0] != "TestAdd" || r.Output != "" {
		t.Errorf("%+v", r)
	}
	if b, err := os.ReadFile(filepath.Join(root, "lib.go")); err != nil || !strings.Contains(string(b), "a + b") {
		t.Errorf("the tree was changed: %s, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(root, "failed")); err == nil {
		t.Error("a property test has written what failed into the tree")
	}
	var out bytes.Buffer
	if err := print(&out, results, false); err != nil || !strings.Contains(out.String(), "1 of 7 caught") {
		t.Errorf("%v\n%s", err, &out)
	}
	if err := print(io.Discard, results, true); err != nil {
		t.Error(err)
	}
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{{"-jobs", "0"}, {"-run", "("}, {"-run", "no bug is called so"}, {"more"}} {
		if err := run(t.Context(), args, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
