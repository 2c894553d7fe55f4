package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/schema"
)

// Durability is what acknowledged messages survive.
type Durability int

// The levels, each with those before.
const (
	SurvivesCrash    Durability = iota // of a process
	SurvivesPowerCut                   // of the database's machine
	SurvivesNodeLoss                   // of the database's machine, with its disk
)

func (d Durability) String() string {
	return [...]string{"D0 (a process's crash)", "D1 (power loss)", "D2 (loss of the database's machine)"}[d]
}

// Examination is what there is to know of a database, before or while it keeps
// a journal. Of other users' sessions the server may tell less.
type Examination struct {
	Where         string // without user and password
	Host          string
	Version       string
	VersionNumber int
	Recovering    bool // a standby
	Encoding      string

	Fsync, FullPageWrites, Checksums bool
	// CommitDefault is the server's synchronous_commit, Commit what a session of the
	// journal gets.
	CommitDefault, Commit string
	StandbyNames          string // synchronous_standby_names
	Standbys              []Standby

	MaxConnections, Reserved, Connections int
	// Transactions are those that write for a while: positions wait for them.
	Transactions []Transaction

	Journal, Directory schema.Range // zero: there are no tables yet
	Timeline           string
	Import             string // its phase, if there was one
	Tables             []Table
	Autovacuum         bool
	DatabaseBytes      int64
	DataDirectory      string // "" when the server does not tell

	// RoundTrip and CommitTime are medians; ClockAhead is the server's clock against
	// this one's, as exact as half a round trip.
	RoundTrip, CommitTime, ClockAhead time.Duration
}

// Standby is a server that follows.
type Standby struct{ Name, State, SyncState string }

// Transaction is one that runs.
type Transaction struct {
	Who, State string
	Age        time.Duration
}

// Table is what the server counts of a table.
type Table struct {
	Name       string
	Live, Dead int64
	Bytes      int64
	Vacuumed   *time.Time
}

// Steps are those that this program knows to the tables it reads and writes.
func Steps() schema.Steps { return steps() }

// Durability is what is survived with these settings, and why.
func (x *Examination) Durability() (d Durability, reasons []string) {
	if !x.Fsync {
		reasons = append(reasons, "fsync is off")
	}
	if !x.FullPageWrites {
		reasons = append(reasons, "full_page_writes is off")
	}
	if x.Commit != "on" && x.Commit != "remote_apply" && x.Commit != "remote_write" && x.Commit != "local" {
		reasons = append(reasons, "synchronous_commit is "+x.Commit)
	}
	if len(reasons) > 0 {
		return SurvivesCrash, reasons
	}
	reasons = []string{"fsync, full_page_writes and synchronous_commit are on"}
	inStep := func(s Standby) bool { return s.SyncState == "sync" || s.SyncState == "quorum" }
	switch {
	case x.StandbyNames == "":
		return SurvivesPowerCut, append(reasons, "no standby is waited for (synchronous_standby_names is empty)")
	case x.Commit != "on" && x.Commit != "remote_apply":
		return SurvivesPowerCut, append(reasons, "synchronous_commit is "+x.Commit+": no standby's disk is waited for")
	case !slices.ContainsFunc(x.Standbys, inStep):
		return SurvivesPowerCut, append(reasons, "no synchronous standby is connected, or this user may not see it")
	}
	return SurvivesNodeLoss, append(reasons, "commits wait for a synchronous standby's disk")
}

// examineTries is how often what varies is measured.
const examineTries = 20

// Examine looks at a database. It leaves nothing behind in it.
func Examine(ctx context.Context, url string, now func() time.Time) (x Examination, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return x, fmt.Errorf("the database's URL: %w", err)
	}
	config.RuntimeParams["application_name"] = "skein doctor"
	config.RuntimeParams["statement_timeout"] = "0" // ctx bounds it, whatever the database is set to
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	x.Host = config.Host
	x.Where = fmt.Sprintf("postgres://%s:%d/%s", config.Host, config.Port, config.Database)
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return x, unreachable(ctx, err)
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	for _, look := range []func(context.Context, *pgx.Conn) error{x.settings, x.sessions, x.versions, x.tables} {
		if err := look(ctx, c); err != nil {
			return x, err
		}
	}
	return x, x.measure(ctx, c, now)
}

func (x *Examination) settings(ctx context.Context, c *pgx.Conn) error {
	err := c.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('server_encoding'),
		current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on', current_setting('data_checksums') = 'on',
		current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), current_setting('autovacuum') = 'on',
		current_setting('max_connections')::int, current_setting('superuser_reserved_connections')::int,
		pg_database_size(current_database()), CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE') THEN current_setting('data_directory') ELSE '' END`).
		Scan(&x.Version, &x.VersionNumber, &x.Recovering, &x.Encoding, &x.Fsync, &x.FullPageWrites, &x.Checksums, &x.CommitDefault, &x.StandbyNames,
			&x.Autovacuum, &x.MaxConnections, &x.Reserved, &x.DatabaseBytes, &x.DataDirectory)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "SET synchronous_commit = on"); err != nil {
		return err
	}
	return c.QueryRow(ctx, "SELECT current_setting('synchronous_commit')").Scan(&x.Commit)
}

