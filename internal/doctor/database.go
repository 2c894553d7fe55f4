package doctor

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/schema"
)

// From when on the figures of a database are remarkable.
const (
	slowTrip        = 5 * time.Millisecond
	slowCommit      = 25 * time.Millisecond
	longTransaction = 10 * time.Second
	clockOff        = 500 * time.Millisecond
	clockFarOff     = 10 * time.Second
)

// database looks at a PostgreSQL store.
func (e *examiner) database(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*e.o.Timeout)
	defer cancel()
	x, err := postgres.Examine(ctx, e.c.Store, e.o.Now)
	e.r.Store = x.Where
	if err != nil {
		e.add(Bad, "database", err.Error(), "no message can be stored while it cannot be used")
		return
	}
	d, reasons := x.Durability()
	e.r.Durability = d.String() + ": " + strings.Join(reasons, "; ")
	level, advice := OK, ""
	if d == postgres.SurvivesCrash {
		level, advice = Bad, "acknowledged messages are lost with the power: turn fsync, full_page_writes and synchronous_commit on"
	}
	e.add(level, "durability", e.r.Durability, advice)
	e.settings(&x)
	e.standbys(&x, d)
	e.load(&x)
	e.times(&x)
	e.schemas(&x)
	e.tables(&x)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// when is ok, or another level when bad.
func when(bad bool, level Level) Level {
	if bad {
		return level
	}
	return OK
}

func (e *examiner) settings(x *postgres.Examination) {
	e.judge(when(x.VersionNumber < 15_00_00, Bad), "server version", x.Version, "PostgreSQL 15 or later is needed")
	e.judge(when(x.Recovering, Bad), "server role", map[bool]string{true: "a standby", false: "the primary"}[x.Recovering], "name the primary server in --store")
	e.judge(when(x.Encoding != "UTF8", Bad), "encoding", x.Encoding, "make the database with ENCODING 'UTF8'")
	e.judge(when(!x.Fsync, Bad), "fsync", onOff(x.Fsync), "a loss of power may destroy the whole database: set fsync = on")
	e.judge(when(!x.FullPageWrites, Bad), "full_page_writes", onOff(x.FullPageWrites), "a loss of power may leave half-written pages: set full_page_writes = on")
	e.judge(when(x.CommitDefault == "off", Warn), "synchronous_commit", x.CommitDefault,
		"Skein turns it on for its own sessions, and works; a tool beside it would lose what it was told is stored: set synchronous_commit = on")
	e.judge(when(!x.Checksums, Warn), "data_checksums", onOff(x.Checksums), "damage of a disk goes unnoticed: stop the server and run pg_checksums --enable")
}

func (e *examiner) standbys(x *postgres.Examination, d postgres.Durability) {
	var list []string
	for _, s := range x.Standbys {
		list = append(list, fmt.Sprintf("%s (%s, %s)", s.Name, s.State, s.SyncState))
	}
	found := "none"
	if len(list) > 0 {
		found = strings.Join(list, ", ")
	}
	if x.StandbyNames != "" {
		found += "; waited for: " + x.StandbyNames
	}
	switch {
	case x.StandbyNames != "" && d != postgres.SurvivesNodeLoss:
		e.add(Bad, "standbys", found, "commits wait for a standby that is not there, or this user may not see it (grant pg_monitor)")
	case len(list) == 0:
		e.add(OK, "standbys", found+": with the machine's disk all is gone but the backups", "")
	default:
		e.add(OK, "standbys", found, "")
	}
}

func (e *examiner) load(x *postgres.Examination) {
	nodes := 1
	if e.c.ExternalBus() == "" {
		nodes += len(e.c.Cluster)
	}
	free, need := x.MaxConnections-x.Reserved, nodes*e.c.Postgres.Connections
	level := OK
	if need > free {
		level = Bad
	} else if need > free*3/4 {
		level = Warn
	}
	e.judge(level, "connections", fmt.Sprintf("max_connections is %d, %d of them reserved, %d in use; %d node(s) open up to %d each", x.MaxConnections, x.Reserved, x.Connections, nodes, e.c.Postgres.Connections),
		"raise max_connections, or lower postgres.connections")
	var long []string
	for _, t := range x.Transactions {
		if t.Age >= longTransaction {
			long = append(long, fmt.Sprintf("%s (%s) for %v", t.Who, t.State, t.Age.Round(time.Second)))
		}
	}
	found := "none"
	if len(long) > 0 {
		found = strings.Join(long, "; ")
	}
	e.judge(when(len(long) > 0, Warn), "long transactions", found,
		"positions wait for the oldest transaction that writes: until it ends, devices are told again at every resume what came since; end it (pg_terminate_backend, ROLLBACK PREPARED)")
}

