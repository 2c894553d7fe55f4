package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg"
)

const (
	// lockTimeout is how long a statement waits for one lock. Appends of other
	// processes hold theirs for milliseconds: who holds one for longer is no append.
	lockTimeout = time.Second
	// statementTimeout is after what time the server gives a statement up, with
	// nothing done.
	statementTimeout = 10 * time.Second
	// answerTimeout is after what time an append without an answer is given up here:
	// longer than the server would take to refuse it, so it stands still, or waits for
	// a standby. The outcome is unknown then.
	answerTimeout = 12 * time.Second
	// lockedFor is for how long a row that was found locked is not asked for.
	lockedFor = time.Second
	// lockedKnown is for how long it counts as locked if nobody asks for it.
	lockedKnown = 10 * time.Second
	// A row that was never found locked is looked at lockLooks times, lockPause
	// apart: another process may be appending to it at that moment.
	lockLooks = 4
	lockPause = 15 * time.Millisecond
)

// lockedSQL finds those of some conversations whose rows are locked, and by whom,
// as far as that can be told. It takes the locks of the others for a moment; its
// commit waits for nothing, not even for a standby.
const lockedSQL = `WITH free AS MATERIALIZED (
		SELECT h.conversation FROM journal_heads h
			WHERE (h.slot, h.conversation) IN (SELECT * FROM unnest($1::smallint[], $2::text[])) AND (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
			FOR NO KEY UPDATE OF h SKIP LOCKED)
	SELECT h.conversation, coalesce((SELECT format('pid %s, %s, %s', a.pid, coalesce(nullif(a.application_name, ''), 'unnamed'), a.state)
			FROM pg_stat_activity a WHERE a.backend_xid = h.xmax LIMIT 1), 'not known')
		FROM journal_heads h WHERE (h.slot, h.conversation) IN (SELECT * FROM unnest($1::smallint[], $2::text[])) AND h.conversation NOT IN (SELECT f.conversation FROM free f)`

// locked are the conversations whose rows somebody else keeps locked.
type locked struct {
	n    atomic.Int32 // len(rows), to be read without the lock
	mu   sync.Mutex
	rows map[im.ConversationID]lockedRow
}

type lockedRow struct {
	since, seen time.Time
	by          string
}

func (l *locked) init() { l.rows = map[im.ConversationID]lockedRow{} }

// sort tells which conversations of a batch are not to be asked for yet, and
// whether there are others that were found locked before.
func (l *locked) sort(batch []im.Append, now time.Time) (busy map[im.ConversationID]bool, doubt bool) {
	if l.n.Load() == 0 {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	for i := range batch {
		c := batch[i].Entry.Conversation
		row, there := l.rows[c]
		switch {
		case !there:
		case now.Sub(row.seen) >= lockedFor:
			doubt = true
		default:
			if busy == nil {
				busy = map[im.ConversationID]bool{}
			}
			busy[c] = true
		}
	}
	return busy, doubt
}

func (l *locked) expire(now time.Time) {
	for c, row := range l.rows {
		if now.Sub(row.seen) >= lockedKnown {
			delete(l.rows, c)
		}
	}
	l.n.Store(int32(len(l.rows)))
}

// found notes what a look at asked conversations found. It returns the rows
// that are locked since now, and those that are free again.
func (l *locked) found(asked []im.ConversationID, by map[im.ConversationID]string, now time.Time) (begun, ended []im.ConversationID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range asked {
		row, was := l.rows[c]
		holder, is := by[c]
		switch {
		case is && !was:
			l.rows[c] = lockedRow{since: now, seen: now, by: holder}
			begun = append(begun, c)
		case is:
			row.seen, row.by = now, holder
			l.rows[c] = row
		case was:
			delete(l.rows, c)
			ended = append(ended, c)
		}
	}
	l.n.Store(int32(len(l.rows)))
	return begun, ended
}

// list describes the rows that are known to be locked.
func (l *locked) list(now time.Time) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	for c, row := range l.rows {
		all = append(all, fmt.Sprintf("%s: locked for %s by %s", c, now.Sub(row.since).Round(time.Second), row.by))
	}
	slices.Sort(all)
	return all
}

func (l *locked) count(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	return len(l.rows)
}

// timedOutOnLock tells that a statement gave up waiting for a lock; nothing was
// done.
func timedOutOnLock(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == pg.LockNotAvailable
}

