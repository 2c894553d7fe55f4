package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg"
	"github.com/skein-im/skein/internal/schema"
)

const (
	connectTimeout = 2 * time.Second
	// acquireTimeout is how long a call waits for a connection.
	acquireTimeout = 2500 * time.Millisecond
	// idlePing is after how much idleness a connection is asked whether it lives:
	// what lies between may have forgotten it.
	idlePing = 30 * time.Second
)

// sessionSettings hold for every connection from its beginning, whatever the
// server, the database or the user have. Plans are made once and for small
// batches: by index, whatever the statistics of a young table say. The server
// notices by itself when this side is gone.
func sessionSettings() map[string]string {
	return map[string]string{
		"application_name":              "skein journal",
		"default_transaction_isolation": "read committed",
		"statement_timeout":             fmt.Sprint(statementTimeout.Milliseconds()),
		"lock_timeout":                  fmt.Sprint(lockTimeout.Milliseconds()),
		"jit":                           "off",
		"plan_cache_mode":               "force_generic_plan",
		"enable_seqscan":                "off",
		"enable_hashjoin":               "off",
		"enable_mergejoin":              "off",
		"enable_material":               "off",
		"tcp_keepalives_idle":           "5",
		"tcp_keepalives_interval":       "2",
		"tcp_keepalives_count":          "3",
	}
}

// patient lifts the bounds of a connection that makes the tables, or waits for
// who does.
const patient = "SET statement_timeout = 0; SET lock_timeout = 0"

// neverCancelled keeps the driver from asking the server to cancel what a
// connection that is given up was doing: a commit that waits for its standby
// would be seen by others before it has arrived there.
func neverCancelled(_ context.Context, c *pgx.ConnConfig) error {
	dial := c.DialFunc
	var connected atomic.Bool
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return nil, errNoCancelling
		}
		return dial(ctx, network, address)
	}
	c.Config.AfterConnect = func(context.Context, *pgconn.PgConn) error {
		connected.Store(true)
		return nil
	}
	return nil
}

var errNoCancelling = errors.New("journal: appends are not cancelled")

// poolConfig is that of one of the pools.
func (j *Journal) poolConfig(url string, conns int32) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("journal: the database's URL: %w", err)
	}
	c.MaxConns = conns
	c.ConnConfig.ConnectTimeout = connectTimeout
	c.ConnConfig.DialFunc = pg.Dialer(connectTimeout, j.o.UserTimeout).DialContext
	maps.Copy(c.ConnConfig.RuntimeParams, sessionSettings())
	j.primaries.Guard(&c.ConnConfig.Config)
	c.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) {
		return j.primaries.Current(conn.PgConn()), nil
	}
	c.AfterConnect = j.prepare
	c.PingTimeout = connectTimeout
	c.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > idlePing || suspicious(p.Conn.PgConn().Conn())
	}
	return c, nil
}

// suspicious tells that there is something to read from a connection that is
// not in use: most likely its end.
func suspicious(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	some := true
	// Not raw.Read: the driver may have left a goroutine of its own that reads, and
	// this would wait for it.
	err = raw.Control(func(fd uintptr) { some = readable(fd) })
	return some || err != nil
}

// prepare makes a new connection fit for use: it adopts the server, and knows
// the statements.
func (j *Journal) prepare(ctx context.Context, c *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	if err := j.settle(ctx, c); err != nil {
		return err
	}
	return ensure(ctx, c.PgConn(), stmtPosition)
}

// ensure has a connection know a statement, when it is first needed there: to
// parse it takes locks, for which nothing else should wait.
func ensure(ctx context.Context, c *pgconn.PgConn, name string) error {
	if c.CustomData()[name] != nil {
		return nil
	}
	if _, err := c.Prepare(ctx, name, statements()[name], nil); err != nil {
		return err
	}
	c.CustomData()[name] = true
	return nil
}

// settle checks the server and adopts it.
func (j *Journal) settle(ctx context.Context, c *pgx.Conn) error {
	if err := session(ctx, c); err != nil {
		return err
	}
	return j.adopt(ctx, c)
}

// session makes commits durable and reads back the settings that matter.
func session(ctx context.Context, c *pgx.Conn) error {
	// Not at the beginning: Durability tells what others get.
	if _, err := c.Exec(ctx, "SET synchronous_commit = on"); err != nil {
		return err
	}
	var standby bool
	var commit, version string
	var number int
	err := c.QueryRow(ctx, "SELECT pg_is_in_recovery(), current_setting('synchronous_commit'), current_setting('server_version'), current_setting('server_version_num')::int").
		Scan(&standby, &commit, &version, &number)
	switch {
	case err != nil:
		return err
	case number < minVersion:
		return &SettingError{"server_version", version, "15 or later"}
	case standby:
		return &SettingError{"pg_is_in_recovery", "true", "the primary server"}
	case commit != "on":
		return &SettingError{"synchronous_commit", commit, "on: without it an acknowledged message may be lost"}
	}
	return nil
}

// adopt runs journal_adopt, and notes timeline and era.
func (j *Journal) adopt(ctx context.Context, c *pgx.Conn) error {
	var timeline *string
	var era *int64
	var have schema.Range
	var moved, lost *bool
	err := c.QueryRow(ctx, "SELECT * FROM journal_adopt_3($1, $2, $3)", newTimeline(), int64(newEra()), steps().Known()).
		Scan(&timeline, &era, &have.Version, &have.Least, &moved, &lost)
	if err != nil {
		return err
	}
	j.noteVersion(have)
	if err := steps().Check(storeName, have); err != nil {
		return err
	}
	if *moved {
		j.forget()
		j.o.Logger.Warn("journal: the database server began anew", "timeline", *timeline, "lost", *lost)
	}
	j.noteTimeline(*timeline)
	// Another era at this moment: who notes that looks for what is lost.
	_, err = j.noteEra(ctx, c, uint64(*era))
	return err
}

// noteVersion notes which tables the database has now, and tells operators once
// when they are not those that this program knows.
func (j *Journal) noteVersion(have schema.Range) {
	if old := j.version.Swap(&have); old != nil && *old == have {
		return
	}
	var newer *schema.NewerError
	if errors.As(steps().Check(storeName, have), &newer) {
		j.shut.Store(newer)
		j.o.Logger.Error("journal: this node stores and reads nothing any more: replace it by the newer version", "err", newer)
	} else if text := steps().Beyond(storeName, have); text != "" {
		j.o.Logger.Warn(text)
	}
}

// shutOut is the error of a program that may not use the database any more. It
// stays so until it is started anew.
func (j *Journal) shutOut() error {
	if newer := j.shut.Load(); newer != nil {
		return fmt.Errorf("%w: %w", im.ErrJournalUnavailable, newer)
	}
	return nil
}

// adoptAgain adopts the server outside of a connection's beginning.
func (j *Journal) adoptAgain(ctx context.Context) error {
	c, err := j.acquire(ctx, j.writers)
	if err != nil {
		return err
	}
	defer c.Release()
	if err := j.adopt(ctx, c.Conn()); err != nil {
		return unreachable(ctx, err)
	}
	return nil
}

// acquire returns a connection that lives, as far as that can be known.
func (j *Journal) acquire(ctx context.Context, p *pgxpool.Pool) (*pgxpool.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	c, err := p.Acquire(wait)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	return c, nil
}

var (
	_ im.Journal = (*Journal)(nil)
	_ im.Marks   = (*Journal)(nil)
)
