package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// accepted are the licences that what is shipped may be under. What is under another one, or
// under none that is recognised, stops the release until somebody has read it.
var accepted = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC0-1.0", "ISC", "MIT", "Unlicense", "Zlib", "blessing"}

// read are licences that somebody of us has read, since no program recognises them: the
// identifier, or none where it is of nothing that is shipped.
var read = map[string]string{
	"modernc.org/memory LICENSE-LOGO":   "",         // where a picture of its README is from
	"modernc.org/sqlite LICENSE-SQLITE": "blessing", // SQLite is in the public domain
}

// goModule is a module whose code is in a program.
type goModule struct {
	path, version string
	licences      []string // SPDX identifiers
	texts         []notice
}

// npmPackage is a package whose code is in the web app.
type npmPackage struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	License string `json:"license"`
	Dir     string `json:"dir"`
	texts   []notice
}

// notice is a file that has to be passed on.
type notice struct{ name, text string }

var (
	isNotice  = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying|^copyright|^notice|^patents|^third.?party`)
	isLicence = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying`)
	// Lists of what else lies in a repository, its tests and tools among it. They are passed on; what is in
	// a program is a module of its own here, and judged as such.
	isList = regexp.MustCompile(`(?i)3rd.?party|third.?party`)
	isCode = regexp.MustCompile(`(?i)\.(go|js|mjs|ts|py|tmpl)$`)
)

// noticesIn are the notices of a directory.
func noticesIn(dir string) (found []notice, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if !f.Type().IsRegular() || !isNotice.MatchString(f.Name()) || isCode.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		found = append(found, notice{f.Name(), strings.ReplaceAll(string(text), "\r\n", "\n")})
	}
	return found, nil
}

// notices finds out what is in the programs and the web app, under which licences, and writes
// NOTICE: a list, and the texts.
func (r *release) notices(ctx context.Context) error {
	judge, err := newJudge()
	if err != nil {
		return err
	}
	if err := r.findModules(ctx, judge); err != nil {
		return err
	}
	if err := r.findNPM(ctx); err != nil {
		return err
	}
	return r.write("NOTICE", r.writeNotice)
}

// findModules asks Go for the packages in the programs of all platforms, and takes the notices of
// their directories up to that of the module: parts of a module may have a licence of their own.
func (r *release) findModules(ctx context.Context, judge *judge) error {
	own, err := os.ReadFile(filepath.Join(r.root, "go.mod"))
	if err != nil {
		return err
	}
	const format = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}"
	dirs := map[string]map[string]bool{} // path, version and directory of a module → directories
	for _, p := range r.platforms {
		list, err := r.goTool(ctx, p, "list", "-deps", "-f", format, "./cmd/skein", "./cmd/skein-lab")
		if err != nil {
			return err
		}
		for line := range strings.Lines(list) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) != 4 || bytes.HasPrefix(own, []byte("module "+f[0]+"\n")) {
				continue
			}
			key := strings.Join(f[:3], "\t")
			if dirs[key] == nil {
				dirs[key] = map[string]bool{}
			}
			for dir := f[3]; ; dir = filepath.Dir(dir) {
				dirs[key][dir] = true
				if dir == f[2] || len(dir) < len(f[2]) {
					break
				}
			}
		}
	}
	goroot, err := r.goTool(ctx, platforms[0], "env", "GOROOT")
	if err != nil {
		return err
	}
	dirs["std\t"+r.goVersion+"\t"+goroot] = map[string]bool{goroot: true}
	for _, key := range slices.Sorted(maps.Keys(dirs)) {
		f := strings.Split(key, "\t")
		m := goModule{path: f[0], version: f[1]}
		for _, dir := range slices.Sorted(maps.Keys(dirs[key])) {
			found, err := noticesIn(dir)
			if err != nil {
				return err
			}
			for _, n := range found {
				rel, _ := filepath.Rel(f[2], filepath.Join(dir, n.name))
				m.texts = append(m.texts, notice{filepath.ToSlash(rel), n.text})
			}
		}
		if m.licences, err = judge.licences(m.path, m.texts); err != nil {
			return fmt.Errorf("the Go module %s %s: %w", m.path, m.version, err)
		}
		r.modules = append(r.modules, m)
	}
	return nil
}

