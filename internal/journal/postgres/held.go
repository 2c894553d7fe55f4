package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// heldEvery is how often is looked whether somebody holds the position back.
	heldEvery = time.Second
	// heldTime bounds one look.
	heldTime = 5 * time.Second
	// heldTold is from when on it is told: no transaction of Skein's takes so long
	// while the database stores.
	heldTold = 10 * time.Second
)

// heldSQL tells the oldest transaction that runs, whether something that came
// after it is over, which the position cannot pass, and whose it is, as far as
// that can be told: the transactions of all databases of the server count, and
// those that are prepared.
const heldSQL = `SELECT x.oldest::text::bigint, x.oldest < x.next, CASE WHEN x.oldest < x.next THEN coalesce(
		(SELECT format('pid %s, %s, %s, database %s', a.pid, coalesce(nullif(a.application_name, ''), 'unnamed'), coalesce(a.state, 'state not known'), a.datname)
			FROM pg_stat_activity a WHERE a.backend_xid = x.oldest::xid LIMIT 1),
		(SELECT format('prepared transaction %s, %s, database %s', quote_literal(t.gid), t.owner, t.database)
			FROM pg_prepared_xacts t WHERE t.transaction = x.oldest::xid LIMIT 1),
		'not known') ELSE '' END
	FROM (SELECT pg_snapshot_xmin(s) AS oldest, pg_snapshot_xmax(s) AS next FROM pg_current_snapshot() s) x`

// held is who keeps the position from passing what is stored: the oldest
// transaction with an id, anybody's, and since when this process knows it.
type held struct {
	mu  sync.Mutex
	xid int64
	// since is zero if nobody does; seen is when that was last looked at.
	since, seen time.Time
	by          string
	told        bool
}

// note takes what a look found. It returns for how long the position was held
// when that is to be told now, or is over and was told.
func (h *held) note(xid int64, is bool, by string, now time.Time) (begun, ended time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told && (!is || xid != h.xid) {
		ended = now.Sub(h.since)
	}
	h.seen = now
	switch {
	case !is:
		h.xid, h.since, h.by, h.told = 0, time.Time{}, "", false
	case xid != h.xid:
		h.xid, h.since, h.by, h.told = xid, now, by, false
	default:
		h.by = by
		if !h.told && now.Sub(h.since) >= heldTold {
			h.told, begun = true, now.Sub(h.since)
		}
	}
	return begun, ended
}

// age is for how long the position had been held at the last look, 0 if it was not.
func (h *held) age() (d time.Duration, by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return 0, ""
	}
	return h.seen.Sub(h.since), h.by
}

// warning is for operators, "" if there is nothing to tell.
func (h *held) warning() string {
	d, by := h.age()
	if d < heldTold {
		return ""
	}
	return fmt.Sprintf("a transaction in the database holds the position back, for %s: %s; until it ends, clients that sync are given again what came after it", d.Round(time.Second), by)
}

// watchHeld looks every heldEvery, until Close.
func (j *Journal) watchHeld(ctx context.Context) {
	t := time.NewTicker(heldEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			// A database that does not answer is told of by others.
			_ = j.lookHeld(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// lookHeld looks once.
func (j *Journal) lookHeld(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, heldTime)
	defer cancel()
	var xid int64
	var is bool
	var by string
	if err := j.readers.QueryRow(ctx, heldSQL).Scan(&xid, &is, &by); err != nil {
		return err
	}
	begun, ended := j.held.note(xid, is, by, j.o.Now())
	if ended > 0 {
		j.o.Logger.Info("journal: the position is no longer held back", "after", ended)
	}
	if begun > 0 {
		j.o.Logger.Warn("journal: a transaction in the database holds the position back; until it ends, clients that sync are given again what came after it", "by", by, "for", begun)
	}
	return nil
}
