package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/schema"
)

const (
	// reachEvery is how often a process writes how far positions may be told, while
	// they move.
	reachEvery = 50 * time.Millisecond
	// reachWait is how long a Position waits for that at most: a database that
	// stores nothing is read all the same.
	reachWait = 250 * time.Millisecond
	// reachTime bounds the writing.
	reachTime = 5 * time.Second
)

// reachSQL writes how far the journal is: whatever has a lesser transaction id is
// over, and before this in the server's log. Who finds another writing it leaves
// it to them.
const reachSQL = `UPDATE journal_reached r SET pos = greatest(r.pos, m.base + s.x - 1), own = m.base + pg_current_xact_id()::text::bigint
	FROM journal_meta m, journal_alive, (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS x) s
	WHERE r.one IN (SELECT one FROM journal_reached FOR UPDATE SKIP LOCKED)`

const erasSQL = `SELECT id, begun FROM journal_eras ORDER BY n`

// history is what this process knows of the journal's history.
type history struct {
	mu   sync.Mutex
	eras im.Eras
	// last is the furthest place that was told here, own the last entry that this
	// process stored: if one of them is not there any more, the history went back.
	last im.Place
	own  stored
	// reaching is open while reachSQL runs, reached is when it last did.
	reaching chan struct{}
	reached  time.Time
}

// stored names an entry.
type stored struct {
	id     im.MessageID
	sender im.UserID
	pos    uint64
}

// noteStored remembers the last entry of a batch that was stored.
func (j *Journal) noteStored(batch []im.Append, out []im.Appended) {
	var own stored
	for i := range out {
		if out[i].Status == im.Stored && out[i].Pos >= own.pos {
			own = stored{batch[i].Entry.ID, batch[i].Entry.Sender, out[i].Pos}
		}
	}
	h := &j.history
	h.mu.Lock()
	if own.pos > h.own.pos {
		h.own = own
	}
	h.mu.Unlock()
}

// notePlace remembers what is told.
func (h *history) notePlace(p im.Place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.eras); n > 0 && h.eras[n-1].ID == p.Era && (p.Era != h.last.Era || p.Pos > h.last.Pos) {
		h.last = p
	}
}

// Eras are the newest eras of the history, a few at most, as of the last look.
func (j *Journal) Eras() im.Eras {
	j.history.mu.Lock()
	defer j.history.mu.Unlock()
	return j.history.eras[max(len(j.history.eras)-erasTold, 0):]
}

// erasTold is how many eras Eras tells.
const erasTold = 4

func (h *history) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.own = im.Place{}, stored{}
}

