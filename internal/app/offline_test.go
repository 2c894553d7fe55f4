package app

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// offline opens the stores of settings as an import does.
func offline(t *testing.T, cfg config.Config) (*Offline, error) {
	t.Helper()
	return OpenOffline(t.Context(), cfg, slog.New(slog.DiscardHandler))
}

// TestOneImportAtATime: two imports into one store are not at work at once, nor one beside a
// server; the second is told why, and comes in when the first has ended.
func TestOneImportAtATime(t *testing.T) {
	for _, kind := range []string{"embedded", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) {
			cfg, other := config.Default(), ""
			cfg.Data = t.TempDir()
			if other = cfg.Data; kind == "PostgreSQL" { // other hosts have directories of their own
				cfg.Store, other = pgtest.Database(t), t.TempDir()
			}
			type opened struct {
				o   *Offline
				err error
			}
			both := make(chan opened, 2)
			for _, dir := range []string{cfg.Data, other} {
				c := cfg
				c.Data = dir
				go func() {
					o, err := offline(t, c)
					both <- opened{o, err}
				}()
			}
			a, b := <-both, <-both
			if a.err != nil {
				a, b = b, a
			}
			if a.err != nil || b.err == nil {
				t.Fatalf("two at once: %v, %v", a.err, b.err)
			}
			refused := map[string]string{"embedded": "wait until the import that runs has ended", "PostgreSQL": "another import or migration into this database is running"}[kind]
			if !strings.Contains(b.err.Error(), refused) {
				t.Errorf("the second is told %q", b.err)
			}
			if err := a.o.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := offline(t, cfg)
			if err != nil {
				t.Fatalf("after the first: %v", err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The database ends the one session that holds it for an import, whose other connections stay:
// the import stops before its next batch, and can be run again. Once it went on beside whoever
// took the database then.
func TestImportThatLostItsHold(t *testing.T) {
	ctx, cfg := t.Context(), config.Default()
	cfg.Data, cfg.Store = t.TempDir(), pgtest.Database(t)
	write := func(o *Offline, n byte) (im.Appended, error) {
		target, err := o.Target(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := make([]im.Appended, 1)
		e := im.Entry{Conversation: im.Group("g"), ID: im.MessageID{n}, Kind: im.EntryMessage, Sender: "ann", Body: []byte("said elsewhere")}
		err = target.Journal.AppendDated(ctx, []im.Append{{Entry: e}}, []time.Time{time.UnixMilli(int64(n))}, out)
		return out[0], err
	}
	o, err := offline(t, cfg)
	ok(t, err)
	ok(t, o.app.directory.CreateUser(ctx, im.Credentials{User: im.User{ID: "ann", Username: "ann", DMPolicy: im.DMContacts, Created: time.UnixMilli(1)}})) // a journal without any user is half a database
	_, err = write(o, 1)
	ok(t, err)
	pgtest.Exec(t, cfg.Store, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'skein import'")
	if _, err := write(o, 2); !errors.Is(err, postgres.ErrHoldLost) {
		t.Errorf("the import goes on without the lock: %v", err)
	}
	_ = o.Close() // its connection was ended
	again, err := offline(t, cfg)
	ok(t, err)
	for n, want := range map[byte]im.AppendStatus{1: im.Duplicate, 2: im.Stored} {
		if out, err := write(again, n); err != nil || out.Status != want {
			t.Errorf("message %d, again: %+v, %v", n, out, err)
		}
	}
	ok(t, again.Close())
}

// TestImportBesideServer: an import opens no store that a server has open.
func TestImportBesideServer(t *testing.T) {
	for _, kind := range []string{"embedded", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) {
			cfg := settings(t.TempDir())
			want := "stop the server first"
			if kind == "PostgreSQL" {
				cfg.Store, want = pgtest.Database(t), "stop every node first"
			}
			p := runWith(t, cfg, Options{}, nil)
			c := cfg
			if kind == "PostgreSQL" {
				c.Data = t.TempDir()
			}
			if o, err := offline(t, c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("beside a server: %v, %v", o, err)
			}
			p.stop()
			o, err := offline(t, c)
			if err != nil {
				t.Fatalf("when the server has ended: %v", err)
			}
			if err := o.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