// appendApart stores what can be stored of a batch while rows of other
// conversations are locked: those answer Busy. What is stored is one transaction,
// as the whole batch would be.
func (j *Journal) appendApart(ctx context.Context, batch []im.Append, out []im.Appended, busy map[im.ConversationID]bool, look bool) error {
	if busy == nil {
		busy = map[im.ConversationID]bool{}
	}
	if look {
		if err := j.lookForLocks(ctx, batch, busy); err != nil {
			return err
		}
	}
	clear(out)
	var free []im.Append
	var at []int
	for i := range batch {
		if busy[batch[i].Entry.Conversation] {
			out[i].Status = im.Busy
			continue
		}
		free, at = append(free, batch[i]), append(at, i)
	}
	if refused := len(batch) - len(free); refused > 0 {
		j.metrics.outcomes.WithLabelValues("busy").Add(float64(refused))
	}
	if len(free) == 0 {
		return nil
	}
	part := make([]im.Appended, len(free))
	if err := j.appendWhole(ctx, free, part); err != nil {
		return err
	}
	for k, i := range at {
		out[i] = part[k]
	}
	return nil
}

// lookForLocks adds to busy the conversations of a batch whose rows are locked.
func (j *Journal) lookForLocks(ctx context.Context, batch []im.Append, busy map[im.ConversationID]bool) error {
	var ask []im.ConversationID
	asked := map[im.ConversationID]bool{}
	for i := range batch {
		if c := batch[i].Entry.Conversation; !busy[c] && !asked[c] {
			ask, asked[c] = append(ask, c), true
		}
	}
	remaining, by := ask, map[im.ConversationID]string{}
	for n := 1; len(remaining) > 0; n++ {
		clear(by)
		var in, names column
		err := j.queryOn(ctx, j.writers, stmtLocked, [][]byte{slotsOf(&in, remaining), texts(&names, remaining)}, func(v [][]byte) error {
			by[im.ConversationID(v[0])] = string(v[1])
			return nil
		})
		if err != nil {
			return err
		}
		if n == lockLooks || len(by) == 0 {
			break
		}
		remaining = remaining[:0:0]
		for c := range by {
			remaining = append(remaining, c)
		}
		if err := pause(ctx, lockPause); err != nil {
			return err
		}
	}
	for c := range by {
		busy[c] = true
	}
	begun, ended := j.locked.found(ask, by, j.o.Now())
	for _, c := range begun {
		j.o.Logger.Warn("journal: the row of a conversation is locked by somebody else; what is sent there is refused until it is let go", "conversation", c, "by", by[c])
	}
	for _, c := range ended {
		j.o.Logger.Info("journal: the row of a conversation is free again", "conversation", c)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stalled is since when nothing could be stored at all, and how it was last
// noticed.
type stalled struct {
	mu          sync.Mutex
	since, last time.Time
	err         error
}

// note takes the outcome of an append.
func (s *stalled) note(err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || errors.Is(err, im.ErrAppendInvalid) {
		s.err = nil
		return
	}
	if s.err == nil {
		s.since = now
	}
	s.last, s.err = now, err
}

// stalledKnown is for how long a store that could not store, and was not asked
// since, counts as one that cannot.
const stalledKnown = 5 * time.Second

func (s *stalled) reason(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || now.Sub(s.last) > stalledKnown {
		return ""
	}
	cause := "the database does not store"
	if errors.Is(s.err, im.ErrJournalFull) {
		cause = "the database's disk is full"
	}
	return fmt.Sprintf("%s, for %s", cause, now.Sub(s.since).Round(time.Second))
}

// Trouble tells why nothing can be stored, "" if that is not so, and what is
// wrong with single conversations, each with a text for operators.
func (j *Journal) Trouble() (stopped string, warnings []string) {
	now := j.o.Now()
	for _, row := range j.locked.list(now) {
		warnings = append(warnings, "conversation "+row)
	}
	if j.marksLocked.Load() > 0 {
		warnings = append(warnings, fmt.Sprintf("%d marks cannot be written: their rows are locked", j.marksLocked.Load()))
	}
	if held := j.held.warning(); held != "" {
		warnings = append(warnings, held)
	}
	for name, jam := range j.jams {
		if jam.closed(now) {
			warnings = append(warnings, "reads wait for locks: "+strings.ReplaceAll(name, "_", " "))
		}
	}
	if have := j.version.Load(); have != nil {
		if text := steps().Beyond(storeName, *have); text != "" {
			warnings = append(warnings, text)
		}
	}
	slices.Sort(warnings)
	if newer := j.shut.Load(); newer != nil {
		return newer.Error(), warnings
	}
	return j.stalled.reason(now), warnings
}

// jam keeps reads that wait for a locked table from using up all connections:
// when one waited in vain, others are refused at once for a while.
type jam struct{ until atomic.Int64 } // Unix nanoseconds

// jamTime is how long a read is refused after one that waited for a lock in vain.
const jamTime = time.Second

func (x *jam) closed(now time.Time) bool { return now.UnixNano() < x.until.Load() }

func (x *jam) note(now time.Time) { x.until.Store(now.Add(jamTime).UnixNano()) }
