package directory

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// writeTx is a write transaction in progress. Its methods are for the goroutine
// that runs the function it was given to.
type writeTx struct {
	ctx  context.Context
	conn interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	// prepared returns the prepared statement of a text, or nil.
	prepared func(query string, args []any) *sql.Stmt
	place    string // Dialect.Place
	wrote    bool   // something was changed
}

func unprepared(string, []any) *sql.Stmt { return nil }

// Exec runs a statement and returns how many rows it changed.
func (t *writeTx) Exec(query string, args ...any) (changed int, err error) {
	var result sql.Result
	if stmt := t.prepared(query, args); stmt != nil {
		result, err = stmt.ExecContext(t.ctx, args...)
	} else {
		result, err = t.conn.ExecContext(t.ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	t.wrote = t.wrote || n > 0 && writes(query)
	return int(n), err
}

// Query runs a statement that gives rows. They are closed before the next statement.
func (t *writeTx) Query(query string, args ...any) (*sql.Rows, error) {
	t.wrote = t.wrote || writes(query)
	if stmt := t.prepared(query, args); stmt != nil {
		return stmt.QueryContext(t.ctx, args...)
	}
	return t.conn.QueryContext(t.ctx, query, args...)
}

// QueryRow runs a statement that gives one row; the error is Scan's.
func (t *writeTx) QueryRow(query string, args ...any) *sql.Row {
	t.wrote = t.wrote || writes(query)
	if stmt := t.prepared(query, args); stmt != nil {
		return stmt.QueryRowContext(t.ctx, args...)
	}
	return t.conn.QueryRowContext(t.ctx, query, args...)
}

// tx runs fn in a write transaction. A nil result means durable, an error with
// the code unknown that it may be, any other that nothing was written; fn's own
// error is returned as it is. ctx bounds the wait for the transaction, and its
// deadline the statements; the commit is never cancelled.
//
// fn is called on any goroutine, finds what others wrote just before, and waits
// for nothing but the statements it runs. It is called again when the
// transaction met another one, so it sets what it tells its caller anew each time.
func (d *DB) tx(ctx context.Context, fn func(*writeTx) error) error {
	if d.together != nil {
		return d.together.do(ctx, fn)
	}
	return retried(ctx, func() (bool, error) { return d.once(ctx, fn) })
}

// alone runs one statement as tx does; where the database is not in this process that is
// one trip to it in place of three. After any error it may have been done, or be done yet
// when the connection broke while it waited for a lock: it is for what may be repeated, and
// does no harm when it comes late.
func (d *DB) alone(ctx context.Context, query string, args ...any) error {
	if d.together != nil {
		return d.tx(ctx, func(tx *writeTx) error {
			_, err := tx.Exec(query, args...)
			return err
		})
	}
	return retried(ctx, func() (bool, error) {
		conn, err := d.write.Conn(ctx)
		if err != nil {
			return false, d.failed("connect", err)
		}
		defer conn.Close() // gives it back to the pool
		inside, cancel := statements(ctx)
		defer cancel()
		_, err = conn.ExecContext(inside, query, args...)
		return d.again(err), d.failed("write", err)
	})
}

// statements is a context for statements: one who goes away in the middle of one would
// take the connection along; a statement ends by itself, soon.
func statements(ctx context.Context) (context.Context, context.CancelFunc) {
	inside := context.WithoutCancel(ctx)
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(inside, end)
	}
	return inside, func() {}
}

// retried repeats what met another transaction.
func retried(ctx context.Context, once func() (again bool, err error)) error {
	for attempt := 1; ; attempt++ {
		again, err := once()
		if !again || attempt == attempts {
			return err
		}
		select {
		case <-time.After(pause << attempt):
		case <-ctx.Done():
			return err
		}
	}
}

// attempts is how often a transaction is tried that meets others. One of those
// who meet goes on; the pause, which doubles, is for it to take the lock that
// the other let go, before that one has it again.
const (
	attempts = 5
	pause    = time.Millisecond
)

// once runs a transaction of a database that others write to as well: what it
// depends on is locked by updating it, and every statement finds what was
// committed before it. again: nothing was written, and the next try may succeed.
func (d *DB) once(ctx context.Context, fn func(*writeTx) error) (again bool, err error) {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return false, d.failed("connect", err)
	}
	defer conn.Close() // gives it back to the pool
	inside := context.WithoutCancel(ctx)
	t, err := conn.BeginTx(inside, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return d.again(err), d.failed("begin", err)
	}
	defer t.Rollback() // after a commit this does nothing; it is here for errors and panics
	bounded, cancel := statements(ctx)
	defer cancel()
	if err := fn(&writeTx{ctx: bounded, conn: t, prepared: unprepared, place: d.dialect.Place}); err != nil {
		return d.again(err), d.failed("write", err)
	}
	err = t.Commit()
	again = d.again(err)
	if err != nil && d.dialect.Refused != nil && !d.dialect.Refused(err) {
		return false, im.Wrap(fmt.Errorf("directory: commit: %w", err), im.CodeUnknown, "this may have been done or not; look, or repeat it")
	}
	return again, d.failed("commit", err)
}

