// Package postgres is the search's index for many nodes: tables of their own in the
// database that the stores are in, in a schema whose name has the version of the tokens,
// so that programs of two versions keep an index each. It owns the connections, few and
// apart from the stores', and the tables, which can be dropped at any time and are made
// anew.
//
// A row of docs is a message: its id orders it among all, tokens (tsvector, with a GIN
// index) are what it is found by, each behind the number of its conversation, so what is
// asked costs what lies in the conversations that are asked about (see package
// search/sqlite). There is no analysis of the server's, and no text.
//
// Nodes that apply at the same time do it one after the other: who writes has the row of
// state. What two of them come with are beginnings of the same history, so the order of
// ids is that of positions whoever comes first.
//
// Goroutines: the pool's. Locks: Index.mu guards the pool.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/search/token"
)

// The bounds of what is waited for.
const (
	connectTime   = 2 * time.Second
	silentTime    = 10 * time.Second // what was sent stays unacknowledged
	statementTime = 10 * time.Second
	lockTime      = 5 * time.Second
)

// Schema is where the tables are.
var Schema = fmt.Sprintf("skein_search_%d", token.Version)

// Index is an index in a database. Use New.
type Index struct {
	url   string
	conns int32

	mu    sync.Mutex
	pool  *pgxpool.Pool // nil: not open
	ready bool          // the tables are there
}

var _ search.Index = (*Index)(nil)

// New returns the index in the database of a postgres:// URL, which is connected to, with
// at most conns connections, when it is used first: a node starts without it.
func New(url string, conns int) *Index { return &Index{url: url, conns: int32(conns)} }

// tables makes what is not there. Several nodes do it one after the other.
const tables = `
SELECT pg_advisory_xact_lock(hashtext('%[1]s'));
CREATE SCHEMA IF NOT EXISTS %[1]s;
CREATE TABLE IF NOT EXISTS %[1]s.state (one boolean PRIMARY KEY DEFAULT true CHECK (one), era bigint NOT NULL, pos bigint NOT NULL, known bigint NOT NULL, docs bigint NOT NULL);
INSERT INTO %[1]s.state (era, pos, known, docs) VALUES (0, 0, 0, 0) ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS %[1]s.conversations (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE);
CREATE SEQUENCE IF NOT EXISTS %[1]s.ids;
CREATE TABLE IF NOT EXISTS %[1]s.docs (id bigint PRIMARY KEY, conversation bigint NOT NULL, seq bigint NOT NULL, pos bigint NOT NULL, stored bigint NOT NULL, tokens tsvector NOT NULL, UNIQUE (conversation, seq));
CREATE INDEX IF NOT EXISTS docs_tokens ON %[1]s.docs USING gin (tokens) WITH (gin_pending_list_limit = 1024);
CREATE TABLE IF NOT EXISTS %[1]s.forgotten (conversation bigint NOT NULL, after bigint NOT NULL, until bigint NOT NULL, PRIMARY KEY (conversation, after));
`

// open returns the pool, and makes the tables if they may not be there.
func (x *Index) open(ctx context.Context) (*pgxpool.Pool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.pool == nil {
		c, err := pgxpool.ParseConfig(x.url)
		if err != nil {
			return nil, fmt.Errorf("search: the database's URL: %w", err)
		}
		c.MaxConns = x.conns
		c.MaxConnIdleTime = time.Minute
		c.ConnConfig.ConnectTimeout = connectTime
		c.ConnConfig.DialFunc = pg.Dialer(connectTime, silentTime).DialContext
		for name, value := range map[string]string{
			"application_name": "skein search", "jit": "off", "search_path": Schema,
			"statement_timeout": fmt.Sprint(statementTime.Milliseconds()), "lock_timeout": fmt.Sprint(lockTime.Milliseconds()),
			// By the tokens, whatever the statistics say of how common they are.
			"enable_seqscan": "off",
		} {
			c.ConnConfig.RuntimeParams[name] = value
		}
		if x.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), c); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
	}
	if x.ready {
		return x.pool, nil
	}
	// What goes on without parameters is one transaction.
	if _, err := x.pool.Exec(ctx, fmt.Sprintf(tables, Schema), pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, fmt.Errorf("search: make the tables: %w", err)
	}
	x.ready = true
	return x.pool, nil
}

// use calls do with the pool.
func (x *Index) use(ctx context.Context, do func(*pgxpool.Pool) error) error {
	pool, err := x.open(ctx)
	if err != nil {
		return err
	}
	return x.classify(do(pool))
}

// change carries out a transaction, alone among those that write.
func (x *Index) change(ctx context.Context, do func(pgx.Tx) (docs int64, err error)) error {
	return x.use(ctx, func(pool *pgxpool.Pool) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			var one bool
			if err := tx.QueryRow(ctx, "SELECT one FROM state FOR UPDATE").Scan(&one); err != nil {
				return err
			}
			docs, err := do(tx)
			if err == nil && docs != 0 {
				_, err = tx.Exec(ctx, "UPDATE state SET docs = docs + $1", docs)
			}
			return err
		})
	})
}

// classify tells apart what Reset helps against: tables that were dropped.
func (x *Index) classify(err error) error {
	if err == nil {
		return nil
	}
	var e *pgconn.PgError
	if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &e) && e.Code == pg.UndefinedTable {
		x.mu.Lock()
		x.ready = false
		x.mu.Unlock()
		return fmt.Errorf("%w: %w", search.ErrDamaged, err)
	}
	return fmt.Errorf("search: %w", err)
}

// State tells how far the index is.
func (x *Index) State(ctx context.Context) (s search.State, err error) {
	var era, pos, known int64
	err = x.use(ctx, func(pool *pgxpool.Pool) error {
		return pool.QueryRow(ctx, "SELECT era, pos, known, docs FROM state").Scan(&era, &pos, &known, &s.Docs)
	})
	if err != nil {
		return search.State{}, err
	}
	s.Place = im.Place{Era: uint64(era), Pos: uint64(pos)}
	if known != 0 {
		s.Known = time.UnixMilli(known)
	}
	return s, nil
}

// SaveState notes Place and Known.
func (x *Index) SaveState(ctx context.Context, s search.State) error {
	var known int64
	if !s.Known.IsZero() {
		known = s.Known.UnixMilli()
	}
	return x.use(ctx, func(pool *pgxpool.Pool) error {
		done, err := pool.Exec(ctx, "UPDATE state SET era = $1, pos = $2, known = $3", int64(s.Place.Era), int64(s.Place.Pos), known)
		if err == nil && done.RowsAffected() == 0 {
			err = pgx.ErrNoRows
		}
		return err
	})
}

// Reset empties the tables.
func (x *Index) Reset(ctx context.Context) error {
	return x.use(ctx, func(pool *pgxpool.Pool) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			for _, statement := range []string{
				"INSERT INTO state (era, pos, known, docs) VALUES (0, 0, 0, 0) ON CONFLICT (one) DO UPDATE SET era = 0, pos = 0, known = 0, docs = 0",
				"TRUNCATE docs, conversations, forgotten",
			} {
				if _, err := tx.Exec(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Close closes the connections.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.pool != nil {
		x.pool.Close()
	}
	x.pool, x.ready = nil, false
	return nil
}
