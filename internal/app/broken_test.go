package app

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/doctor"
	"github.com/skein-im/skein/internal/export"
	"github.com/skein-im/skein/internal/im"
	skein "github.com/skein-im/skein/sdk/go"
)

// A damaged block of the journal takes one conversation out of a user's list, and
// leaves the others; it is named. Once, the whole list was answered with an error,
// and so was every login.
func TestListWithADamagedConversation(t *testing.T) {
	dir, token, groups := t.TempDir(), map[string]string{}, []string{}
	p := run(t, dir, Options{}, token)
	p.mint(dir, "ann", "ben")
	p.as("ann", skein.NewMemoryStore(), func(c *skein.Client) {
		for g := range 3 {
			made, err := c.Groups().Create(t.Context(), fmt.Sprint("group ", g), "ben")
			ok(t, err)
			groups = append(groups, made.Conversation)
			for n := range 12 {
				_, err := c.Conversation(made.Conversation).Send(t.Context(), fmt.Sprintf("%d of group %d %s", n, g, strings.Repeat("filling ", 400)))
				ok(t, err)
			}
		}
	})
	p.stop()
	p = run(t, dir, Options{}, token) // writes the log to a table
	p.stop()
	damageText(t, dir, "11 of group 1 ")

	a, err := Open(t.Context(), settings(dir), Options{})
	ok(t, err)
	a.state.set(stateReady)
	for _, q := range []im.SyncQuery{{}, {Limit: 2}} {
		res, err := a.messaging.Sync(t.Context(), im.Actor{User: "ann"}, q)
		ok(t, err)
		var listed []string
		for _, c := range res.Conversations {
			listed = append(listed, string(c.Conversation))
		}
		all := strings.Join(listed, " ")
		if strings.Contains(all, groups[1]) || !strings.Contains(all, groups[2]) || q.Limit == 0 && !strings.Contains(all, groups[0]) {
			t.Errorf("listed are %s of %s", all, groups)
		}
	}
	var zipped bytes.Buffer
	_, err = a.exports.Write(t.Context(), export.Ticket{User: "ann"}, &zipped)
	ok(t, err)
	z, err := zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len()))
	ok(t, err)
	manifest, err := z.Open("manifest.json")
	ok(t, err)
	says, err := io.ReadAll(manifest)
	ok(t, err)
	if !bytes.Contains(says, []byte(`"complete":false`)) || !bytes.Contains(says, []byte(`{"conversation":"`+groups[1]+`","why":"missing"}`)) {
		t.Errorf("an export says %s, without %s", says, groups[1])
	}
	if r := a.readiness(t.Context()); !r.Ready || r.Warnings == 0 || !strings.Contains(fmt.Sprint(r.Details), groups[1]) {
		t.Errorf("%+v", r)
	}
	ok(t, a.close())

	report := doctor.Examine(t.Context(), doctor.Options{Config: settings(dir), AdminKey: AdminKeyFile, Migrated: MigratedFile})
	named := ""
	for _, f := range report.Findings {
		if f.What == "journal" && f.Level == doctor.Bad {
			named = f.Found
		}
	}
	// A block may hold the end of one conversation and the beginning of the next.
	if !strings.Contains(named, groups[1]) || strings.Count(named, "cannot be read") > 2 {
		t.Errorf("the doctor says %q of %q", named, groups)
	}
}

// damageText flips a bit of what is stored behind a text.
func damageText(t *testing.T, dir, text string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "journal", "db", "*.sst"))
	ok(t, err)
	for _, path := range tables {
		b, err := os.ReadFile(path)
		ok(t, err)
		if at := bytes.Index(b, []byte(text)); at >= 0 {
			b[at+1000] ^= 8
			ok(t, os.WriteFile(path, b, 0o600))
			return
		}
	}
	t.Fatal("the text is in no table")
}

// A server that cannot store is not ready.
func TestFullIsNotReady(t *testing.T) {
	cfg := settings(t.TempDir())
	cfg.Journal.MinFree = 1 << 60
	a, err := Open(t.Context(), cfg, Options{})
	ok(t, err)
	defer a.close()
	a.state.set(stateReady)
	if r := a.readiness(t.Context()); r.Ready || len(r.Reasons) != 1 || !strings.Contains(r.Reasons[0], "full") {
		t.Errorf("%+v", r)
	}
}