func (e *examiner) times(x *postgres.Examination) {
	e.judge(when(x.RoundTrip > slowTrip, Warn), "round trip", fmt.Sprint(x.RoundTrip.Round(time.Microsecond)), "every message waits for one: move the nodes and the database together")
	switch {
	case x.CommitTime == 0:
		e.add(Warn, "commit", "it was not measured", "this user may not execute pg_logical_emit_message, or commits wait for a standby that cannot be seen")
	default:
		e.judge(when(x.CommitTime > slowCommit, Warn), "commit", fmt.Sprintf("%v (round trip included, median)", x.CommitTime.Round(time.Microsecond)),
			"every message waits for one: use a faster disk for the database's log, or a nearer standby")
	}
	off := x.ClockAhead.Abs()
	level := when(off > clockOff+x.RoundTrip, Warn)
	if off > clockFarOff {
		level = Bad
	}
	e.judge(level, "clocks", fmt.Sprintf("the database's is %v ahead of this machine's", x.ClockAhead.Round(time.Millisecond)),
		"messages carry the database's time, tokens and limits this machine's: let both follow the same clock (NTP)")
}

func (e *examiner) schemas(x *postgres.Examination) {
	for _, s := range []struct {
		what  string
		have  schema.Range
		steps schema.Steps
	}{
		{"journal schema", x.Journal, postgres.Steps()},
		{"directory schema", x.Directory, directory.Steps("postgres")},
	} {
		found := fmt.Sprintf("version %d, this program knows %d", s.have.Version, s.steps.Known())
		switch {
		case s.have.Version == 0:
			e.add(OK, s.what, "not there yet; the server makes it", "")
		case s.steps.Check("", s.have) != nil:
			e.add(Bad, s.what, fmt.Sprintf("%s, %d is needed", found, s.have.Least), "a newer program wrote it: run that one")
		case s.have.Version > s.steps.Known():
			e.add(Warn, s.what, found, "a newer program extended it: this one may use it; bring all nodes to the newer version soon")
		case s.have.Version < s.steps.Start():
			e.add(Warn, s.what, found, "the next start of this program's server converts it: have a backup")
		case s.steps.Waiting(s.have) > 0:
			e.add(OK, s.what, found+"; a step is left, after which there is no way back to the version before: `skein migrate --contract`", "")
		default:
			e.add(OK, s.what, found, "")
		}
	}
	if x.Import != "" {
		e.judge(when(x.Import != postgres.Done, Bad), "migrate-store", x.Import, "no server opens this database: run `skein migrate-store` to the end, or drop it")
	}
}

func (e *examiner) tables(x *postgres.Examination) {
	e.judge(when(!x.Autovacuum, Warn), "autovacuum", onOff(x.Autovacuum), "tables grow for ever: set autovacuum = on")
	for _, t := range x.Tables {
		vacuumed := "never vacuumed"
		if t.Vacuumed != nil {
			vacuumed = "vacuumed " + t.Vacuumed.UTC().Format("2006-01-02 15:04") + " UTC"
		}
		found := fmt.Sprintf("%s, about %d rows, %d dead, %s", size(uint64(t.Bytes)), t.Live, t.Dead, vacuumed)
		e.judge(when(t.Dead > 100_000 && t.Dead > t.Live, Warn), "table "+t.Name, found, "autovacuum does not keep up: look for long transactions, or let it work harder (autovacuum_vacuum_cost_limit)")
	}
	found := size(uint64(x.DatabaseBytes))
	if free, total, ok := e.databaseDisk(x); ok {
		level := when(free < total/10, Warn)
		if free < total/50 {
			level = Bad
		}
		e.judge(level, "database's disk", fmt.Sprintf("%s of %s free; the database takes %s", size(free), size(total), found), "the server stops when it is full: make room")
		return
	}
	e.add(OK, "database's size", found+"; what is free on its disk cannot be seen from here", "")
}

// databaseDisk is known when the server is on this machine and its directory can
// be seen.
func (e *examiner) databaseDisk(x *postgres.Examination) (free, total uint64, ok bool) {
	ip := net.ParseIP(x.Host)
	if x.DataDirectory == "" || x.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return 0, 0, false
	}
	fs, err := fileSystem(x.DataDirectory)
	return fs.free, fs.total, err == nil
}
