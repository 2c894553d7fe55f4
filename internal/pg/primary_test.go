package pg_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/pg"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// A primary that was promoted away and that nobody fenced still takes writes, and
// stands first in the URL: connections once led there, and what was stored was
// lost. Who has seen the new one goes on to it, and uses no connection any more
// that leads to the old one.
func TestOldPrimary(t *testing.T) {
	old, next, both := pgtest.Forked(t)
	var p pg.Primaries
	early := connect(t, &p, both)
	if timeline := of(t, early); timeline != 1 || !p.Current(early.PgConn()) {
		t.Fatalf("timeline %d, current %v", timeline, p.Current(early.PgConn()))
	}
	if err := next.Promote(); err != nil {
		t.Fatal(err)
	}
	if !p.Current(early.PgConn()) {
		t.Error("the old primary was given up before the new one was seen")
	}
	if timeline := of(t, connect(t, &p, next.URL())); timeline != 2 {
		t.Fatalf("the promoted one is on timeline %d", timeline)
	}
	if p.Current(early.PgConn()) {
		t.Error("a connection to the old primary is still used")
	}
	if timeline := of(t, connect(t, &p, both)); timeline != 2 {
		t.Errorf("a new connection leads to timeline %d", timeline)
	}
	var refused *pg.OldPrimaryError
	if _, err := dial(t, &p, old.URL()); !errors.As(err, &refused) || refused.Timeline != 1 || refused.Seen != 2 {
		t.Errorf("the old primary alone: %v", err)
	}
	var fresh pg.Primaries // has not seen the new one
	if timeline := of(t, connect(t, &fresh, both)); timeline != 1 {
		t.Errorf("who knows nothing is on timeline %d", timeline)
	}
	other, err := pgtest.Start(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Stop() })
	if timeline := of(t, connect(t, &p, other.URL())); timeline != 1 {
		t.Errorf("another cluster is on timeline %d", timeline)
	}
}

func dial(t *testing.T, p *pg.Primaries, database string) (*pgx.Conn, error) {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	p.Guard(&config.Config)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return pgx.ConnectConfig(ctx, config)
}

func connect(t *testing.T, p *pg.Primaries, database string) *pgx.Conn {
	t.Helper()
	c, err := dial(t, p, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) }) // its server may be gone
	return c
}

// of is the timeline of the log of the server a connection leads to.
func of(t *testing.T, c *pgx.Conn) (timeline int) {
	t.Helper()
	if err := c.QueryRow(t.Context(), "SELECT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int").Scan(&timeline); err != nil {
		t.Fatal(err)
	}
	return timeline
}
