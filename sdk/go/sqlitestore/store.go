// Package sqlitestore keeps a client's state in one SQLite file: what is sent
// survives a crash, what was read need not be read again.
//
// It owns the file and its schema; it knows nothing of the protocol beyond the
// messages it stores. It is the only package of the SDK that imports SQLite
// (pure Go, no cgo). One connection serves all calls, so there are no locks and
// no goroutines of its own beyond database/sql's.
//
// Invariants: every batch is one transaction, durable when Apply returns
// (journal_mode WAL, synchronous FULL, both read back); the file is locked by
// one process at a time.
package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite" // the driver

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// Store is a skein.Store in a file.
type Store struct{ db *sql.DB }

var _ skein.Store = (*Store)(nil)

// version is the schema's; the file carries it in user_version.
const version = 1

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
	peer_received INTEGER NOT NULL, peer_read INTEGER NOT NULL, last BLOB
) STRICT;
CREATE TABLE entry (
	conversation TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (conversation, seq)
) STRICT, WITHOUT ROWID;
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
	}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: %w", err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{db}
	if err := s.prepare(); err != nil {
		db.Close()
		return nil, fmt.Errorf("sqlitestore: %s: %w", path, err)
	}
	return s, nil
}

// prepare checks that the file is ours alone and as durable as promised, and
// makes the tables.
func (s *Store) prepare() error {
	var mode string
	var sync int
	if err := s.db.QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil {
		return fmt.Errorf("open (is it in use by another process?): %w", err)
	}
	if err := s.db.QueryRow("PRAGMA synchronous").Scan(&sync); err != nil {
		return err
	}
	if mode != "wal" || sync != 2 {
		return fmt.Errorf("journal_mode %s, synchronous %d: want wal, 2 (FULL)", mode, sync)
	}
	return s.inTx(context.Background(), func(tx *sql.Tx) error {
		var v int
		if err := tx.QueryRow("PRAGMA user_version").Scan(&v); err != nil {
			return err
		}
		switch {
		case v > version:
			return fmt.Errorf("written by a newer version (schema %d, this is %d)", v, version)
		case v == version:
			// A write takes the lock that keeps other processes out.
			_, err := tx.Exec("UPDATE counter SET n = n WHERE name = 'feed'")
			return err
		}
		if _, err := tx.Exec(schema); err != nil {
			return err
		}
		_, err := tx.Exec(fmt.Sprintf("INSERT INTO counter VALUES ('feed', 0); PRAGMA user_version = %d", version))
		return err
	})
}

func (s *Store) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// Close releases the file.
func (s *Store) Close() error { return s.db.Close() }

// Load implements skein.Store.
func (s *Store) Load(ctx context.Context) (*skein.Snapshot, error) {
	snap := &skein.Snapshot{}
	m := &snap.Meta
	err := s.db.QueryRowContext(ctx, "SELECT user, timeline, device, position, listing, list_next, settled_at FROM meta").
		Scan(&m.User, &m.Timeline, &m.Device, &m.Position, &m.Listing, &m.ListNext, &m.SettledAtMs)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	if err := s.db.QueryRowContext(ctx, "SELECT n FROM counter WHERE name = 'feed'").Scan(&snap.LastFeed); err != nil {
		return nil, err
	}
	if snap.Conversations, err = s.loadConversations(ctx); err != nil {
		return nil, err
	}
	snap.Outbox, err = s.loadOutbox(ctx)
	return snap, err
}

func (s *Store) loadConversations(ctx context.Context) ([]skein.ConversationRecord, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, title, first_seq, until_seq, low, high, head, head_count, last_at,
		read_seq, read_count, received, marked_at, peer_received, peer_read, last FROM conversation`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []skein.ConversationRecord
	for rows.Next() {
		var c skein.ConversationRecord
		var last []byte
		if err := rows.Scan(&c.ID, &c.Title, &c.First, &c.Until, &c.Low, &c.High, &c.Head, &c.HeadCount, &c.LastAtMs,
			&c.Read, &c.ReadCount, &c.Received, &c.MarkedAtMs, &c.PeerReceived, &c.PeerRead, &last); err != nil {
			return nil, err
		}
		if c.Last, err = decodeEntry(last); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

func (s *Store) loadOutbox(ctx context.Context) ([]skein.OutboxRecord, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT n, state, send, made_at, seq, code, reason FROM outbox ORDER BY n")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []skein.OutboxRecord
	for rows.Next() {
		var o skein.OutboxRecord
		var send []byte
		if err := rows.Scan(&o.N, &o.State, &send, &o.MadeAtMs, &o.Seq, &o.Code, &o.Reason); err != nil {
			return nil, err
		}
		o.Send = &wire.Send{}
		if err := proto.Unmarshal(send, o.Send); err != nil {
			return nil, fmt.Errorf("outbox %d: %w", o.N, err)
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

// Entries implements skein.Store.
func (s *Store) Entries(ctx context.Context, conversation string, from, to uint64, limit int) ([]*wire.Entry, error) {
	const most = 1<<63 - 1
	rows, err := s.db.QueryContext(ctx, `SELECT body FROM (
		SELECT seq, body FROM entry WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?) ORDER BY seq`,
		conversation, int64(min(from, most)), int64(min(to, most)), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*wire.Entry
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			return nil, err
		}
		e, err := decodeEntry(b)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// Feed implements skein.Store.
func (s *Store) Feed(ctx context.Context, after uint64, limit int) ([]skein.FeedItem, error) {
	rows, err := s.db.QueryContext(ctx,
		"SELECT n, kind, conversation, from_seq, seq, entry, failed FROM feed WHERE n > ? ORDER BY n LIMIT ?", int64(after), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []skein.FeedItem
	for rows.Next() {
		var f skein.FeedItem
		var entry []byte
		var failed sql.NullString
		if err := rows.Scan(&f.N, &f.Kind, &f.Conversation, &f.From, &f.Seq, &entry, &failed); err != nil {
			return nil, err
		}
		if f.Entry, err = decodeEntry(entry); err != nil {
			return nil, err
		}
		if f.Failed, err = decodeFailed(failed); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, rows.Err()
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
