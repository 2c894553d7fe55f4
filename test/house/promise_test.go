package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// Each row of docs/promise.md quotes a sentence that stands where it says, names tests for
// both stores, and bugs that undo it. All of them are there, and of each bug one of the
// row's tests is the one that has to find it. Only what says that it is missing may be.
func TestPromise(t *testing.T) {
	const page = "../../docs/promise.md"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	bugs := plantedBugs(t)
	rows := 0
	for n, line := range strings.Split(string(raw), "\n") {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| ") || len(cells) != 6 || cells[2] == " the rule " {
			continue
		}
		rows++
		for _, wrong := range slices.Concat(wrongRule(t, cells[2]), wrongTests(t, cells[3]), wrongBugs(bugs, cells[3], cells[4])) {
			t.Errorf("%s:%d: %s", page, n+1, wrong)
		}
	}
	if rows < 38 {
		t.Errorf("only %d rows", rows)
	}
}

// A page that names what is not there is seen.
func TestPromiseIsHeld(t *testing.T) {
	bugs := plantedBugs(t)
	const found = "`internal/journal/pebble TestFsyncFails`"
	for name, wrong := range map[string][]string{
		"a sentence that is gone":    wrongRule(t, "[SPEC](../proto/SPEC.md#4-entries): “a message is unread for ever”"),
		"a section that is gone":     wrongRule(t, "[SPEC](../proto/SPEC.md#4-gone): “a message that was recalled is not unread”"),
		"no sentence":                wrongRule(t, "[SPEC](../proto/SPEC.md#4-entries)"),
		"a test that is gone":        wrongTests(t, "embedded: `internal/soak TestGone`; PostgreSQL: –"),
		"a case of a suite is gone":  wrongTests(t, "embedded: `internal/journal/pebble TestConformanceInMemory/Gone`; PostgreSQL: –"),
		"a store is forgotten":       wrongTests(t, "embedded: "+found),
		"a bug that is gone":         wrongBugs(bugs, found, "`gone`"),
		"a bug that others find":     wrongBugs(bugs, found, "`beacon-of-the-first-member`"),
		"no bug, and nothing missed": wrongBugs(bugs, found, "–"),
	} {
		if len(wrong) != 1 {
			t.Errorf("%s: %q", name, wrong)
		}
	}
	right := slices.Concat(
		wrongRule(t, "[SPEC](../proto/SPEC.md#4-entries): “a message that was recalled is not unread”"),
		wrongTests(t, "embedded: "+found+"; PostgreSQL: `internal/journal/postgres TestConformance/Recalled`"),
		wrongBugs(bugs, found, "`ack-before-fsync`"),
	)
	if len(right) > 0 {
		t.Error(right)
	}
}

// missing is how a cell says that there is nothing to name.
const missing = "**missing"

// quotedRule is a link to a section, and what stands there.
var quotedRule = regexp.MustCompile(`\]\(([^)#]+)#([^)]+)\): “([^”]+)”`)

// wrongRule tells what is not right about the cell with the rule.
func wrongRule(t *testing.T, cell string) (wrong []string) {
	t.Helper()
	rules := quotedRule.FindAllStringSubmatch(cell, -1)
	if len(rules) == 0 {
		wrong = append(wrong, "no rule is quoted")
	}
	for _, r := range rules {
		raw, err := os.ReadFile(filepath.Join("../../docs", r[1]))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(anchors(string(raw)), r[2]) {
			wrong = append(wrong, fmt.Sprintf("%s has no section %s", r[1], r[2]))
		}
		if !strings.Contains(plain(string(raw)), plain(r[3])) {
			wrong = append(wrong, fmt.Sprintf("in %s there is no %q", r[1], r[3]))
		}
	}
	return wrong
}

// plain is a text without what is bold and where its lines end.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "**", "")), " ")
}

// anchors are the names by which links reach a page's headings.
func anchors(text string) (all []string) {
	for line := range strings.SplitSeq(text, "\n") {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		for n, first := 1, name; slices.Contains(all, name); n++ {
			name = fmt.Sprint(first, "-", n)
		}
		all = append(all, name)
	}
	return all
}

