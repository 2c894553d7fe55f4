package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// list is the output of go list at the top of the tree, one name a line.
func list(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

// unshipped has no place in the program that people run: it is for those who
// measure and test it.
var unshipped = []string{"internal/bench", "internal/child", "internal/conformance", "internal/soak", "internal/sdkconformance", "sdk/conformance", "internal/pg/pgtest", "test"}

// TestServerShipsNoLab: the server holds no load generator, no virtual user and no
// test, whatever imports what on the way. Those are skein-lab's and test/faults'.
func TestServerShipsNoLab(t *testing.T) {
	deps := list(t, "-deps", "./cmd/skein")
	if !slices.Contains(deps, module+"internal/app") {
		t.Fatalf("go list names %d packages, and not the server", len(deps))
	}
	for _, dep := range deps {
		name, ours := strings.CutPrefix(dep, module)
		if dep == "testing" || ours && (strings.HasSuffix(name, "test") || slices.ContainsFunc(unshipped, func(u string) bool { return under(name, u) })) {
			t.Errorf("cmd/skein depends on %s: it is not for those who run a server", dep)
		}
	}
	if !slices.Contains(list(t, "-deps", "./cmd/skein-lab"), module+"internal/bench") {
		t.Error("cmd/skein-lab does not depend on internal/bench: this test looks for another name")
	}
}

// What packages for third parties may bring along. A module that requires Skein
// and imports only these downloads and builds no more than this: since its go.mod
// is of Go 1.17 or later, modules that none of its imports needs are left out.
var (
	ofWire   = []string{"google.golang.org/protobuf", "github.com/planetscale/vtprotobuf"}
	ofClient = append([]string{"github.com/coder/websocket"}, ofWire...)
	ofStore  = append([]string{ // what a SQLite without C needs, on any system
		"modernc.org/sqlite", "modernc.org/libc", "modernc.org/mathutil", "modernc.org/memory", "github.com/remyoudompheng/bigfft",
		"github.com/dustin/go-humanize", "github.com/google/uuid", "github.com/mattn/go-isatty", "github.com/ncruces/go-strftime", "golang.org/x/sys",
	}, ofClient...)
	public = []struct {
		under string
		may   []string
	}{
		{"wire", ofWire},
		{"sdk/go", ofClient},
		{"sdk/go/sqlitestore", ofStore},
		{"sdk/go/examples", ofStore},
	}
)

// TestPublicPackagesAreLight: who writes a client, a codec or a transport gets
// none of the server's dependencies. The packages' own tests count as well, as far
// as `go mod tidy` follows them.
func TestPublicPackagesAreLight(t *testing.T) {
	const modules = "{{with .Module}}{{.Path}}{{end}}"
	for _, name := range list(t, "./wire/...", "./sdk/go/...") {
		name = strings.TrimPrefix(name, module)
		var may []string
		for _, p := range public { // the last that fits is the nearest
			if under(name, p.under) {
				may = p.may
			}
		}
		for _, m := range slices.Compact(slices.Sorted(slices.Values(list(t, "-deps", "-f", modules, "./"+name)))) {
			if m+"/" != module && !slices.Contains(may, m) {
				t.Errorf("%s brings %s along: a client needs %s and no more", name, m, strings.Join(may, ", "))
			}
		}
		tests := append([]string{"go.uber.org/goleak"}, ofStore...)
		for _, m := range slices.Compact(slices.Sorted(slices.Values(list(t, "-deps", "-test", "-f", modules, "./"+name)))) {
			if m+"/" != module && !slices.Contains(tests, m) {
				t.Errorf("a test of %s needs %s, which `go mod tidy` then asks of everybody who imports it", name, m)
			}
		}
	}
}

// TestOutsiderOfTheSDK: a module of somebody else's that imports the Go SDK gets three
// modules beside Skein into its list, their sums into its go.sum, and needs no newer Go than
// the least that the SDK's store is compiled with; whatever the server requires.
func TestOutsiderOfTheSDK(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	const language = "go 1.26.0"
	for name, text := range map[string]string{
		"go.mod":  "module example.com/client\n\n" + language + "\n\nrequire github.com/skein-im/skein v0.0.0\n\nreplace github.com/skein-im/skein => " + root + "\n",
		"main.go": "package main\n\nimport _ \"github.com/skein-im/skein/sdk/go\"\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "list", "-mod=mod", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local") // nothing that is not here yet may be needed
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	want := append([]string{"example.com/client", strings.TrimSuffix(module, "/")}, ofClient...)
	slices.Sort(want)
	if got := slices.Compact(slices.Sorted(slices.Values(strings.Fields(string(out))))); !slices.Equal(got, want) {
		t.Errorf("it is built of %q, want %q", got, want)
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if mod := read("go.mod"); !strings.Contains(mod, "\n"+language+"\n") || strings.Count(mod, "// indirect") != len(ofClient) {
		t.Errorf("its go.mod became:\n%s", mod)
	}
	for line := range strings.Lines(read("go.sum")) {
		if m, _, _ := strings.Cut(line, " "); !slices.Contains(ofClient, m) {
			t.Errorf("its go.sum names %s", m)
		}
	}
}
