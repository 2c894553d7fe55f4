package e2e

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/directory/sqlite"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestRefusesToStart: every reason not to start names what is wrong and why,
// and leaves nothing locked behind.
func TestRefusesToStart(t *testing.T) {
	taken := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = taken.Close() })
	port := taken.Addr().String()
	for _, c := range []struct {
		name    string
		set     map[string]string
		prepare func(t *testing.T, dir string)
		want    []string
	}{
		{"public port in use", map[string]string{"http.listen": port}, nil, []string{"http.listen", port, "address already in use"}},
		{"private port in use", map[string]string{"admin.listen": port}, nil, []string{"admin.listen", port, "address already in use"}},
		{"listener's port in use", map[string]string{"listeners": "tcp://" + port}, nil, []string{"listeners", "tcp://" + port, "address already in use"}},
		{"unknown transport", map[string]string{"listeners": "carrier-pigeon://loft"}, nil, []string{"listeners", "carrier-pigeon://loft", "no transport"}},
		{"tls without a certificate", map[string]string{"listeners": "tls://127.0.0.1:0"}, nil, []string{"tls://127.0.0.1:0", "tls.cert", "tls.key"}},
		{"no authorities there", map[string]string{"tls.acme_domains": "chat.example.org", "tls.acme_ca": "/nowhere.pem"}, nil, []string{"tls.acme_ca", "/nowhere.pem", "no such file"}},
		{"no certificate there", map[string]string{"tls.cert": "/nowhere.pem", "tls.key": "/nowhere.pem"}, nil, []string{"tls.cert", "/nowhere.pem", "no such file"}},
		{"a file as data directory", nil, func(t *testing.T, dir string) {
			rewrite(t, dir, "in the way")
		}, []string{"data directory", "not a directory"}},
		{"directory of a newer version", nil, newerDirectory, []string{"directory", "newer version of skein", "schema 9999", "backup"}},
		{"journal of a newer version", nil, newerJournal, []string{"journal", "newer version of skein", "schema 99", "backup"}},
		{"admin key that others can read", nil, func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, app.AdminKeyFile), 0o644); err != nil {
				t.Fatal(err)
			}
		}, []string{"keys/admin.key", "can be read by others", "0644", "chmod 600"}},
		{"admin key that is none", nil, func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, app.AdminKeyFile), "secret")
		}, []string{"keys/admin.key", "does not hold a key", "backup --keys", "--new-keys"}},
		{"admin key of another server", nil, func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, app.AdminKeyFile), "skk_"+strings.Repeat("k", 43))
		}, []string{"keys/admin.key", "used with another key", "nothing was changed", "--new-keys"}},
		{"admin key that is gone", nil, func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, app.AdminKeyFile)); err != nil {
				t.Fatal(err)
			}
		}, []string{"keys/admin.key", "is missing", "nothing was changed", "--new-keys"}},
		{"directory that is no database", nil, func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, "directory.db"), strings.Repeat("not a database ", 1000))
		}, []string{"directory.db", "not a database"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			if c.prepare != nil && c.name != "a file as data directory" {
				n := &node{dir: dir}
				n.Start(t)
				n.Stop(t)
			}
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			a, err := app.Open(t.Context(), settings(t, dir, c.set), app.Options{})
			if err == nil {
				ended, end := context.WithCancel(t.Context())
				end()
				t.Fatalf("it started; ended with %v", a.Serve(ended))
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %q", err, want)
				}
			}
			if c.prepare == nil { // what is wrong is outside: with other settings it starts
				n := &node{dir: dir}
				n.Start(t)
				n.Stop(t)
			}
		})
	}
}

func rewrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newerDirectory(t *testing.T, dir string) {
	db := must(sqlite.Open(filepath.Join(dir, "directory.db"), sqlite.Options{}))(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "directory.db")
	execSQL(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)")
	execSQL(t, path, "UPDATE directory_compatible SET least = 9999") // or this version would use it
}

