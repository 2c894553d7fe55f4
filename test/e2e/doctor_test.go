package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/pg/pgtest"
)

// TestDoctor: a page for people, an object for programs, and an exit code; also
// while the server runs.
func TestDoctor(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	first := launch(t, nil, "doctor", "--data", p.dir)
	code := first.exit()
	out := first.out.String()
	for _, want := range []string{"Store: embedded", "survive: D", "fsync", "keys/admin.key", " bad\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if good := strings.Contains(out, " 0 bad\n"); good != (code == 0) || !good && !strings.Contains(out, "tmpfs") {
		t.Errorf("it ended with %d:\n%s", code, out)
	}
	p.Stop(t)
	database := pgtest.Database(t)
	p.args = append(p.args, "--store", database)
	p.Start(t)
	out, _ = runs(t, "", 0, "doctor", "--data", p.dir, "--store", database, "--json")
	var report struct {
		Store, Durability string
		Findings          []struct{ Level, What, Found, Advice string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || !strings.HasPrefix(report.Durability, "D1 ") || len(report.Findings) < 15 {
		t.Errorf("%v:\n%s", err, out)
	}
	_, stderr := runs(t, "", 1, "doctor", "--store", "postgres://127.0.0.1:1/none")
	if !strings.Contains(stderr, "findings are bad") {
		t.Errorf("no database: %q", stderr)
	}
	runs(t, "", 2, "doctor", "--frobnicate")
}