func (h *history) furthest() im.Place {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// newEra makes an era's id. It fits the database's integers.
func newEra() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// querier is a connection or a pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// noteEra takes note of the era that goes on, and looks whether the history went
// back when it is not the one that was known. It is false when another one has
// begun meanwhile.
func (j *Journal) noteEra(ctx context.Context, q querier, era uint64) (current bool, err error) {
	h := &j.history
	h.mu.Lock()
	known := h.eras
	h.mu.Unlock()
	if n := len(known); n > 0 && known[n-1].ID == era {
		return true, nil
	}
	eras, err := readEras(ctx, q)
	if err != nil {
		return false, err
	}
	if len(eras) == 0 || eras[len(eras)-1].ID != era {
		return false, nil
	}
	h.mu.Lock()
	last, own := h.last, h.own
	h.mu.Unlock()
	lost, err := whatIsLost(ctx, q, eras, last, own)
	if err != nil {
		return false, err
	}
	h.mu.Lock()
	if n := len(h.eras); n > 0 && h.eras[n-1].ID == era { // somebody else noted it meanwhile, and tells
		h.mu.Unlock()
		j.forget()
		return true, nil
	}
	if h.last == last {
		h.last = im.Place{}
	}
	if lost != "" && h.own == own {
		h.own = stored{}
	}
	h.eras = eras
	var waiters []markWaiter
	if lost != "" { // with the era, once: nothing is written in it before, and what is set from now on is of it
		waiters = j.marks.drop()
	}
	h.mu.Unlock()
	j.forget()
	tellDropped(waiters)
	if lost != "" {
		j.wentBack(lost)
	}
	if j.o.NewEra != nil {
		j.o.NewEra()
	}
	return true, nil
}

func readEras(ctx context.Context, q querier) (eras im.Eras, err error) {
	rows, err := q.Query(ctx, erasSQL)
	if err != nil {
		return nil, err
	}
	var id, begun int64
	_, err = pgx.ForEachRow(rows, []any{&id, &begun}, func() error {
		eras = append(eras, im.Era{ID: uint64(id), Begin: uint64(begun)})
		return nil
	})
	return eras, err
}

// whatIsLost tells what of that which this process knew of the era before is not
// in the history with these eras; "" if nothing is missing.
func whatIsLost(ctx context.Context, q querier, eras im.Eras, last im.Place, own stored) (string, error) {
	begin := eras[len(eras)-1].Begin
	if last != (im.Place{}) && !eras.Hold(last, begin) {
		return fmt.Sprintf("position %d was reached; the new era begins at %d", last.Pos, begin), nil
	}
	if own.pos == 0 {
		return "", nil
	}
	there, err := isThere(ctx, q, own)
	if err != nil || there {
		return "", err
	}
	return fmt.Sprintf("an entry that was stored at position %d is not there", own.pos), nil
}

// isThere asks for an entry.
func isThere(ctx context.Context, q querier, s stored) (there bool, err error) {
	err = q.QueryRow(ctx, "SELECT EXISTS (SELECT FROM journal_entries WHERE id = $1 AND sender = $2 AND pos = $3)", [16]byte(s.id), string(s.sender), int64(s.pos)).Scan(&there)
	return there, err
}

// wentBack tells that the database is not, or no longer, the one that this
// process knew. What was remembered of it, and waited for it, is forgotten by then.
func (j *Journal) wentBack(why string) {
	j.metrics.back.Inc()
	j.o.Logger.Error("journal: its history went back: what was acknowledged may be missing; clients are told and read it anew", "why", why)
	if j.o.WentBack != nil {
		j.o.WentBack(why)
	}
}

// errMarksDropped: the history that the marks are of is over.
var errMarksDropped = fmt.Errorf("%w: the history that the mark is of went back", im.ErrJournalUnavailable)

// drop forgets what waits to be written, too: its entries are gone with their
// history, and where they were there may be others. It returns who is to be told.
func (m *marks) drop() []markWaiter {
	m.mu.Lock()
	defer m.mu.Unlock()
	waiters := m.waiters
	m.waiters = nil
	for _, um := range []*userMarks{&m.dirty, &m.flying, &m.aside} {
		um.clear()
	}
	m.clean.Clear()
	m.dropped++
	return waiters
}

func tellDropped(waiters []markWaiter) {
	for _, w := range waiters {
		w.stored(errMarksDropped)
	}
}

// droppedSince tells that what was taken is of a history that is over.
func (m *marks) droppedSince(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dropped != n
}

// Holds tells whether a position is of this history, as of the last Position.
func (j *Journal) Holds(ctx context.Context, p im.Position) (bool, error) {
	h := &j.history
	h.mu.Lock()
	eras, now := h.eras, h.last
	h.mu.Unlock()
	if n := len(eras); n == 0 || now.Era != eras[n-1].ID {
		if _, err := j.position(ctx, j.readers); err != nil {
			return false, err
		}
		h.mu.Lock()
		eras, now = h.eras, h.last
		h.mu.Unlock()
	}
	at, one := p.One()
	return one && eras.Hold(at, now.Pos), nil
}

// position asks for it. How far it may be told is read with it; if positions went
// on since, that is written first, so that no crash takes back what is told.
func (j *Journal) position(ctx context.Context, pool *pgxpool.Pool) (im.Place, error) {
	if err := j.enter(); err != nil {
		return im.Place{}, err
	}
	defer j.life.RUnlock()
	p, behind, err := j.lookPosition(ctx, pool)
	if err == nil {
		err = j.shutOut()
	}
	if err == nil && behind && j.reach() {
		if again, _, err := j.lookPosition(ctx, pool); err == nil {
			return again, nil
		}
	}
	return p, err
}

// lookPosition reads the position, as far as it may be told, and whether there
// is more.
func (j *Journal) lookPosition(ctx context.Context, pool *pgxpool.Pool) (p im.Place, behind bool, err error) {
	for range 3 {
		before, found, timeline := j.history.furthest(), false, ""
		err := j.queryOn(ctx, pool, stmtPosition, nil, func(v [][]byte) error {
			found, timeline = true, string(v[0])
			p, behind = im.Place{Era: int8Of(v[1]), Pos: int8Of(v[2])}, boolOf(v[3])
			j.noteVersion(schema.Range{Version: int4Of(v[4]), Least: int4Of(v[5])})
			return nil
		})
		if err == nil && !found {
			err = j.adoptAgain(ctx)
		}
		if err != nil {
			return im.Place{}, false, err
		}
		if !found {
			continue
		}
		if p.Era == before.Era && p.Pos < before.Pos {
			// The server went back without ending: it still is in the same era.
			if _, err := pool.Exec(ctx, "SELECT journal_renew_1($1, $2)", int64(p.Era), int64(newEra())); err != nil {
				return im.Place{}, false, unreachable(ctx, err)
			}
			continue
		}
		j.noteTimeline(timeline)
		current, err := j.noteEra(ctx, pool, p.Era)
		if err != nil {
			return im.Place{}, false, reading(err)
		}
		if current {
			j.history.notePlace(p)
			return p, behind, nil
		}
	}
	return im.Place{}, false, fmt.Errorf("%w: the database server begins anew all the time", im.ErrJournalUnavailable)
}

// reach writes how far the journal is, in the background, once at a time and not
// too often, and reports whether it did while the caller waited.
func (j *Journal) reach() bool {
	h := &j.history
	h.mu.Lock()
	running := h.reaching
	if running == nil {
		if now := j.o.Now(); now.Sub(h.reached).Abs() < reachEvery {
			h.mu.Unlock()
			return false
		}
		running = make(chan struct{})
		h.reaching = running
		j.writing.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), reachTime)
			defer cancel()
			// Without it positions are told late; whoever waits for it does not wait long.
			_ = j.queryOn(ctx, j.writers, stmtReach, nil, func([][]byte) error { return nil })
			h.mu.Lock()
			h.reaching, h.reached = nil, j.o.Now()
			h.mu.Unlock()
			close(running)
		})
	}
	h.mu.Unlock()
	timer := time.NewTimer(reachWait)
	defer timer.Stop()
	select {
	case <-running:
		return true
	case <-timer.C:
		return false
	}
}
