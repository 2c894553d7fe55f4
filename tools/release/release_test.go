package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVersions(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	commit := "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		tags   []string
		want   string
		tagged bool
	}{
		{nil, "0.0.0-20260102150405.g0123456789ab", false},
		{[]string{"v1.2.3"}, "1.2.3", true},
		{[]string{"v1.3.0-rc.1"}, "1.3.0-rc.1", true},
	} {
		got, tagged, err := versionOf(c.tags, commit, at)
		if got != c.want || tagged != c.tagged || err != nil {
			t.Errorf("%v: %q, %v, %v", c.tags, got, tagged, err)
		}
		if !semver.MatchString(got) {
			t.Errorf("%q is no semantic version", got)
		}
	}
	for _, tags := range [][]string{{"v1.2"}, {"v01.2.3"}, {"v1.2.3+x"}, {"v1.2.3", "v1.2.4"}} {
		if got, _, err := versionOf(tags, commit, at); err == nil {
			t.Errorf("%v is the version %q", tags, got)
		}
	}
	if all, err := choose("linux/arm64,darwin/amd64"); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := choose("plan9/amd64"); err == nil || !strings.Contains(err.Error(), "--platforms") {
		t.Errorf("got %v", err)
	}
}

// A release is built with the Go that go.mod names to build with, not with the oldest that would do.
func TestGoOfARelease(t *testing.T) {
	for mod, want := range map[string]string{
		"module a\n\ngo 1.26.0\n\ntoolchain go1.26.8\n": "1.26.8",
		"module a\n\ngo 1.26.8\n":                       "1.26.8",
	} {
		if got, err := goOf([]byte(mod)); got != want || err != nil {
			t.Errorf("%q: %q, %v", mod, got, err)
		}
	}
	if got, err := goOf([]byte("module a\n")); err == nil {
		t.Errorf("nothing is said, and it is %q", got)
	}
}

// pretended is a release whose programs are a few bytes, with all the rest of a real one.
func pretended(t *testing.T, at time.Time) *release {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{root: root, out: t.TempDir(), work: t.TempDir(), version: "1.2.3", tagged: true, commit: strings.Repeat("0", 40), at: at, goVersion: "1.26.8", platforms: platforms}
	r.modules = []goModule{{path: "example.org/a", version: "v1.0.0", licences: []string{"MIT"}, texts: []notice{{"LICENSE", "words"}}}}
	r.npm = []npmPackage{{Name: "@scope/b", Version: "2.0.0", License: "ISC", texts: []notice{{"LICENSE", "words"}}}}
	for _, p := range platforms {
		if err := os.MkdirAll(r.bin(p), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			if err := os.WriteFile(filepath.Join(r.bin(p), p.program(c)), []byte("program "+p.String()), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range []error{
		r.write("NOTICE", r.writeNotice), r.billOfMaterials(t.Context()), r.archives(t.Context()), r.packages(t.Context()),
		r.image(t.Context()), r.chart(t.Context()), r.formula(t.Context()), r.checksums(t.Context()),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	return r
}

// TestPackedTwice: the same programs become the same files, wherever and whenever, whatever the
// times and rights of the files that they are made of.
func TestPackedTwice(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	a, b := pretended(t, at), pretended(t, at)
	files, err := os.ReadDir(a.out)
	if err != nil || len(files) != 18 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		x, err1 := os.ReadFile(filepath.Join(a.out, f.Name()))
		y, err2 := os.ReadFile(filepath.Join(b.out, f.Name()))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if string(x) != string(y) {
			t.Errorf("%s has other bytes the second time", f.Name())
		}
	}
	c := pretended(t, at.Add(time.Hour))
	x, err1 := os.ReadFile(filepath.Join(a.out, "SHA256SUMS"))
	y, err2 := os.ReadFile(filepath.Join(c.out, "SHA256SUMS"))
	if err := errors.Join(err1, err2); err != nil || string(x) == string(y) {
		t.Errorf("the time of the commit changes nothing: %v", err)
	}
}

// TestArchive: an archive has what has to go with the programs, owned by root, in one directory.
func TestArchive(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	r := pretended(t, at)
	f, err := os.Open(filepath.Join(r.out, "skein_1.2.3_linux_arm64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(at) {
			t.Errorf("%s: %d:%d %q %v", h.Name, h.Uid, h.Gid, h.Uname, h.ModTime)
		}
		want := fs.FileMode(0o644)
		if strings.HasSuffix(h.Name, "/skein") || strings.HasSuffix(h.Name, "/skein-lab") {
			want = 0o755
		}
		if fs.FileMode(h.Mode) != want {
			t.Errorf("%s has the rights %o", h.Name, h.Mode)
		}
		names = append(names, strings.TrimPrefix(h.Name, "skein_1.2.3_linux_arm64/"))
	}
	for _, want := range []string{"skein", "skein-lab", "LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "skein.toml", "systemd/skein.service", "systemd/skein@.service"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s in %v", want, names)
		}
	}
}

// TestPackagedUnits: what a package installs starts the program that it installs, with the user
// that it makes.
func TestPackagedUnits(t *testing.T) {
	for _, unit := range []string{"skein.service", "skein@.service", "skein.socket", "skein-redirect.socket"} {
		raw, err := os.ReadFile("../../deploy/systemd/" + unit)
		if err != nil {
			t.Fatal(err)
		}
		text := packaged(unit, string(raw))
		if strings.Contains(text, "/usr/local") || strings.Contains(text, "install -m") {
			t.Errorf("%s speaks of an installation by hand:\n%s", unit, text)
		}
		if strings.HasSuffix(unit, ".service") && !strings.Contains(text, "ExecStart=/usr/bin/skein serve\n") {
			t.Errorf("%s does not start the package's program", unit)
		}
		if unit == "skein.service" && (strings.Contains(text, "DynamicUser") || !strings.Contains(text, "\nUser=skein\nGroup=skein\nStateDirectory=skein\n")) {
			t.Errorf("%s does not run as the package's user", unit)
		}
	}
	sysusers, err := inPackage.ReadFile("package/skein.sysusers")
	if err != nil || !strings.Contains(string(sysusers), "\nu skein ") {
		t.Errorf("the package makes no user: %v\n%s", err, sysusers)
	}
}

// TestLicences: what nobody recognises, and what is not on the list, is not shipped.
func TestLicences(t *testing.T) {
	j, err := newJudge()
	if err != nil {
		t.Fatal(err)
	}
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := j.licences("example.org/a", []notice{{"LICENSE", string(apache)}}); err != nil || !slices.Equal(got, []string{"Apache-2.0"}) {
		t.Errorf("%v, %v", got, err)
	}
	for name, texts := range map[string][]notice{
		"it has no licence":   {{"NOTICE", "Copyright by somebody"}},
		"read it":             {{"LICENSE", "You may look at it and nothing else."}},
		"is none of":          {{"COPYING", gpl}},
		"it has no licence\n": nil,
	} {
		if got, err := j.licences("example.org/a", texts); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%v: %v, want an error with %q", got, err, name)
		}
	}
}

