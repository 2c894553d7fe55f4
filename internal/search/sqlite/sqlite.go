// Package sqlite is the search's embedded index: one SQLite file with a full-text table
// (FTS5), pure Go. It owns the file, and all of it can be made again, so it is lighter with
// it than the directory is: a loss of power may take back the last seconds, with the place
// up to which the journal was followed.
//
// A row of the table docs is a message. Its id orders it among all: it is given when the
// message comes for the first time, and they come in the order of positions. The full-text
// table has its tokens, each behind the number of its conversation, without places and
// columns (detail=none), and no text. Its own tokenizer does nothing but cut at spaces.
//
// Why the conversation is part of each token (200,000 messages of 16 words in 20,000
// conversations): find in one of them takes 0.05 – 0.08 ms, whatever lies in others. With
// the conversation as a token of its own the file is a third as large (45 bytes a message
// instead of 129), a common word takes 0.9 – 2.4 ms and the beginning of a word 330 ms, and
// more as others write.
//
// Goroutines: those of database/sql. Locks: Index.mu guards the connections; it is held
// while they are opened and closed, not while they are used.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/search/token"
)

// format is that of the file; one with another is made anew.
const format = 1<<16 | token.Version

// readers is how many questions are answered at the same time.
const readers = 2

// Index is an index in a file. Use New.
type Index struct {
	path string

	mu    sync.Mutex
	write *sql.DB // nil: not open
	read  *sql.DB
	file  os.FileInfo // which file is open
	// numbers are those of conversations, as far as they are remembered.
	numbers map[im.ConversationID]int64
}

var _ search.Index = (*Index)(nil)

// New returns the index in the file at path, which is opened, and made if need be, when
// it is used first: a server starts without it.
func New(path string) (*Index, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return &Index{path: path}, nil
}

const tables = `
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), era INTEGER NOT NULL, pos INTEGER NOT NULL, known INTEGER NOT NULL, docs INTEGER NOT NULL);
CREATE TABLE conversations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE docs (id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, seq INTEGER NOT NULL, pos INTEGER NOT NULL, stored INTEGER NOT NULL, UNIQUE (conversation, seq));
CREATE TABLE forgotten (conversation INTEGER NOT NULL, after INTEGER NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (conversation, after)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (tokens, content='', contentless_delete=1, detail=none, tokenize='ascii');
INSERT INTO words (words, rank) VALUES ('automerge', 8);
`

// open returns the connections, opening the file if it is not open.
func (x *Index) open(ctx context.Context) (write, read *sql.DB, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.write != nil {
		return x.write, x.read, nil
	}
	if err := x.openFile(ctx); err != nil {
		x.shut()
		return nil, nil, classify(err)
	}
	return x.write, x.read, nil
}

func (x *Index) openFile(ctx context.Context) (err error) {
	f, err := os.OpenFile(x.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = f.Chmod(0o600)
	x.file, _ = f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if x.write, err = x.pool(1, false); err != nil {
		return err
	}
	if x.read, err = x.pool(readers, true); err != nil {
		return err
	}
	var version int
	if err := x.write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch version {
	case format:
		return nil
	case 0:
		return x.tx(ctx, x.write, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, tables); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO state VALUES (1, 0, 0, 0, 0)"); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", format))
			return err
		})
	}
	return fmt.Errorf("%w: it has the form %#x, and this program %#x", search.ErrDamaged, version, format)
}

func (x *Index) pool(conns int, readOnly bool) (*sql.DB, error) {
	q := url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)", "temp_store(MEMORY)", "cache_size(-16000)", "journal_size_limit(16777216)", "secure_delete(1)"},
		"_txlock": {"immediate"},
		"_dqs":    {"0"},
	}
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	}
	u := url.URL{Scheme: "file", Path: x.path, RawQuery: q.Encode()}
	connector, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	if readOnly {
		db.SetConnMaxIdleTime(20 * time.Second)
	}
	return db, nil
}

// shut closes what is open. x.mu is held.
func (x *Index) shut() {
	for _, db := range []*sql.DB{x.read, x.write} {
		if db != nil {
			_ = db.Close() // nothing that counts is lost by it
		}
	}
	x.read, x.write, x.numbers = nil, nil, nil
}

// Close closes the file.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shut()
	return nil
}

// Reset removes the file; the next use makes another one.
func (x *Index) Reset(context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shut()
	var errs []error
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(x.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return classify(errors.Join(errs...))
}

// taken reports that the file which is open is not the one at its path any more.
func (x *Index) taken() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.write == nil {
		return false
	}
	now, err := os.Stat(x.path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && x.file != nil && !os.SameFile(now, x.file)
}

// classify tells apart what Reset helps against, and names the package.
func classify(err error) error {
	var e *sqlite.Error
	switch {
	case err == nil || errors.Is(err, search.ErrDamaged):
		return err
	case errors.Is(err, sql.ErrNoRows), errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB):
		return fmt.Errorf("%w: %w", search.ErrDamaged, err)
	}
	return fmt.Errorf("search: %w", err)
}

// tx carries out a transaction.
func (x *Index) tx(ctx context.Context, db *sql.DB, do func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// State tells how far the index is.
func (x *Index) State(ctx context.Context) (s search.State, err error) {
	_, read, err := x.open(ctx)
	if err != nil {
		return s, err
	}
	var era, pos, known int64
	err = read.QueryRowContext(ctx, "SELECT era, pos, known, docs FROM state").Scan(&era, &pos, &known, &s.Docs)
	if err != nil {
		return search.State{}, classify(err)
	}
	s.Place = im.Place{Era: uint64(era), Pos: uint64(pos)}
	if known != 0 {
		s.Known = time.UnixMilli(known)
	}
	return s, nil
}

// SaveState notes Place and Known. A file that was taken away is noticed here.
func (x *Index) SaveState(ctx context.Context, s search.State) error {
	if x.taken() {
		return fmt.Errorf("%w: the file is another one, or gone", search.ErrDamaged)
	}
	write, _, err := x.open(ctx)
	if err != nil {
		return err
	}
	var known int64
	if !s.Known.IsZero() {
		known = s.Known.UnixMilli()
	}
	_, err = write.ExecContext(ctx, "UPDATE state SET era = ?, pos = ?, known = ?", int64(s.Place.Era), int64(s.Place.Pos), known)
	return classify(err)
}
