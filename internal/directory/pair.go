package directory

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// Witness is told of every commit before it is answered, and knows how far the
// journal is. See im.Pair.
type Witness interface {
	// Changed makes durable that the directory made this many changes.
	Changed(changes uint64) error
	// Pair is what the journal knows.
	Pair() im.Pair
}

// Pair reads what the directory knows of itself and the journal.
func (d *DB) Pair(ctx context.Context) (im.Pair, error) {
	p, err := readPair(d.queryRow(ctx, pairQuery))
	return p, d.failed("read the pair", err)
}

const pairQuery = "SELECT identity, changes, journal FROM pair WHERE one = 1"

func readPair(row *sql.Row) (p im.Pair, err error) {
	var changes, position int64
	err = row.Scan(&p.Identity, &changes, &position)
	p.Changes, p.Position = uint64(changes), uint64(position)
	return p, err
}

// SetPair joins the directory to a journal: a pair that is new, or that was
// restored. The number of changes is the directory's own and not set.
func (d *DB) SetPair(ctx context.Context, p im.Pair) error {
	return d.tx(ctx, func(t *writeTx) error {
		n, err := t.Exec("UPDATE pair SET identity = $1, journal = $2 WHERE one = 1", p.Identity, int64(p.Position))
		if err == nil && n != 1 {
			err = fmt.Errorf("the table pair has %d rows", n)
		}
		return err
	})
}

// Watch begins to tell w of every commit, and returns when w knows of those
// before. It is for an embedded directory, before it is used.
func (d *DB) Watch(ctx context.Context, w Witness) error {
	p, err := d.Pair(ctx)
	if err != nil {
		return err
	}
	if err := w.Changed(p.Changes); err != nil {
		return err
	}
	d.together.run.Lock()
	defer d.together.run.Unlock()
	d.together.witness = w
	return nil
}

// count adds one to the directory's changes, in the transaction that makes it.
func (g *together) count(t *writeTx) error {
	if !t.wrote {
		return nil
	}
	journal := uint64(0)
	if g.witness != nil {
		journal = g.witness.Pair().Position
	}
	return t.QueryRow("UPDATE pair SET changes = changes + 1, journal = max(journal, $1) WHERE one = 1 RETURNING changes", int64(journal)).Scan(&g.changes)
}

// counted tells the witness of a change that is durable. Nobody is answered
// before the witness has it: a directory that comes back without it is known to
// be older.
func (g *together) counted(t *writeTx) error {
	if !t.wrote || g.witness == nil {
		return nil
	}
	if err := g.witness.Changed(uint64(g.changes)); err != nil {
		return im.Wrap(fmt.Errorf("directory: tell the journal of a change: %w", err), im.CodeUnknown, "this may have been done or not; look, or repeat it")
	}
	return nil
}

// writes tells whether a statement may change something.
func writes(query string) bool {
	verb, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	return verb != "SELECT" && verb != "SAVEPOINT" && verb != "RELEASE" && verb != "ROLLBACK" && verb != "BEGIN" && verb != "COMMIT"
}

// Content is what there is in a directory, for holding it against a journal.
type Content struct {
	Pair im.Pair
	// Users tells that somebody has an account. Entries tells that there is
	// something which has an entry in the journal.
	Users, Entries bool
	// Keys is what is known of the keys; only Reader.Content tells.
	Keys Keys
}

// Content tells what there is.
func (d *DB) Content(ctx context.Context) (c Content, err error) {
	if c.Pair, err = d.Pair(ctx); err != nil {
		return c, err
	}
	err = d.queryRow(ctx, contentQuery).Scan(&c.Users, &c.Entries)
	return c, d.failed("look what there is", err)
}

const contentQuery = "SELECT EXISTS (SELECT 1 FROM users), EXISTS (SELECT 1 FROM groups WHERE rev > 0)"

// Content tells what there is in an embedded directory, whose schema is this
// program's or an older one.
func (r *Reader) Content(ctx context.Context) (c Content, err error) {
	have, err := readRange(ctx, r.db, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'goose_db_version')")
	if err != nil {
		return c, fmt.Errorf("directory: the schema's version: %w", err)
	}
	if err := Steps(r.dialect).Check(storeName, have); err != nil {
		return c, err
	}
	if have.Version >= pairSchema {
		if c.Pair, err = readPair(r.db.QueryRowContext(ctx, pairQuery)); err != nil {
			return c, fmt.Errorf("directory: the pair: %w", err)
		}
	}
	if c.Keys, err = r.keys(ctx, have.Version); err != nil {
		return c, err
	}
	if have.Version >= peopleSchema {
		err = r.db.QueryRowContext(ctx, contentQuery).Scan(&c.Users, &c.Entries)
	}
	if err != nil {
		return c, fmt.Errorf("directory: what there is: %w", err)
	}
	return c, nil
}

// The versions of the schema that have what is looked at.
const (
	peopleSchema = 2
	pairSchema   = 7
	pushSchema   = 47
	keysSchema   = 59
)
