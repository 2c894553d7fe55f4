package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// database is one on a PostgreSQL server, and what it costs the server: a
// scenario's own, which ends with it, or the one of nodes that run already.
type database struct {
	url   string // of the database
	name  string // to drop, "" if it was there before
	admin *pgx.Conn
	main  int // process id of the server, 0 if it is not on this machine
	// counts tells that the server counts statements (pg_stat_statements).
	counts bool
}

// databaseUsage is what the whole server did, but for asking it.
type databaseUsage struct {
	wal     float64 // bytes of the write-ahead log
	commits float64 // transactions, seen up to a second late
	queries float64 // statements, but for those that begin and end transactions
	cpu     time.Duration
}

// attachDatabase looks at the server of a database that is in use.
func attachDatabase(ctx context.Context, url string, main int) (d *database, err error) {
	d = &database{url: url, main: main}
	if d.admin, err = pgx.Connect(ctx, url); err != nil {
		return nil, err
	}
	if d.main == 0 {
		d.main = localServer(d.admin.PgConn().PID())
	}
	// Who may not make the extension, or has none loaded, has no number of queries.
	_, _ = d.admin.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
	var n int
	d.counts = d.admin.QueryRow(ctx, "SELECT count(*) FROM pg_stat_statements").Scan(&n) == nil
	return d, nil
}

// makeDatabase makes a database on the server that the URL names.
func makeDatabase(ctx context.Context, server string, main int) (*database, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	d, err := attachDatabase(ctx, server, main)
	if err != nil {
		return nil, err
	}
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	d.name = "skein_bench_" + hex.EncodeToString(b[:])
	if _, err = d.admin.Exec(ctx, "CREATE DATABASE "+d.name); err != nil {
		d.name = ""
		return nil, errors.Join(err, d.close())
	}
	u.Path = "/" + d.name
	d.url = u.String()
	return d, nil
}

func (d *database) close() error {
	var err error
	if d.name != "" {
		_, err = d.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+d.name+" WITH (FORCE)")
	}
	return errors.Join(err, d.admin.Close(context.Background()))
}

// usage asks the server; nil has none. The asking is left out of what it tells.
func (d *database) usage(ctx context.Context) (u databaseUsage, err error) {
	if d == nil {
		return u, nil
	}
	u.cpu = d.serverCPU()
	const asked = `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8, (SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database)::float8, 0::float8 /* skein-lab */`
	const counted = `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8, (SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database)::float8,
		(SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query !~* '^ *(begin|commit|rollback|start)' AND query NOT LIKE '%skein-lab%')::float8 /* skein-lab */`
	query := asked
	if d.counts {
		query = counted
	}
	err = d.admin.QueryRow(ctx, query).Scan(&u.wal, &u.commits, &u.queries)
	return u, err
}

// localServer returns the main process of the server whose process serves a
// connection, 0 if that is not on this machine.
func localServer(backend uint32) int {
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(int(backend)), "comm"))
	if err != nil || !strings.HasPrefix(string(name), "postgres") {
		return 0
	}
	if f, ok := statOf(int(backend)); ok {
		return f.parent
	}
	return 0
}

// serverCPU is the CPU time all processes of the server have used, 0 if it is
// not known.
func (d *database) serverCPU() time.Duration {
	if d == nil || d.main == 0 {
		return 0
	}
	main, ok := statOf(d.main)
	if !ok {
		return 0
	}
	ticks := main.own + main.children
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if f, ok := statOf(pid); ok && f.parent == d.main {
			ticks += f.own
		}
	}
	return time.Duration(ticks) * time.Second / 100 // Linux counts hundredths
}

type processStat struct{ parent, own, children int }

func statOf(pid int) (s processStat, ok bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	f := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(f) < 15 {
		return s, false
	}
	var n [5]int
	for i, at := range []int{1, 11, 12, 13, 14} {
		if n[i], err = strconv.Atoi(f[at]); err != nil {
			return s, false
		}
	}
	return processStat{n[0], n[1] + n[2], n[3] + n[4]}, true
}