// wrongTests tells what is not right about the cell with the tests.
func wrongTests(t *testing.T, cell string) (wrong []string) {
	t.Helper()
	tests := namedTest.FindAllStringSubmatch(cell, -1)
	for _, m := range tests {
		sub := strings.TrimPrefix(m[3], "/")
		if !hasTest(t, m[1], m[2], "") || !hasTest(t, m[1], m[2], sub) && !inSuite(t, sub) {
			wrong = append(wrong, "there is no "+m[0])
		}
	}
	for _, m := range namedTitle.FindAllStringSubmatch(cell, -1) {
		if !hasTitle(t, m[1], m[2]) {
			wrong = append(wrong, "there is no "+m[0])
		}
	}
	if !strings.Contains(cell, "no store has a part in it: ") && !(strings.Contains(cell, "embedded: ") && strings.Contains(cell, "PostgreSQL: ")) {
		wrong = append(wrong, "a store is forgotten")
	}
	if len(tests) == 0 {
		wrong = append(wrong, "no test shows it")
	}
	return wrong
}

// inSuite looks for the name of a subtest in the suites that both engines of a store pass.
func inSuite(t *testing.T, sub string) bool {
	t.Helper()
	last := sub[strings.LastIndex(sub, "/")+1:]
	for _, suite := range []string{"journal/journaltest", "directory/directorytest"} {
		files, err := filepath.Glob(filepath.Join("../../internal", suite, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), `{"`+last+`", `) {
				return true
			}
		}
	}
	return false
}

var namedBug = regexp.MustCompile("`([a-z0-9-]+)`")

// wrongBugs tells what is not right about the cell with the bugs.
func wrongBugs(bugs map[string][]string, tests, cell string) (wrong []string) {
	var shown []string
	for _, m := range namedTest.FindAllStringSubmatch(tests, -1) {
		shown = append(shown, m[1]+" "+m[2])
	}
	names := namedBug.FindAllStringSubmatch(cell, -1)
	if len(names) == 0 && !strings.Contains(cell, missing) {
		wrong = append(wrong, "no bug undoes it, and it does not say that one is missing")
	}
	for _, m := range names {
		finders, ok := bugs[m[1]]
		switch {
		case !ok:
			wrong = append(wrong, "no bug is called "+m[1])
		case !slices.ContainsFunc(finders, func(f string) bool { return slices.Contains(shown, f) }):
			wrong = append(wrong, fmt.Sprintf("%s is found by %q, which the row does not name", m[1], finders))
		}
	}
	return wrong
}

// plantedBugs are those of test/mutants by their names, each with the tests that have to
// find it, as directory and name.
func plantedBugs(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../test/mutants/list_*.go")
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	texts := map[string]string{} // of constants
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
				for i := range v.Names {
					texts[v.Names[i].Name] = textOf(v.Values[i], nil)
				}
			}
			return true
		})
	}
	bugs := map[string][]string{}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				addBug(bugs, lit, texts)
			}
			return true
		})
	}
	if len(bugs) < 100 {
		t.Fatalf("only %d planted bugs were read", len(bugs))
	}
	return bugs
}

// addBug adds a bug, if it is one.
func addBug(bugs map[string][]string, lit *ast.CompositeLit, texts map[string]string) {
	fields := map[string]string{}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				fields[key.Name] = textOf(kv.Value, texts)
			}
		}
	}
	if fields["Name"] == "" || fields["Package"] == "" {
		return
	}
	names, _, _ := strings.Cut(fields["Test"], "/")
	for name := range strings.SplitSeq(names, "|") {
		bugs[fields["Name"]] = append(bugs[fields["Name"]], fields["Package"]+" "+name)
	}
}

// textOf is what an expression of text says, "" for another one.
func textOf(e ast.Expr, texts map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return text
	case *ast.Ident:
		return texts[e.Name]
	case *ast.BinaryExpr:
		return textOf(e.X, texts) + textOf(e.Y, texts)
	}
	return ""
}
