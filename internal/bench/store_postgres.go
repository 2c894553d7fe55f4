package bench

import (
	"context"
	"errors"
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
	*database
	conn *pgx.Conn // of the floor

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
	p = &storePostgres{load: newStoreLoad(o.Conversations, o.Payload), seqs: make([]int64, o.Conversations), types: pgtype.NewMap()}
	if p.database, err = makeDatabase(ctx, o.Postgres, o.PostgresPID); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.conn, err = pgx.Connect(ctx, p.url); err != nil {
		return nil, err
	}
	if _, err = p.conn.Exec(ctx, floorTable); err != nil {
		return nil, err
	}
	_, err = p.conn.Prepare(ctx, "floor", floorInsert)
	return p, err
}

func (p *storePostgres) close() error {
	var err error
	if p.conn != nil {
		err = p.conn.Close(context.Background())
	}
	return errors.Join(err, p.database.close())
}

// serverCPU is what the whole server has used, 0 without one.
func (p *storePostgres) serverCPU() time.Duration {
	if p == nil {
		return 0
	}
	return p.database.serverCPU()
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
		ids, kinds, texts = append(ids, e.ID), append(kinds, int16(e.Kind)), append(texts, true)
		senders, types, bodies = append(senders, string(e.Sender)), append(types, "text"), append(bodies, e.Body)
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
