package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

func examine(t *testing.T, set map[string]string) Report {
	t.Helper()
	c := config.Default()
	c.Data = t.TempDir()
	for key, value := range set {
		if err := c.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	return Examine(t.Context(), Options{Config: c, AdminKey: "keys/admin.key", Migrated: "MIGRATED", CheckKey: func(path string, raw []byte) error {
		if len(raw) > 0 {
			return fmt.Errorf("%s holds %q", path, raw)
		}
		return nil
	}})
}

// find returns what was found out about a thing.
func find(t *testing.T, r Report, what string) Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.What == what {
			return f
		}
	}
	t.Fatalf("nothing about %q in %+v", what, r.Findings)
	return Finding{}
}

func wants(t *testing.T, r Report, what string, level Level, parts ...string) {
	t.Helper()
	f := find(t, r, what)
	if f.Level != level || (level != OK) != (f.Advice != "") {
		t.Errorf("%s is %s: %s (%s), want %s", what, f.Level, f.Found, f.Advice, level)
	}
	for _, p := range parts {
		if !strings.Contains(f.Found+" → "+f.Advice, p) {
			t.Errorf("%s: %q is not in %s → %s", what, p, f.Found, f.Advice)
		}
	}
}

func started(t *testing.T, settings map[string]string) string {
	t.Helper()
	s, err := pgtest.Start(t.TempDir(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s.URL()
}

// A sound database, empty and then with a journal.
func TestSoundDatabase(t *testing.T) {
	url := pgtest.Database(t)
	r := examine(t, map[string]string{"store": url})
	if r.Count(Bad) != 0 || !strings.HasPrefix(r.Durability, "D1 ") || strings.Contains(r.Store, "@") {
		t.Errorf("%+v", r)
	}
	for _, what := range []string{"server version", "server role", "fsync", "full_page_writes", "synchronous_commit", "data_checksums", "standbys", "connections", "encoding"} {
		wants(t, r, what, OK)
	}
	wants(t, r, "journal schema", OK, "not there yet")
	left, err := pgtest.Collect[struct{ N int64 }](t.Context(), url, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")
	if err != nil || left[0].N != 0 {
		t.Errorf("something was left behind: %v, %v", left, err)
	}
	j, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	r = examine(t, map[string]string{"store": url})
	wants(t, r, "journal schema", OK, fmt.Sprintf("version %d", postgres.Steps().Known()))
	wants(t, r, "table journal_entries", OK)
	find(t, r, "commit")
	pgtest.Exec(t, url, "UPDATE journal_meta SET version = 99, least = 99")
	wants(t, examine(t, map[string]string{"store": url}), "journal schema", Bad, "99")
	wants(t, examine(t, map[string]string{"store": url, "postgres.connections": "5000"}), "connections", Bad, "raise max_connections")
}

// Settings that lose messages are found, each by its name.
func TestBadDatabase(t *testing.T) {
	url := started(t, map[string]string{"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "autovacuum": "off", "max_prepared_transactions": "2"})
	r := examine(t, map[string]string{"store": url})
	if !strings.HasPrefix(r.Durability, "D0 ") || !strings.Contains(r.Durability, "fsync is off") || !strings.Contains(r.Durability, "full_page_writes is off") {
		t.Errorf("durability is %s", r.Durability)
	}
	wants(t, r, "durability", Bad)
	wants(t, r, "fsync", Bad, "fsync = on")
	wants(t, r, "full_page_writes", Bad)
	wants(t, r, "synchronous_commit", Warn, "off", "Skein turns it on")
	wants(t, r, "autovacuum", Warn)
	// A node that runs on it tells as much.
	j, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if why, err := j.PowerLoss(t.Context()); err != nil || strings.Join(why, ", ") != "fsync is off, full_page_writes is off" {
		t.Errorf("a loss of power: %q, %v", why, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}

	// What holds the positions back is named.
	pgtest.Exec(t, url, "CREATE TABLE x (n int)")
	pgtest.Exec(t, url, "BEGIN; INSERT INTO x VALUES (1); PREPARE TRANSACTION 'forgotten'")
	x, err := postgres.Examine(t.Context(), url, time.Now)
	if err != nil || len(x.Transactions) != 1 || !strings.Contains(x.Transactions[0].Who, "forgotten") {
		t.Fatalf("transactions %+v: %v", x.Transactions, err)
	}
	pgtest.Exec(t, url, "ROLLBACK PREPARED 'forgotten'")
	c := config.Default()
	e := examiner{c: &c}
	x.Transactions[0].Age = time.Hour
	x.ClockAhead, x.RoundTrip, x.CommitTime = -time.Minute, time.Second, time.Second
	e.load(&x)
	e.times(&x)
	wants(t, e.r, "long transactions", Warn, "forgotten", "1h0m0s")
	wants(t, e.r, "clocks", Bad, "-1m0s")
	wants(t, e.r, "round trip", Warn)
	wants(t, e.r, "commit", Warn)
}

// A standby that is waited for, and is not there: no commit would return.
func TestMissingStandby(t *testing.T) {
	r := examine(t, map[string]string{"store": started(t, map[string]string{"synchronous_standby_names": "nobody"})})
	wants(t, r, "standbys", Bad, "nobody", "pg_monitor")
	wants(t, r, "commit", Warn, "not measured")
	if !strings.HasPrefix(r.Durability, "D1 ") {
		t.Errorf("durability is %s", r.Durability)
	}
}

func TestDurability(t *testing.T) {
	good := postgres.Examination{Fsync: true, FullPageWrites: true, Commit: "on", StandbyNames: "a", Standbys: []postgres.Standby{{Name: "a", SyncState: "quorum"}}}
	for want, change := range map[postgres.Durability][]func(x *postgres.Examination){
		postgres.SurvivesNodeLoss: {func(*postgres.Examination) {}},
		postgres.SurvivesPowerCut: {
			func(x *postgres.Examination) { x.Commit = "remote_write" },
			func(x *postgres.Examination) { x.StandbyNames = "" },
			func(x *postgres.Examination) { x.Standbys = []postgres.Standby{{Name: "b", SyncState: "async"}} },
		},
		postgres.SurvivesCrash: {
			func(x *postgres.Examination) { x.Fsync = false },
			func(x *postgres.Examination) { x.FullPageWrites = false },
			func(x *postgres.Examination) { x.Commit = "off" },
		},
	} {
		for i, f := range change {
			x := good
			f(&x)
			if got, reasons := x.Durability(); got != want || len(reasons) == 0 {
				t.Errorf("%v %d: %v because %q", want, i, got, reasons)
			}
		}
	}
}

func TestNoDatabase(t *testing.T) {
	r := examine(t, map[string]string{"store": "postgres://u:verysecret@127.0.0.1:1/chat"})
	wants(t, r, "database", Bad)
	var b bytes.Buffer
	if err := r.Print(&b); err != nil || strings.Contains(b.String(), "verysecret") {
		t.Errorf("%v:\n%s", err, &b)
	}
	if raw, err := json.Marshal(r); err != nil || strings.Contains(string(raw), "verysecret") || !strings.Contains(string(raw), `"level":"bad"`) {
		t.Errorf("%v: %s", err, raw)
	}
}

// The embedded store's directory, as it is and as it should not be.
func TestEmbedded(t *testing.T) {
	dir := t.TempDir()
	c := map[string]string{"data": dir}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("keys/admin.key", 0o600)
	r := examine(t, c)
	wants(t, r, "data directory", OK)
	wants(t, r, "keys/admin.key", OK)
	find(t, r, "fsync")
	if err := os.WriteFile(filepath.Join(dir, "keys/admin.key"), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, examine(t, c), "keys/admin.key", Bad, "refuses to start")
	if left, err := filepath.Glob(filepath.Join(dir, ".skein*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	write("keys/admin.key", 0o644)
	write("MIGRATED", 0o600)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	c["journal.min_free"] = "4000000GiB"
	r = examine(t, c)
	wants(t, r, "data directory", Bad, "chmod 700")
	wants(t, r, "keys/admin.key", Bad, "chmod 600")
	wants(t, r, "store", Bad, "--store")
	wants(t, r, "disk space", Bad)
	if r := examine(t, map[string]string{"data": filepath.Join(dir, "not", "yet")}); r.Count(Bad) > 0 {
		t.Errorf("a directory that is not there: %+v", r.Findings)
	}
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		if fs, err := fileSystem("/dev/shm"); err == nil && fs.kind == "tmpfs" {
			r := examine(t, map[string]string{"data": "/dev/shm"})
			wants(t, r, "file system", Bad, "in memory")
			if !strings.HasPrefix(r.Durability, "D0 ") {
				t.Errorf("durability in memory is %s", r.Durability)
			}
		}
	}
}

func TestCluster(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	up := l.Addr().String()
	r := examine(t, map[string]string{
		"roles": "gateway", "node.listen": up, "cluster": up + ",127.0.0.1:1", "node.secret": strings.Repeat("s3cret", 8), "gateway.max_connections": "2000000000",
	})
	wants(t, r, "settings", OK)
	wants(t, r, "node.secret", OK, "48 characters")
	wants(t, r, "node.listen", OK, "in use")
	wants(t, r, "node "+up, OK)
	wants(t, r, "node 127.0.0.1:1", Bad)
	wants(t, r, "file descriptors", Warn, "LimitNOFILE")
	if strings.Contains(fmt.Sprint(r), "s3cret") || r.Durability != "" {
		t.Errorf("%+v", r)
	}
	r = examine(t, map[string]string{"roles": "gateway", "cluster": "nats://user:verysecret@127.0.0.1:1"})
	wants(t, r, "settings", Bad, "node.secret")
	wants(t, r, "node.secret", Bad)
	wants(t, r, "bus 127.0.0.1:1", Bad)
	if strings.Contains(fmt.Sprint(r), "verysecret") {
		t.Errorf("%+v", r)
	}
	r = examine(t, map[string]string{"roles": "gateway", "cluster": up, "node.listen": "192.0.2.1:7", "node.secret": strings.Repeat("x", 32)})
	wants(t, r, "node.listen", Bad)
}
