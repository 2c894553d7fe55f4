package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Finding is one setting of the database server, and what to do about it.
type Finding struct {
	Name   string
	Value  string
	OK     bool
	Advice string // when it is not OK
}

// The levels of durability: what no acknowledged message is lost by.
const (
	DurabilityProcess = "D0" // a crash of a process
	DurabilityPower   = "D1" // power loss, too
	DurabilityNode    = "D2" // the loss of the database server, too
)

// longTransaction is from when on a running transaction is worth a word:
// positions wait for it.
const longTransaction = 60 * time.Second

const settingsSQL = `SELECT current_setting('server_version'), current_setting('server_version_num')::int, current_setting('fsync'), current_setting('full_page_writes'),
	current_setting('synchronous_commit'), coalesce((SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'), ''),
	current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),
	current_setting('data_checksums'), current_setting('autovacuum'), current_setting('max_connections')::int,
	current_setting('superuser_reserved_connections')::int, (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
	(SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND xact_start < clock_timestamp() - make_interval(secs => $1)),
	(SELECT count(*) FROM pg_prepared_xacts WHERE prepared < clock_timestamp() - make_interval(secs => $1))`

// settings are what settingsSQL returns.
type settings struct {
	version                                            string
	number                                             int
	fsync, pages, commit, commitDefault, names         string
	standbys                                           int
	checksums, autovacuum                              string
	maxConnections, reserved, used, long, longPrepared int
}

// Durability reads from the server's settings what acknowledged messages
// survive, and what should be changed.
func (j *Journal) Durability(ctx context.Context) (level string, findings []Finding, err error) {
	if err := j.enter(); err != nil {
		return "", nil, err
	}
	defer j.life.RUnlock()
	c, err := j.acquire(ctx, j.readers)
	if err != nil {
		return "", nil, err
	}
	defer c.Release()
	var s settings
	err = c.QueryRow(ctx, settingsSQL, longTransaction.Seconds()).Scan(&s.version, &s.number, &s.fsync, &s.pages, &s.commit, &s.commitDefault,
		&s.names, &s.standbys, &s.checksums, &s.autovacuum, &s.maxConnections, &s.reserved, &s.used, &s.long, &s.longPrepared)
	if err != nil {
		return "", nil, unreachable(ctx, err)
	}
	return s.level(), s.findings(j.o.MaxConns), nil
}

func (s *settings) level() string {
	switch {
	case s.fsync != "on" || s.pages != "on" || s.commit != "on" && s.commit != "remote_apply":
		return DurabilityProcess
	case s.names != "":
		return DurabilityNode
	}
	return DurabilityPower
}

func (s *settings) findings(conns int) []Finding {
	var all []Finding
	add := func(name string, value any, ok bool, advice string) {
		if ok {
			advice = ""
		}
		all = append(all, Finding{name, fmt.Sprint(value), ok, advice})
	}
	add("server_version", s.version, s.number >= minVersion, "upgrade to PostgreSQL 15 or later")
	add("fsync", s.fsync, s.fsync == "on", "turn it on: a power loss destroys the database")
	add("full_page_writes", s.pages, s.pages == "on", "turn it on: a power loss may damage pages, unless the file system writes them whole")
	add("synchronous_commit", s.commit, s.commit == "on" || s.commit == "remote_apply",
		"something between skein and the server changes the setting of its connections: connect directly, or in session mode")
	add("synchronous_commit (default)", s.commitDefault, s.commitDefault != "off" && s.commitDefault != "local",
		"skein sets it to on for its own connections; others on this server may lose commits")
	add("synchronous_standby_names", s.names, s.names != "", "without a synchronous standby, what was acknowledged last is lost with the server: name one, such as ANY 1 (a, b)")
	if s.names != "" {
		add("synchronous standbys connected", s.standbys, s.standbys > 0, "none is connected: every commit waits until one is")
	}
	add("data_checksums", s.checksums, s.checksums == "on", "without them damage on the disk is not noticed: pg_checksums --enable, with the server stopped")
	add("autovacuum", s.autovacuum, s.autovacuum == "on", "turn it on: heads and marks are updated all the time")
	add("max_connections", fmt.Sprintf("%d, %d in use, up to %d of each node", s.maxConnections, s.used, conns),
		s.maxConnections-s.reserved >= 2*conns, "raise it to at least "+strconv.Itoa(2*conns+s.reserved)+", or lower the connections of each node: two must fit while one replaces the other")
	add("long transactions", s.long+s.longPrepared, s.long+s.longPrepared == 0,
		"a transaction that wrote and does not end for a minute keeps positions back, so that devices are told twice: see pg_stat_activity and pg_prepared_xacts")
	return all
}
