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
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/skein-im/skein/internal/im"
)

// storePostgres is a database of the scenario's own on a server, and the floor
// on it: a bare insert of the same rows, with the same columns and unique
// indexes, into a table of the same size, one transaction per batch over one
// connection.
type storePostgres struct {
	url   string // of the database
	admin *pgx.Conn
	conn  *pgx.Conn // of the floor
	name  string
	main  int // process id of the server, 0 if it is not on this machine

	load  *storeLoad // the floor's messages
	next  uint32
	seqs  []int64
	pos   int64
	types *pgtype.Map
}

// floorTable is a journal's table of entries, as far as a bare insert goes.
const floorTable = `CREATE TABLE bench_floor (
	no bigint NOT NULL, seq bigint NOT NULL, count bigint NOT NULL, stored bigint NOT NULL, pos bigint NOT NULL, hash bigint NOT NULL, id uuid NOT NULL,
	kind smallint NOT NULL, text bool NOT NULL, recalled bool NOT NULL DEFAULT false, sender text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
	body bytea NOT NULL, roster bigint NOT NULL, reply_to bigint, target bigint, mentions text COLLATE "C", event text COLLATE "C");
	CREATE UNIQUE INDEX ON bench_floor (no, seq); CREATE UNIQUE INDEX ON bench_floor (id, sender)`

const floorInsert = `INSERT INTO bench_floor (no, seq, count, stored, pos, hash, id, kind, text, sender, type, body, roster)
	SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::uuid[], $8::smallint[], $9::bool[],
		$10::text[], $11::text[], $12::bytea[], $13::bigint[])`

func newStorePostgres(ctx context.Context, o *StoreOptions) (p *storePostgres, err error) {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	p = &storePostgres{
		name: "skein_bench_" + hex.EncodeToString(b[:]), load: newStoreLoad(o.Conversations, o.Payload),
		seqs: make([]int64, o.Conversations), types: pgtype.NewMap(), main: o.PostgresPID,
	}
	if p.admin, err = pgx.Connect(ctx, o.Postgres); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if _, err = p.admin.Exec(ctx, "CREATE DATABASE "+p.name); err != nil {
		return nil, err
	}
	u, err := url.Parse(o.Postgres)
	if err != nil {
		return nil, err
	}
	u.Path = "/" + p.name
	p.url = u.String()
	if p.conn, err = pgx.Connect(ctx, p.url); err != nil {
		return nil, err
	}
	if _, err = p.conn.Exec(ctx, floorTable); err != nil {
		return nil, err
	}
	if _, err = p.conn.Prepare(ctx, "floor", floorInsert); err != nil {
		return nil, err
	}
	if p.main == 0 {
		p.main = localServer(p.conn.PgConn().PID())
	}
	return p, nil
}

func (p *storePostgres) close() error {
	ctx := context.Background()
	var err error
	if p.conn != nil {
		err = p.conn.Close(ctx)
	}
	_, dropped := p.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+p.name+" WITH (FORCE)")
	return errors.Join(err, dropped, p.admin.Close(ctx))
}

// fill gives the floor's table as many rows as the journal has.
func (p *storePostgres) fill(ctx context.Context, messages int) error {
	for int(p.next) < messages {
		if _, err := p.insert(ctx, min(storePreloadBatch, messages-int(p.next))); err != nil {
			return err
		}
	}
	return nil
}

// floor inserts batches of a size for a while.
func (p *storePostgres) floor(ctx context.Context, size int, d time.Duration) (f storeFloor, err error) {
	cpu := p.serverCPU()
	for begin := time.Now(); f.messages == 0 || time.Since(begin) < d; {
		one, err := p.insert(ctx, size)
		if err != nil {
			return f, err
		}
		f.messages += size
		f.took += one.took
		f.cpu += one.cpu
	}
	f.server = p.serverCPU() - cpu
	return f, nil
}

// insert stores a batch of new messages; making it is not measured.
func (p *storePostgres) insert(ctx context.Context, size int) (f storeFloor, err error) {
	var no, seq, count, stored, pos, hash, roster []int64
	var ids [][16]byte
	var kinds []int16
	var texts []bool
	var senders, types []string
	var bodies [][]byte
	p.pos++
	now := time.Now().UnixMilli()
	for range size {
		var it im.Append
		p.load.item(p.next, &it)
		c := p.load.conversation(p.next)
		p.next++
		p.seqs[c]++
		e := &it.Entry
		no, seq, count = append(no, int64(c)), append(seq, p.seqs[c]), append(count, p.seqs[c])
		stored, pos, hash, roster = append(stored, now), append(pos, p.pos), append(hash, int64(it.Hash)), append(roster, 0)
		ids, kinds, texts = append(ids, e.ID), append(kinds, int16(e.Kind)), append(texts, e.Content.Text)
		senders, types, bodies = append(senders, string(e.Sender)), append(types, e.Content.Type), append(bodies, e.Content.Body)
	}
	var params [][]byte
	for _, a := range []struct {
		oid   uint32
		value any
	}{
		{pgtype.Int8ArrayOID, no}, {pgtype.Int8ArrayOID, seq}, {pgtype.Int8ArrayOID, count}, {pgtype.Int8ArrayOID, stored}, {pgtype.Int8ArrayOID, pos},
		{pgtype.Int8ArrayOID, hash}, {pgtype.UUIDArrayOID, ids}, {pgtype.Int2ArrayOID, kinds}, {pgtype.BoolArrayOID, texts},
		{pgtype.TextArrayOID, senders}, {pgtype.TextArrayOID, types}, {pgtype.ByteaArrayOID, bodies}, {pgtype.Int8ArrayOID, roster},
	} {
		param, err := p.types.Encode(a.oid, pgtype.BinaryFormatCode, a.value, nil)
		if err != nil {
			return f, err
		}
		params = append(params, param)
	}
	start, cpu := time.Now(), processCPU()
	binary := []int16{pgtype.BinaryFormatCode}
	_, err = p.conn.PgConn().ExecPrepared(ctx, "floor", params, binary, binary).Close()
	return storeFloor{messages: size, took: time.Since(start), cpu: processCPU() - cpu}, err
}

// bytes is what the journal takes in the database.
func (p *storePostgres) bytes(ctx context.Context) (n int64, err error) {
	err = p.conn.QueryRow(ctx, "SELECT pg_database_size(current_database()) - pg_total_relation_size('bench_floor')").Scan(&n)
	return n, err
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
func (p *storePostgres) serverCPU() time.Duration {
	if p == nil || p.main == 0 {
		return 0
	}
	main, ok := statOf(p.main)
	if !ok {
		return 0
	}
	ticks := main.own + main.children
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if f, ok := statOf(pid); ok && f.parent == p.main {
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
