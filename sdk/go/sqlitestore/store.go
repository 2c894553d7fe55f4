// Package sqlitestore keeps a client's state in one SQLite file: what is sent
// survives a crash, what was read need not be read again.
//
// It owns the file and its schema; it knows nothing of the protocol beyond the
// messages it stores. It is the only package of the SDK that imports SQLite
// (pure Go, no cgo). One connection serves all calls, one at a time: Store.mu is
// held for each. There are no goroutines beyond database/sql's.
//
// Invariants: every batch is one transaction, durable when Apply returns
// (journal_mode WAL, synchronous FULL, both read back); the file is locked by
// one process at a time.
package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"net/url"
	"os"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite" // the driver

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// Store is a skein.Store in a file.
type Store struct {
	db *sql.DB

	mu    sync.Mutex
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

var _ skein.Store = (*Store)(nil)

// version is the schema's; the file carries it in user_version.
const version = 9

const schema = `
CREATE TABLE meta (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	user TEXT NOT NULL, timeline TEXT NOT NULL, device TEXT NOT NULL, position TEXT NOT NULL,
	listing INTEGER NOT NULL, list_next TEXT NOT NULL, settled_at INTEGER NOT NULL
) STRICT;
CREATE TABLE counter (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT;
CREATE TABLE conversation (
	id TEXT PRIMARY KEY, title TEXT NOT NULL,
	first_seq INTEGER NOT NULL, until_seq INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
	head INTEGER NOT NULL, head_count INTEGER NOT NULL, last_at INTEGER NOT NULL,
	read_seq INTEGER NOT NULL, read_count INTEGER NOT NULL, received INTEGER NOT NULL, marked_at INTEGER NOT NULL,
	peer_received INTEGER NOT NULL, peer_read INTEGER NOT NULL, last BLOB, earlier BLOB NOT NULL DEFAULT x'', recalled BLOB NOT NULL DEFAULT x'',
	newest BLOB, mine BLOB, mentions BLOB NOT NULL DEFAULT x'',
	lifetimes BLOB NOT NULL DEFAULT x'', unsure INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE entry (
	conversation TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (conversation, seq)
) STRICT, WITHOUT ROWID;
` + threadTable + `
CREATE TABLE outbox (
	n INTEGER PRIMARY KEY, state INTEGER NOT NULL, send BLOB NOT NULL, made_at INTEGER NOT NULL,
	seq INTEGER NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL
) STRICT;
CREATE TABLE feed (
	n INTEGER PRIMARY KEY, kind INTEGER NOT NULL, conversation TEXT NOT NULL,
	from_seq INTEGER NOT NULL, seq INTEGER NOT NULL, entry BLOB, failed TEXT
) STRICT;
CREATE INDEX feed_entry ON feed (conversation, seq);
`

// threadTable has a kept thread in each row; body is its root, what the user has of it, and
// its replies, as a ListThreadResponse.
const threadTable = `CREATE TABLE thread (
	conversation TEXT NOT NULL, root INTEGER NOT NULL, stale INTEGER NOT NULL, used INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (conversation, root)
) STRICT;`

// Open opens the file, or makes it (mode 0600). It fails if another process
// has it open, or if a newer version of this package wrote it.
func Open(path string) (*Store, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: %w", err)
	}
	f.Close()
	q := url.Values{"_pragma": {
		"busy_timeout(1000)", "locking_mode(EXCLUSIVE)", "journal_mode(WAL)", "synchronous(FULL)",
	}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: %w", err)
	}
	s := &Store{db: db, stmts: map[string]*sql.Stmt{}}
	if s.conn, err = db.Conn(context.Background()); err == nil {
		err = s.prepare(context.Background())
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("sqlitestore: %s: open (is it in use by another process?): %w", path, err)
	}
	return s, nil
}

