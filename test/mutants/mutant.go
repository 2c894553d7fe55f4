package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Mutant is a bug that a test must find.
type Mutant struct {
	Name string
	// Breaks is the promise that no longer holds with it.
	Breaks string
	// Hunks make the bug.
	Hunks []Hunk
	// Package has the test, as a path in the module; Test is its name, or several
	// with | between, or a test with a subtest behind a slash.
	Package, Test string
	// Race: the test finds it with the race detector only.
	Race bool
}

// Hunk replaces a text that occurs exactly once in a file of the module.
type Hunk struct {
	File, Old, New string
}

// pattern is for -test.run: it matches whole names.
func (m *Mutant) pattern() string {
	var parts []string
	for part := range strings.SplitSeq(m.Test, "/") {
		parts = append(parts, "^("+part+")$")
	}
	return strings.Join(parts, "/")
}

// tests are the names of the test functions.
func (m *Mutant) tests() []string {
	top, _, _ := strings.Cut(m.Test, "/")
	return strings.Split(top, "|")
}

// mutate returns the changed files by their paths in the module.
func (m *Mutant) mutate(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, h := range m.Hunks {
		text, ok := files[h.File]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, h.File))
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		if n := strings.Count(text, h.Old); n != 1 {
			return nil, fmt.Errorf("%s: %d times in %s, not once: %q", m.Name, n, h.File, h.Old)
		}
		files[h.File] = strings.Replace(text, h.Old, h.New, 1)
	}
	return files, nil
}

// check tells why the list is not as it must be, one line for each reason.
func check(root string, list []Mutant) (wrong []string) {
	names := map[string]bool{}
	for i := range list {
		m := &list[i]
		if names[m.Name] {
			wrong = append(wrong, m.Name+" is there twice")
		}
		names[m.Name] = true
		if m.Name == "" || m.Breaks == "" || len(m.Hunks) == 0 {
			wrong = append(wrong, fmt.Sprintf("entry %d (%s) is not complete", i, m.Name))
		}
		if _, err := m.mutate(root); err != nil {
			wrong = append(wrong, err.Error())
		}
		there, err := testsIn(filepath.Join(root, m.Package))
		if err != nil {
			wrong = append(wrong, m.Name+": "+err.Error())
			continue
		}
		for _, test := range m.tests() {
			if !slices.Contains(there, test) {
				wrong = append(wrong, fmt.Sprintf("%s: no test %q in %s", m.Name, test, m.Package))
			}
		}
	}
	return wrong
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w*)\(`)

// testsIn lists the test functions of a package.
func testsIn(dir string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for _, m := range testFunction.FindAllSubmatch(src, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names, nil
}
