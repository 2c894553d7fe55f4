package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each row of docs/features.md that says that something is there names tests, and each
// of those tests is there.
func TestFeatures(t *testing.T) {
	const page = "../../docs/features.md"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for n, line := range strings.Split(string(raw), "\n") {
		tests := testsIn(t, page, n+1, line)
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(strings.TrimSpace(cells[1]), "**") || cells[1] == " feature " || cells[1] == "---" {
			continue
		}
		rows++
		switch state := strings.TrimSpace(cells[2]); {
		case state == "no" && len(tests) > 0:
			t.Errorf("%s:%d: what is not there has a test", page, n+1)
		case state == "no":
		case state != "yes" && !strings.HasPrefix(state, "in part: "):
			t.Errorf("%s:%d: %q is neither yes, no nor in part", page, n+1, state)
		case len(tests) == 0:
			t.Errorf("%s:%d: no test shows it", page, n+1)
		}
	}
	if rows < 40 {
		t.Errorf("only %d rows", rows)
	}
}

// Each row of docs/blocks.md names tests, and each of those tests is there.
func TestBlocks(t *testing.T) {
	const page = "../../docs/blocks.md"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for n, line := range strings.Split(string(raw), "\n") {
		tests := testsIn(t, page, n+1, line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| | ") {
			continue
		}
		if rows++; len(tests) == 0 || len(strings.Split(line, "|")) != 6 {
			t.Errorf("%s:%d: no test shows it, or a cell is missing", page, n+1)
		}
	}
	if rows < 14 {
		t.Errorf("only %d rows", rows)
	}
}

// A test in TypeScript is named by its directory and its title: `sdk/typescript "its title"`.
var namedTitle = regexp.MustCompile("`([a-z0-9/_-]+) \"([^\"`]+)\"`")

var namedTest = regexp.MustCompile("`([a-z0-9/_-]+) (Test[A-Za-z0-9_]+)(/[^`]+)?`")

// testsIn are the tests that a line of a page names; one that is not there is an error.
func testsIn(t *testing.T, page string, n int, line string) [][]string {
	t.Helper()
	tests := namedTest.FindAllStringSubmatch(line, -1)
	for _, m := range tests {
		if !hasTest(t, m[1], m[2], strings.TrimPrefix(m[3], "/")) {
			t.Errorf("%s:%d: there is no %s", page, n, m[0])
		}
	}
	for _, m := range namedTitle.FindAllStringSubmatch(line, -1) {
		if !hasTitle(t, m[1], m[2]) {
			t.Errorf("%s:%d: there is no %s", page, n, m[0])
		}
		tests = append(tests, m)
	}
	return tests
}

// hasTitle looks for the title of a test in the files *.test.ts, .tsx and .mjs of a directory and of those below it.
func hasTitle(t *testing.T, dir, title string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "dist"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".test.ts") && !strings.HasSuffix(path, ".test.tsx") && !strings.HasSuffix(path, ".test.mjs"):
			return nil
		}
		text, err := os.ReadFile(path)
		found = found || strings.Contains(string(text), `test("`+title+`"`) || strings.Contains(string(text), `it("`+title+`"`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// hasTest looks for a test in a package, and for the name of a subtest in its files.
func hasTest(t *testing.T, dir, name, sub string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return strings.Contains(all.String(), "func "+name+"(") && (sub == "" || strings.Contains(all.String(), `"`+sub+`"`))
}