// prepare checks that the file is ours alone and as durable as promised, and
// makes the tables.
func (s *Store) prepare(ctx context.Context) error {
	var mode string
	var sync, v int
	if err := s.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if err := s.conn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&sync); err != nil {
		return err
	}
	if mode != "wal" || sync != 2 {
		return fmt.Errorf("journal_mode %s, synchronous %d: want wal, 2 (FULL)", mode, sync)
	}
	if err := s.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
		return err
	}
	switch {
	case v > version:
		return fmt.Errorf("written by a newer version (schema %d, this is %d)", v, version)
	case v == version:
		// A write takes the lock that keeps other processes out.
		_, err := s.conn.ExecContext(ctx, "UPDATE counter SET n = n WHERE name = 'feed'")
		return err
	}
	return s.inTx(ctx, func() error {
		if v > 0 {
			return s.upgrade(ctx, v)
		}
		if _, err := s.conn.ExecContext(ctx, schema); err != nil {
			return err
		}
		_, err := s.conn.ExecContext(ctx, fmt.Sprintf("INSERT INTO counter VALUES ('feed', 0); PRAGMA user_version = %d", version))
		return err
	})
}

// inTx runs f in a transaction; mu is held.
func (s *Store) inTx(ctx context.Context, f func() error) error {
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = s.conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
	}
	return err
}

// stmt returns a prepared statement, which lives as long as the store; mu is held.
func (s *Store) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := s.stmts[text]; st != nil {
		return st, nil
	}
	st, err := s.conn.PrepareContext(ctx, text)
	if err == nil {
		s.stmts[text] = st
	}
	return st, err
}

// query runs a read and hands its rows to scan; mu is held. Once begun it is not cancelled.
func (s *Store) query(ctx context.Context, scan func(*sql.Rows) error, text string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	st, err := s.stmt(ctx, text)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Close releases the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.stmts {
		_ = st.Close()
	}
	clear(s.stmts)
	_ = s.conn.Close()
	return s.db.Close()
}

// Load implements skein.Store.
func (s *Store) Load(ctx context.Context) (*skein.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := &skein.Snapshot{}
	m := &snap.Meta
	err := s.query(ctx, func(rows *sql.Rows) error {
		return rows.Scan(&m.User, &m.Timeline, &m.Device, &m.Position, &m.Listing, &m.ListNext, &m.SettledAtMs)
	}, "SELECT user, timeline, device, position, listing, list_next, settled_at FROM meta")
	if err == nil {
		err = s.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&snap.LastFeed) }, "SELECT n FROM counter WHERE name = 'feed'")
	}
	if err == nil {
		err = s.loadConversations(ctx, snap)
	}
	if err == nil {
		err = s.loadOutbox(ctx, snap)
	}
	if err == nil {
		err = s.loadThreads(ctx, snap)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: load: %w", err)
	}
	return snap, nil
}

func (s *Store) loadConversations(ctx context.Context, snap *skein.Snapshot) error {
	return s.query(ctx, func(rows *sql.Rows) error {
		var c skein.ConversationRecord
		var last, earlier, recalled, newest, mine, mentions, lifetimes []byte
		err := rows.Scan(&c.ID, &c.Title, &c.First, &c.Until, &c.Low, &c.High, &c.Head, &c.HeadCount, &c.LastAtMs,
			&c.Read, &c.ReadCount, &c.Received, &c.MarkedAtMs, &c.PeerReceived, &c.PeerRead, &last, &earlier, &recalled, &newest, &mine, &mentions, &lifetimes, &c.Unsure)
		if err == nil {
			c.Last, err = decodeEntry(last)
		}
		if err == nil {
			c.Earlier, err = decodeWindows(earlier)
		}
		if err == nil {
			c.Recalled, c.RecalledMore, err = decodeSeqs(recalled)
		}
		if err == nil {
			c.Mentions, c.MentionsMore, err = decodeSeqs(mentions)
		}
		if err == nil {
			c.Lifetimes, err = decodeLifetimes(lifetimes)
		}
		if err == nil && len(newest) > 0 {
			c.Newest = &wire.Newest{}
			err = proto.Unmarshal(newest, c.Newest)
		}
		if err == nil && len(mine) > 0 {
			c.Mine = &wire.MyState{}
			err = proto.Unmarshal(mine, c.Mine)
		}
		snap.Conversations = append(snap.Conversations, c)
		return err
	}, `SELECT id, title, first_seq, until_seq, low, high, head, head_count, last_at,
		read_seq, read_count, received, marked_at, peer_received, peer_read, last, earlier, recalled, newest, mine, mentions, lifetimes, unsure FROM conversation`)
}

