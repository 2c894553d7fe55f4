package pg

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// Primaries knows the newest timeline of PostgreSQL's log that was seen here, for
// each database cluster. Every promotion begins a higher one, so a server that has
// a lower one is an old primary that nobody fenced, or an older copy: what is
// written there is lost. The zero value is ready for use.
type Primaries struct {
	mu     sync.Mutex
	newest map[string]uint32 // by the cluster's system identifier
}

// OldPrimaryError refuses a server of a lower timeline than was seen.
type OldPrimaryError struct{ Timeline, Seen uint32 }

func (e *OldPrimaryError) Error() string {
	return fmt.Sprintf("this server's log is on timeline %d, and %d was seen: it is an old primary that was not fenced, or an older copy; nothing is read or written there. Stop it, or, if it is the right one, start the nodes anew", e.Timeline, e.Seen)
}

// customPlace is where a connection keeps its place.
const customPlace = "skein place"

// place is where a connection leads.
type place struct {
	system   string
	timeline uint32
}

// Guard has the connections of c lead to no old primary, besides what c asks for.
// Where the URL names several hosts, the next one is tried.
func (p *Primaries) Guard(c *pgconn.Config) {
	asked := c.ValidateConnect
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if asked != nil {
			if err := asked(ctx, conn); err != nil {
				return err
			}
		}
		return p.enter(ctx, conn)
	}
}

// enter notes where a new connection leads. A standby has no timeline of its own.
func (p *Primaries) enter(ctx context.Context, conn *pgconn.PgConn) error {
	r := conn.ExecParams(ctx, `SELECT system_identifier::text,
		CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END
		FROM pg_control_system()`, nil, nil, nil, nil).Read()
	if r.Err != nil {
		return r.Err
	}
	if len(r.Rows) != 1 || len(r.Rows[0][1]) == 0 {
		return nil
	}
	timeline, err := strconv.ParseUint(string(r.Rows[0][1]), 16, 32)
	if err != nil {
		return fmt.Errorf("the server's timeline: %w", err)
	}
	at := place{string(r.Rows[0][0]), uint32(timeline)}
	conn.CustomData()[customPlace] = at
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.newest == nil {
		p.newest = map[string]uint32{}
	}
	if seen := p.newest[at.system]; at.timeline < seen {
		return &OldPrimaryError{at.timeline, seen}
	}
	p.newest[at.system] = at.timeline
	return nil
}

// Current tells whether a connection leads to the newest timeline that was seen:
// one to a server that was no primary any more since must not be used.
func (p *Primaries) Current(conn *pgconn.PgConn) bool {
	at, ok := conn.CustomData()[customPlace].(place)
	p.mu.Lock()
	defer p.mu.Unlock()
	return !ok || at.timeline >= p.newest[at.system]
}