// together writes for an embedded database, which takes one writer at a time
// and whose commit costs more than what is in it: those who come while a commit
// is under way share the next one. Each has a savepoint, so that one who fails
// takes nothing from the others; when the commit fails, all have failed.
//
// The first who comes leads: it runs what the others gave it, commits, tells
// them, and hands the lead to the first of those who came meanwhile.
//
// Statements are not bound to the contexts of those who gave them: giving up
// one in the middle would make SQLite roll back the others.
type together struct {
	d *DB

	mu      sync.Mutex
	waiting []*write
	leading bool // somebody leads; otherwise nobody waits

	// run guards the rest; it is the leader's, and taken without mu.
	run        sync.Mutex
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	witness    Witness // told of every commit; nil if there is none
	changes    int64   // as of the last commit
}

// write is one function that waits for its transaction.
type write struct {
	fn func(*writeTx) error
	// turn tells to lead (true), or that it is over (false).
	turn     chan bool
	begun    bool // it cannot be withdrawn any more; guarded by together.mu
	err      error
	panicked any
}

const (
	// maxTogether bounds how long the first of a commit waits for the last.
	maxTogether = 64
	// Lists longer than this have a text for every length: no use to keep it.
	maxPreparedWrite = 100
)

func (g *together) do(ctx context.Context, fn func(*writeTx) error) error {
	if err := ctx.Err(); err != nil {
		return g.d.failed("wait", err)
	}
	w := &write{fn: fn, turn: make(chan bool, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, w)
	lead := !g.leading
	g.leading = true
	g.mu.Unlock()
	if !lead {
		select {
		case lead = <-w.turn:
		case <-ctx.Done():
			if g.withdraw(w) {
				return g.d.failed("wait", ctx.Err())
			}
			lead = <-w.turn
		}
	}
	if lead {
		g.lead()
	}
	if w.panicked != nil {
		panic(w.panicked)
	}
	return w.err
}

// withdraw takes back a write that has not begun.
func (g *together) withdraw(w *write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.begun {
		return false
	}
	for i, o := range g.waiting {
		if o == w {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
		}
	}
	return true
}

// lead runs what waits, the leader's own first, and hands the lead on.
func (g *together) lead() {
	g.mu.Lock()
	n := min(len(g.waiting), maxTogether)
	batch := g.waiting[:n:n]
	g.waiting = append([]*write(nil), g.waiting[n:]...)
	for _, w := range batch {
		w.begun = true
	}
	g.mu.Unlock()

	defer g.handOn(batch) // also when a function panics or ends the goroutine
	g.run.Lock()
	defer g.run.Unlock()
	err := errNotWritten
	defer func() {
		if err != nil {
			for _, w := range batch {
				w.err = err
			}
		}
	}()
	err = g.commit(batch)
}

var errNotWritten = errors.New("directory: the write was given up")

// handOn ends a batch: the first of those who wait now leads.
func (g *together) handOn(batch []*write) {
	g.mu.Lock()
	if len(g.waiting) > 0 {
		g.waiting[0].begun = true
		g.waiting[0].turn <- true
	} else {
		g.leading = false
	}
	g.mu.Unlock()
	for _, w := range batch[1:] {
		w.turn <- false
	}
}

// commit runs a batch in one transaction. Its error is everybody's.
func (g *together) commit(batch []*write) error {
	t, err := g.begin()
	if err != nil {
		return g.d.failed("begin", err)
	}
	done := false
	defer func() {
		if !done {
			g.rollback(t)
		}
	}()
	if len(batch) == 1 {
		if !g.call(t, batch[0]) {
			return nil
		}
	} else {
		for _, w := range batch {
			if err := g.callSaved(t, w); err != nil {
				return err
			}
		}
	}
	if err := g.count(t); err != nil {
		return g.d.failed("write", err)
	}
	if _, err := t.Exec("COMMIT"); err != nil {
		return g.d.failed("commit", err)
	}
	done = true
	return g.counted(t)
}

// call runs one write and reports whether it succeeded.
func (g *together) call(t *writeTx, w *write) (ok bool) {
	defer func() {
		if ok || w.err != nil {
			return
		}
		// The goroutine that gave the function goes on with its panic, of which this
		// one has the stack.
		if r := recover(); r != nil {
			w.panicked = fmt.Sprintf("%v\n\n%s", r, debug.Stack())
		}
	}()
	w.err = g.d.failed("write", w.fn(t))
	return w.err == nil
}

// callSaved runs one of several writes. It fails when the transaction is lost.
func (g *together) callSaved(t *writeTx, w *write) error {
	if _, err := t.Exec("SAVEPOINT one"); err != nil {
		return g.d.failed("begin", err)
	}
	if !g.call(t, w) {
		if _, err := t.Exec("ROLLBACK TO one"); err != nil {
			// SQLite has rolled back all of it, as for a full disk.
			return errors.Join(w.err, g.d.failed("roll back", err))
		}
	}
	_, err := t.Exec("RELEASE one")
	return g.d.failed("write", err)
}

// begin opens a transaction on the connection that is kept for all.
func (g *together) begin() (*writeTx, error) {
	ctx := context.Background()
	if g.conn == nil {
		conn, err := g.d.write.Conn(ctx)
		if err != nil {
			return nil, err
		}
		g.conn, g.statements = conn, map[string]*sql.Stmt{}
	}
	t := &writeTx{ctx: ctx, conn: g.conn, prepared: g.prepared, place: g.d.dialect.Place}
	if _, err := t.Exec("BEGIN IMMEDIATE"); err != nil {
		g.reset()
		return nil, err
	}
	return t, nil
}

// rollback ends a transaction without effect. When that fails the connection
// goes, and the transaction with it.
func (g *together) rollback(t *writeTx) {
	if _, err := t.Exec("ROLLBACK"); err != nil {
		g.reset()
	}
}

// prepared returns the statement of a text, made when it is used first.
func (g *together) prepared(query string, args []any) *sql.Stmt {
	stmt := g.statements[query]
	if stmt != nil || len(args) > maxPreparedWrite || len(g.statements) >= preparedTexts {
		return stmt
	}
	stmt, err := g.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil // it is run as it is, which tells what is wrong
	}
	g.statements[query] = stmt
	return stmt
}

// reset closes the connection; the next transaction opens another.
func (g *together) reset() {
	for _, stmt := range g.statements {
		_ = stmt.Close() // the connection goes anyway
	}
	_ = g.conn.Raw(func(any) error { return driver.ErrBadConn }) // so that the pool does not keep it
	g.conn, g.statements = nil, nil
}

// close gives the connection back, so that the pool can be closed. An open
// statement would keep the database open behind it, with its log.
func (g *together) close() (err error) {
	g.run.Lock()
	defer g.run.Unlock()
	for _, stmt := range g.statements {
		err = errors.Join(err, stmt.Close())
	}
	if g.conn != nil {
		err = errors.Join(err, g.conn.Close())
	}
	g.conn, g.statements = nil, nil
	return err
}