func newerJournal(t *testing.T, dir string) {
	db := must(pebble.Open(filepath.Join(dir, "journal", "db"), &pebble.Options{
		FormatMajorVersion: pebble.FormatTableFormatV6, ErrorIfNotExists: true, Logger: quiet{},
	}))(t)
	err := db.Set([]byte("\x00schema"), binary.AppendUvarint(nil, 99), pebble.Sync)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestFirstStart: keys are made, for the owner only, and one link that makes
// the first administrator, once.
func TestFirstStart(t *testing.T) {
	n := &node{dir: filepath.Join(t.TempDir(), "data")}
	n.Start(t)
	for path, want := range map[string]os.FileMode{"": 0o700, "keys": 0o700, app.AdminKeyFile: 0o600, "directory.db": 0o600} {
		if st := must(os.Stat(filepath.Join(n.dir, path)))(t); st.Mode().Perm() != want {
			t.Errorf("%q has mode %04o, want %04o", path, st.Mode().Perm(), want)
		}
	}
	key := n.AdminKey()
	link := must(url.Parse(n.app.Load().ClaimURL()))(t)
	code := link.Query().Get("code")
	if len(code) < 22 || link.Path != "/claim" || strings.Contains(key, code) {
		t.Errorf("link %s", link)
	}
	page := must(http.Get(link.String()))(t)
	_ = page.Body.Close()
	if page.StatusCode != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page: %s %s", page.Status, page.Header.Get("Content-Type"))
	}
	claim := func(code, name string) (*wire.Tokens, error) {
		var resp wire.ClaimAdminResponse
		err := skein.Post(t.Context(), n.HTTP(), "skein.v1.AdminService/ClaimAdmin", "", &wire.ClaimAdminRequest{Code: code, Username: name, Password: "correct horse"}, &resp)
		return resp.Tokens, err
	}
	if _, err := claim("wrong", "mallory"); err == nil {
		t.Error("any code makes an administrator")
	}
	tokens := must(claim(code, "root"))(t)
	if _, err := claim(code, "second"); err == nil {
		t.Error("the link works twice")
	}
	var users wire.ListUsersResponse
	if err := skein.Post(t.Context(), n.HTTP(), "skein.v1.AdminService/ListUsers", tokens.AccessToken, &wire.ListUsersRequest{}, &users); err != nil || len(users.Users) != 1 {
		t.Errorf("the administrator lists %v, %v", users.Users, err)
	}
	// A server that has an administrator offers no link, and keeps its key.
	n.Stop(t)
	n.Start(t)
	if u := n.app.Load().ClaimURL(); u != "" || n.AdminKey() != key {
		t.Errorf("after a restart: %q, the same key: %v", u, n.AdminKey() == key)
	}
	n.Stop(t)
}

// TestAcceptLoss: a journal that lost acknowledged entries is refused; accepted,
// it is another timeline: clients forget what was lost, keep their outbox, and
// agree again.
func TestAcceptLoss(t *testing.T) {
	n := &node{dir: t.TempDir()}
	n.Start(t)
	t.Cleanup(func() { n.Stop(t) })
	ann, bob := join(t, n, "ann", 0), join(t, n, "bob", 1)
	befriend(t, ann, bob)
	dm := ann.DM("bob").ID()
	for range 50 {
		ann.says(dm, "kept or lost "+strings.Repeat("x", 200))
	}
	bob.reaches(dm, 50)
	n.Stop(t)
	truncateLog(t, n.dir)
	err := n.open(t)
	if err == nil || !strings.Contains(err.Error(), "acknowledged messages are missing") || !strings.Contains(err.Error(), "--accept-loss") || !strings.Contains(err.Error(), "backup") {
		t.Fatalf("a shortened journal: %v", err)
	}
	p := must(ann.Conversation(dm).SendAsync(t.Context(), "written while the server was down"))(t)
	n.acceptLoss = true
	n.Start(t)
	n.acceptLoss = false
	for _, x := range []*person{ann, bob} { // reconnected by themselves
		find(x, "the reset", func(*skein.ResetEvent) bool { return true })
	}
	sent := must(p.Wait(deadline(t)))(t)
	if sent.Seq < 2 || sent.Seq > 50 {
		t.Errorf("the first new message is #%d: nothing was lost", sent.Seq)
	}
	bob.reaches(dm, sent.Seq) // as history: it may have come with the new list
	bob.says(dm, "we go on")
	ann.hears("we go on")
	agree(t, dm, int(sent.Seq)+1, ann, bob, connect(t, n, newDevice(t, n, "bob", wire.DeviceClass_DEVICE_CLASS_WEB, 2)))
	// The timeline is settled: a restart resets nobody again.
	n.Stop(t)
	n.Start(t)
	ann.says(dm, "after another restart")
	bob.hears("after another restart")
	resets := 0
	bob.until("nothing more", func(events []skein.Event) bool {
		resets = 0
		for _, e := range events {
			if _, ok := e.(*skein.ResetEvent); ok {
				resets++
			}
		}
		return true
	})
	if resets != 1 {
		t.Errorf("%d resets", resets)
	}
}

// truncateLog cuts a third off the end of the journal's newest log.
func truncateLog(t *testing.T, dir string) {
	t.Helper()
	logs := must(filepath.Glob(filepath.Join(dir, "journal", "db", "*.log")))(t)
	if len(logs) == 0 {
		t.Fatal("the journal has no log")
	}
	newest, size := "", int64(0)
	for _, path := range logs {
		if st := must(os.Stat(path))(t); st.Size() > 0 && path > newest {
			newest, size = path, st.Size()
		}
	}
	// The file may be longer than what was written: count from the last byte that is not zero.
	raw := must(os.ReadFile(newest))(t)
	for size > 0 && raw[size-1] == 0 {
		size--
	}
	if err := os.Truncate(newest, size-size/3); err != nil {
		t.Fatal(err)
	}
}

// TestStopsAndStarts: a server without clients stops at once, with nothing left behind.
func TestStopsAndStarts(t *testing.T) {
	n := &node{dir: t.TempDir()}
	for range 3 {
		n.Start(t)
		resp := must(http.Get(n.app.Load().AdminURL() + "/readyz"))(t)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("not ready: %s", resp.Status)
		}
		n.Stop(t)
		if _, err := net.DialTimeout("tcp", strings.TrimPrefix(n.app.Load().URL(), "http://"), time.Second); err == nil {
			t.Error("the port is still open")
		}
	}
}