// findNPM asks the bundler which packages are in the web app.
func (r *release) findNPM(ctx context.Context) error {
	raw, err := r.output(ctx, os.Environ(), filepath.Join(r.root, "web"), "node", filepath.Join(r.root, "tools/release/webpackages.mjs"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(raw), &r.npm); err != nil {
		return fmt.Errorf("what webpackages.mjs printed: %w", err)
	}
	if len(r.npm) == 0 {
		return errors.New("no package of npm is in the web app: webpackages.mjs does not see what the bundler does")
	}
	slices.SortFunc(r.npm, func(a, b npmPackage) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
	})
	r.npm = slices.CompactFunc(r.npm, func(a, b npmPackage) bool { return a.Name == b.Name && a.Version == b.Version })
	for i := range r.npm {
		p := &r.npm[i]
		if p.texts, err = noticesIn(p.Dir); err != nil {
			return err
		}
		if !slices.Contains(accepted, p.License) {
			return fmt.Errorf("the package %s %s of npm is under %q, which is none of %s", p.Name, p.Version, p.License, strings.Join(accepted, ", "))
		}
		// Some packages carry no text and name their licence alone.
		if len(p.texts) == 0 {
			p.texts = []notice{{"package.json", "Licence: " + p.License + "\n"}}
		}
	}
	return nil
}

// judge tells which licences texts are.
type judge struct{ known *classifier.Classifier }

func newJudge() (*judge, error) {
	known, err := assets.DefaultClassifier()
	return &judge{known}, err
}

// licences are the SPDX identifiers of the licences among notices; all are accepted ones.
func (j *judge) licences(module string, texts []notice) ([]string, error) {
	all := map[string]bool{}
	for _, n := range texts {
		name := n.name[strings.LastIndex(n.name, "/")+1:]
		if !isLicence.MatchString(name) || isList.MatchString(name) {
			continue
		}
		if id, ok := read[module+" "+n.name]; ok {
			if id != "" {
				all[id] = true
			}
			continue
		}
		found := false
		for _, m := range j.known.Match([]byte(n.text)).Matches {
			// A header is how files say under which licence they are; some modules have no other text.
			if m.MatchType == "License" || m.MatchType == "Header" {
				found, all[m.Name] = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%s is no licence that is known: read it", n.name)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it has no licence")
	}
	list := slices.Sorted(maps.Keys(all))
	for _, l := range list {
		if !slices.Contains(accepted, l) {
			return nil, fmt.Errorf("it is under %s, which is none of %s", l, strings.Join(accepted, ", "))
		}
	}
	return list, nil
}

// writeNotice writes the list and, once each, the texts.
func (r *release) writeNotice(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Skein %s, under the Apache License 2.0 (LICENSE).\n\nIts programs contain code of the following; the texts are below.\n\n", r.version)
	users := map[string][]string{} // text → who has it
	var order []string
	add := func(who string, texts []notice) {
		for _, n := range texts {
			text := strings.Trim(n.text, "\n")
			if users[text] == nil {
				order = append(order, text)
			}
			if by := who + " (" + n.name + ")"; !slices.Contains(users[text], by) {
				users[text] = append(users[text], by)
			}
		}
	}
	for _, m := range r.modules {
		fmt.Fprintf(&b, "  %s %s: %s\n", m.path, m.version, strings.Join(m.licences, ", "))
		add(m.path+" "+m.version, m.texts)
	}
	fmt.Fprintf(&b, "\nThe web app that is in skein contains code of these packages of npm:\n\n")
	for _, p := range r.npm {
		fmt.Fprintf(&b, "  %s %s: %s\n", p.Name, p.Version, p.License)
		add(p.Name+" "+p.Version, p.texts)
	}
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), strings.Join(users[text], "\n"), text)
	}
	_, err := w.Write(b.Bytes())
	return err
}