// What somebody has read counts for that file of that module alone; lists of what else lies in a
// repository are passed on.
func TestLicencesThatWereRead(t *testing.T) {
	j, err := newJudge()
	if err != nil {
		t.Fatal(err)
	}
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	texts := []notice{{"LICENSE", string(apache)}, {"LICENSE-3RD-PARTY.md", gpl}, {"LICENSE-SQLITE", "May you do good and not evil."}}
	if got, err := j.licences("modernc.org/sqlite", texts); err != nil || !slices.Equal(got, []string{"Apache-2.0", "blessing"}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := j.licences("example.org/a", texts); err == nil {
		t.Errorf("another module has it as well: %v", got)
	}
}

// The words by which programs say that they are under the GPL.
const gpl = `This program is free software: you can redistribute it and/or modify
it under the terms of the GNU General Public License as published by
the Free Software Foundation, either version 3 of the License, or
(at your option) any later version.

This program is distributed in the hope that it will be useful,
but WITHOUT ANY WARRANTY; without even the implied warranty of
MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
GNU General Public License for more details.

You should have received a copy of the GNU General Public License
along with this program.  If not, see <https://www.gnu.org/licenses/>.
`

// TestNotes: the notes are the section of the version, and a version without one is not released.
func TestNotes(t *testing.T) {
	r := &release{root: t.TempDir(), out: t.TempDir(), version: "1.2.3", tagged: true}
	log := filepath.Join(r.root, "CHANGELOG.md")
	write := func(text string) {
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# Changelog\n\n## Unreleased\n\n- later\n\n## 1.2.3 (2026-12-24)\n\n- this\n\n## 1.2.2 (2026-12-01)\n\n- before\n")
	if err := r.notes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(r.out, "RELEASE_NOTES.md")); err != nil || string(got) != "- this\n" {
		t.Errorf("%q, %v", got, err)
	}
	write("# Changelog\n\n## Unreleased\n\n- later\n\n## 1.2.30 (2026-12-24)\n\n- this\n")
	if err := r.notes(t.Context()); err == nil || !strings.Contains(err.Error(), "## 1.2.3") {
		t.Errorf("got %v", err)
	}
	r.tagged = false
	if err := r.notes(t.Context()); err != nil {
		t.Error(err)
	}
}
