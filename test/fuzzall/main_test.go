package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// scratch makes a module with one package of fuzz targets.
func scratch(t *testing.T, src string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.test/scratch\n\ngo 1.26\n", "a.go": "package scratch\n", "a_test.go": src} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

const targets = `package scratch

import "testing"

func FuzzGood(f *testing.F) {
	f.Add([]byte("a"))
	f.Fuzz(func(t *testing.T, b []byte) {})
}

func FuzzBad(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2 {
			panic("it broke")
		}
	})
}

func FuzzGreedy(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1 {
			b = make([]byte, 16<<30)
			b[len(b)/2] = 1
		}
	})
}

const notATarget = "\nfunc FuzzText(f *testing.F) {}\n"
`

func TestRun(t *testing.T) {
	for _, c := range []struct{ name, src, match, err, output string }{
		{"good", targets, "Good", "", "1 targets"},
		{"failures", targets, "Bad|Greedy|Text", "2 of 2 targets failed", "it broke"},
		{"none", "package scratch\n", "", "no fuzz target", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			scratch(t, c.src)
			var out strings.Builder
			err := run(t.Context(), options{time: time.Second, parallel: 1, memory: 512, match: c.match, packages: []string{"./..."}}, &out)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q; the output:\n%s", err, c.err, out.String())
			}
			if !strings.Contains(out.String(), c.output) {
				t.Errorf("no %q in\n%s", c.output, out.String())
			}
		})
	}
}

// The end of the time is no finding, whatever Go says of it; the same words from
// a target are one.
func TestTimeIsOver(t *testing.T) {
	const begin = "fuzz: elapsed: 0s, gathering baseline coverage: 1/1 completed, now fuzzing with 1 workers\n"
	for name, c := range map[string]struct {
		output string
		want   bool
	}{
		"time":    {begin + "--- FAIL: FuzzGood (0.31s)\n    context deadline exceeded\nFAIL\n", true},
		"found":   {begin + "--- FAIL: FuzzBad (0.02s)\n    --- FAIL: FuzzBad (0.00s)\n        a_test.go:12: context deadline exceeded\n    \n    Failing input written to testdata/fuzz/FuzzBad/1\nFAIL\n", false},
		"died":    {begin + "--- FAIL: FuzzGreedy (0.10s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n    Failing input written to testdata/fuzz/FuzzGreedy/1\nFAIL\n", false},
		"seed":    {"--- FAIL: FuzzBad (0.00s)\n    --- FAIL: FuzzBad/seed#0 (0.00s)\n        a_test.go:12: context deadline exceeded\nFAIL\n", false},
		"other":   {"--- FAIL: FuzzBad (0.00s)\n    no such file\nFAIL\n", false},
		"nothing": {"", false},
	} {
		if got := onlyTimeIsOver(c.output); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Targets of the repository are found with their packages.
func TestFind(t *testing.T) {
	t.Chdir("../..")
	found, err := find(context.Background(), []string{"./wire", "./internal/transport/ws", "./test/fuzzall"}, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range found {
		names = append(names, f.String())
	}
	all := strings.Join(names, " ")
	for _, want := range []string{"wire.FuzzProtobufDecode", "wire.FuzzJSONDecode", "internal/transport/ws.FuzzWS"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not among %s", want, all)
		}
	}
	if strings.Contains(all, "fuzzall") {
		t.Errorf("a text was taken for a target: %s", all)
	}
}