func (x *Examination) sessions(ctx context.Context, c *pgx.Conn) error {
	rows, err := c.Query(ctx, "SELECT COALESCE(application_name, ''), COALESCE(state, ''), COALESCE(sync_state, '') FROM pg_stat_replication ORDER BY 1")
	if err != nil {
		return err
	}
	if x.Standbys, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Standby]); err != nil {
		return err
	}
	if err := c.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'").Scan(&x.Connections); err != nil {
		return err
	}
	// Only transactions that write have an id, which positions wait for.
	rows, err = c.Query(ctx, `SELECT format('%s, process %s, database %s', COALESCE(NULLIF(application_name, ''), usename), pid, datname), COALESCE(state, ''), clock_timestamp() - xact_start
			FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
		UNION ALL SELECT format('prepared transaction %s, database %s', gid, database), 'prepared', clock_timestamp() - prepared FROM pg_prepared_xacts
		ORDER BY 3 DESC LIMIT 5`)
	if err != nil {
		return err
	}
	x.Transactions, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Transaction])
	return err
}

func (x *Examination) versions(ctx context.Context, c *pgx.Conn) error {
	var journal, directory, compatible, imported bool
	err := c.QueryRow(ctx, "SELECT to_regclass('journal_meta') IS NOT NULL, to_regclass('goose_db_version') IS NOT NULL, to_regclass('directory_compatible') IS NOT NULL, to_regclass('skein_migration') IS NOT NULL").
		Scan(&journal, &directory, &compatible, &imported)
	if err == nil && journal {
		if x.Journal, err = schemaRange(ctx, c); err == nil {
			err = c.QueryRow(ctx, "SELECT timeline FROM journal_meta").Scan(&x.Timeline)
		}
	}
	if err == nil && directory {
		err = c.QueryRow(ctx, "SELECT COALESCE(max(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&x.Directory.Version)
	}
	if err == nil && compatible {
		err = c.QueryRow(ctx, "SELECT least FROM directory_compatible").Scan(&x.Directory.Least)
	}
	if err == nil && imported {
		err = c.QueryRow(ctx, "SELECT phase FROM skein_migration").Scan(&x.Import)
	}
	return err
}

func (x *Examination) tables(ctx context.Context, c *pgx.Conn) error {
	rows, err := c.Query(ctx, `SELECT relname::text, n_live_tup, n_dead_tup, pg_total_relation_size(relid), greatest(last_vacuum, last_autovacuum)
		FROM pg_stat_user_tables WHERE relid = ANY(ARRAY[to_regclass('journal_heads'), to_regclass('journal_entries'), to_regclass('journal_marks')]) ORDER BY 1`)
	if err != nil {
		return err
	}
	x.Tables, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Table])
	return err
}

// measure asks for the time, which shows the round trip and the clock, and
// commits something that is in the log only.
func (x *Examination) measure(ctx context.Context, c *pgx.Conn, now func() time.Time) error {
	var trips, commits, ahead []time.Duration
	for range examineTries {
		begun := now()
		var theirs time.Time
		if err := c.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&theirs); err != nil {
			return err
		}
		took := now().Sub(begun)
		trips, ahead = append(trips, took), append(ahead, theirs.Sub(begun.Add(took/2)))
	}
	x.RoundTrip, x.ClockAhead = median(trips), median(ahead)
	if d, _ := x.Durability(); x.Recovering || x.StandbyNames != "" && d != SurvivesNodeLoss {
		return nil // a commit might wait for ever
	}
	for range examineTries {
		begun := now()
		if _, err := c.Exec(ctx, "SELECT pg_logical_emit_message(true, 'skein doctor', '')"); err != nil {
			if strings.Contains(err.Error(), "permission denied") {
				return nil // then it is not known
			}
			return err
		}
		commits = append(commits, now().Sub(begun))
	}
	x.CommitTime = median(commits)
	return nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// PowerLoss tells why the database loses acknowledged messages with the power; nothing: it
// does not, as far as its settings say.
func (j *Journal) PowerLoss(ctx context.Context) (reasons []string, err error) {
	c, err := j.acquire(ctx, j.writers)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	x := Examination{Commit: "on"} // of its own sessions the journal sees to that itself
	if err := c.QueryRow(ctx, "SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on'").Scan(&x.Fsync, &x.FullPageWrites); err != nil {
		return nil, unreachable(ctx, err)
	}
	d, reasons := x.Durability()
	if d != SurvivesCrash {
		reasons = nil
	}
	return reasons, nil
}