func (s *Store) loadOutbox(ctx context.Context, snap *skein.Snapshot) error {
	return s.query(ctx, func(rows *sql.Rows) error {
		o := skein.OutboxRecord{Send: &wire.Send{}}
		var send []byte
		err := rows.Scan(&o.N, &o.State, &send, &o.MadeAtMs, &o.Seq, &o.Code, &o.Reason)
		if err == nil {
			err = proto.Unmarshal(send, o.Send)
		}
		snap.Outbox = append(snap.Outbox, o)
		return err
	}, "SELECT n, state, send, made_at, seq, code, reason FROM outbox ORDER BY n")
}

func (s *Store) loadThreads(ctx context.Context, snap *skein.Snapshot) error {
	return s.query(ctx, func(rows *sql.Rows) error {
		var t skein.ThreadRecord
		var body []byte
		var told wire.ListThreadResponse
		err := rows.Scan(&t.Conversation, &t.Root, &t.Stale, &t.Used, &body)
		if err == nil {
			err = proto.Unmarshal(body, &told)
		}
		t.Thread, t.Replies, t.Before = told.Thread, told.Entries, told.Next
		snap.Threads = append(snap.Threads, t)
		return err
	}, "SELECT conversation, root, stale, used, body FROM thread")
}

// Entries implements skein.Store.
func (s *Store) Entries(ctx context.Context, conversation string, from, to uint64, limit int) ([]*wire.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*wire.Entry
	err := s.query(ctx, func(rows *sql.Rows) error {
		var b []byte
		err := rows.Scan(&b)
		if err != nil {
			return err
		}
		e, err := decodeEntry(b)
		out = append(out, e)
		return err
	}, `SELECT body FROM (
		SELECT seq, body FROM entry WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?) ORDER BY seq`,
		conversation, int64(min(from, math.MaxInt64)), int64(min(to, math.MaxInt64)), limit)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: entries: %w", err)
	}
	return out, nil
}

// Feed implements skein.Store.
func (s *Store) Feed(ctx context.Context, after uint64, limit int) ([]skein.FeedItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []skein.FeedItem
	err := s.query(ctx, func(rows *sql.Rows) error {
		var f skein.FeedItem
		var entry []byte
		var failed sql.NullString
		err := rows.Scan(&f.N, &f.Kind, &f.Conversation, &f.From, &f.Seq, &entry, &failed)
		if err == nil {
			f.Entry, err = decodeEntry(entry)
		}
		if err == nil {
			f.Failed, err = decodeFailed(failed)
		}
		out = append(out, f)
		return err
	}, "SELECT n, kind, conversation, from_seq, seq, entry, failed FROM feed WHERE n > ? ORDER BY n LIMIT ?", int64(after), limit)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: feed: %w", err)
	}
	return out, nil
}

func decodeEntry(b []byte) (*wire.Entry, error) {
	if len(b) == 0 {
		return nil, nil
	}
	e := &wire.Entry{}
	if err := proto.Unmarshal(b, e); err != nil {
		return nil, fmt.Errorf("stored entry: %w", err)
	}
	return e, nil
}

// failed is an outbox record beside an event.
type failed struct {
	N        uint64
	Send     string // JSON
	MadeAtMs int64
	Code     string
	Reason   string
}

func decodeFailed(s sql.NullString) (*skein.OutboxRecord, error) {
	if !s.Valid {
		return nil, nil
	}
	var f failed
	if err := unmarshalJSON(s.String, &f); err != nil {
		return nil, err
	}
	o := &skein.OutboxRecord{
		N: f.N, State: skein.OutboxFailed, MadeAtMs: f.MadeAtMs, Code: f.Code, Reason: f.Reason, Send: &wire.Send{},
	}
	return o, protojson.Unmarshal([]byte(f.Send), o.Send)
}
