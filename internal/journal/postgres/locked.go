package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	// leastPatience and mostPatience bound how long an append waits for a lock whose
	// items are held aside when they are Locked: as long as three usual appends take,
	// as another process may be appending at that moment.
	leastPatience = 5 * time.Millisecond
	mostPatience  = 100 * time.Millisecond
	// lockedKnown is for how long a row that nobody asks for is looked at.
	lockedKnown = 10 * time.Second
	// Who waited for a second looks lockLooks times, lockPause apart: another process
	// may be appending at that moment.
	lockLooks = 4
	lockPause = 15 * time.Millisecond
)

// lockedSQL finds those of some conversations whose rows are locked, by which
// transaction, and who that is, as far as that can be told. It takes the locks of the
// others for a moment; its commit waits for nothing, not even for a standby.
const lockedSQL = `WITH free AS MATERIALIZED (
		SELECT h.conversation FROM journal_heads h
			WHERE (h.slot, h.conversation) IN (SELECT * FROM unnest($1::smallint[], $2::text[])) AND (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
			FOR NO KEY UPDATE OF h SKIP LOCKED)
	SELECT h.conversation, h.xmax::text, coalesce((SELECT format('pid %s, %s, %s', a.pid, coalesce(nullif(a.application_name, ''), 'unnamed'), a.state)
			FROM pg_stat_activity a WHERE a.backend_xid = h.xmax LIMIT 1), 'not known')
		FROM journal_heads h WHERE (h.slot, h.conversation) IN (SELECT * FROM unnest($1::smallint[], $2::text[])) AND h.conversation NOT IN (SELECT f.conversation FROM free f)`

// locked are the conversations whose rows were found locked by somebody else. While
// there are some, a goroutine looks at them (watchLocked), so no append has to.
type locked struct {
	usual    usual
	n        atomic.Int32 // len(rows), to be read without the lock
	mu       sync.Mutex
	rows     map[im.ConversationID]lockedRow
	watching bool
}

type lockedRow struct {
	since time.Time // when this holder was first seen
	asked time.Time // when something was last to be stored there
	// lasting: for a second, by the same holder. Who holds one for less may be another
	// process that appends.
	lasting bool
	holder
}

// holder is a transaction that locks a row, and a text that says who it is.
type holder struct{ transaction, by string }

// usual is what an append usually takes, in nanoseconds: a moving average.
type usual struct{ atomic.Int64 }

func (u *usual) note(took time.Duration) {
	old := u.Load() // another one's note may be lost
	u.Store(old + (int64(min(took, mostPatience))-old)/8)
}

func (l *locked) init() { l.rows = map[im.ConversationID]lockedRow{} }

// holdsAside tells that whoever appends a batch holds aside what is Locked.
func holdsAside(batch []im.Append) bool {
	for i := range batch {
		if !batch[i].NoWait {
			return false
		}
	}
	return true
}

// patience is how long a batch waits for a lock.
func (j *Journal) patience(noWait bool) time.Duration {
	if !noWait {
		return lockTimeout
	}
	return min(max(3*time.Duration(j.locked.usual.Load()), leastPatience), mostPatience)
}

// patienceParam is a patience as a value of lock_timeout.
func patienceParam(to []byte, patience time.Duration) []byte {
	return append(strconv.AppendInt(to, patience.Milliseconds(), 10), "ms"...)
}

// sort tells which conversations of a batch are not to be asked for now, as their
// rows are known to be locked; nil: none.
func (l *locked) sort(batch []im.Append, noWait bool, now time.Time) (left map[im.ConversationID]im.AppendStatus) {
	if l.n.Load() == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		c := batch[i].Entry.Conversation
		row, there := l.rows[c]
		if !there || !row.lasting && !noWait {
			continue
		}
		if left == nil {
			left = map[im.ConversationID]im.AppendStatus{}
		}
		row.asked = now
		l.rows[c] = row
		left[c] = row.status()
	}
	return left
}

func (r *lockedRow) status() im.AppendStatus {
	if r.lasting {
		return im.Busy
	}
	return im.Locked
}

// found notes what a look at asked conversations found. lasting: somebody has waited
// for a second already. It returns the rows that are locked for a second since now, and
// those that were and are free again.
func (l *locked) found(asked []im.ConversationID, by map[im.ConversationID]holder, lasting bool, now time.Time) (begun, ended []im.ConversationID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range asked {
		row, was := l.rows[c]
		held, is := by[c]
		if !is {
			if was && row.lasting {
				ended = append(ended, c)
			}
			delete(l.rows, c)
			continue
		}
		if !was {
			row = lockedRow{since: now, asked: now}
		}
		if row.transaction != held.transaction && !row.lasting {
			row.since = now
		}
		row.holder = held
		if !row.lasting && (lasting || now.Sub(row.since) >= lockTimeout) {
			row.lasting = true
			begun = append(begun, c)
		}
		l.rows[c] = row
	}
	l.n.Store(int32(len(l.rows)))
	return begun, ended
}

// list describes the rows that have been locked for a second or more.
func (l *locked) list(now time.Time) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, row := range l.rows {
		if row.lasting {
			all = append(all, fmt.Sprintf("%s: locked for %s by %s", c, now.Sub(row.since).Round(time.Second), row.by))
		}
	}
	slices.Sort(all)
	return all
}

func (l *locked) count() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range l.rows {
		if row.lasting {
			n++
		}
	}
	return n
}

// timedOutOnLock tells that a statement gave up waiting for a lock; nothing was
// done.
func timedOutOnLock(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == pg.LockNotAvailable
}

// apart is how a batch is stored of which rows are locked.
type apart struct {
	left   map[im.ConversationID]im.AppendStatus // what is left out, and as what
	look   bool                                  // there may be more: a lock was waited for in vain
	noWait bool
}

// appendApart stores what can be stored of a batch while rows of other
// conversations are locked: those answer Busy or Locked. What is stored is one
// transaction, as the whole batch would be. What keeps it waiting once more is none of
// those rows, or somebody else's append: for that it waits a second, as the batch
// of who does not hold aside.
func (j *Journal) appendApart(ctx context.Context, batch []im.Append, out []im.Appended, a apart) error {
	if a.left == nil {
		a.left = map[im.ConversationID]im.AppendStatus{}
	}
	patience := j.patience(a.noWait)
	for {
		if a.look {
			if err := j.leaveOut(ctx, batch, a); err != nil {
				return err
			}
		}
		err := j.appendRest(ctx, batch, out, a.left, patience)
		if !timedOutOnLock(err) || a.look && patience == lockTimeout {
			return err
		}
		if a.look {
			patience = lockTimeout
		}
		a.look = true
	}
}

// appendRest stores a batch without what is left out.
func (j *Journal) appendRest(ctx context.Context, batch []im.Append, out []im.Appended, left map[im.ConversationID]im.AppendStatus, patience time.Duration) error {
	clear(out)
	var free []im.Append
	var at []int
	busy := 0
	for i := range batch {
		if status, is := left[batch[i].Entry.Conversation]; is {
			out[i].Status = status
			if status == im.Busy {
				busy++
			}
			continue
		}
		free, at = append(free, batch[i]), append(at, i)
	}
	if len(free) > 0 {
		part := make([]im.Appended, len(free))
		if err := j.appendWhole(ctx, free, part, patience); err != nil {
			return err
		}
		for k, i := range at {
			out[i] = part[k]
		}
	}
	if busy > 0 {
		j.metrics.outcomes.WithLabelValues("busy").Add(float64(busy))
	}
	return nil
}

// leaveOut looks which of a batch's conversations are locked, and leaves those out.
func (j *Journal) leaveOut(ctx context.Context, batch []im.Append, a apart) error {
	var ask []im.ConversationID
	asked := map[im.ConversationID]bool{}
	for i := range batch {
		c := batch[i].Entry.Conversation
		if _, is := a.left[c]; !is && !asked[c] {
			ask, asked[c] = append(ask, c), true
		}
	}
	remaining := ask
	var by map[im.ConversationID]holder
	for n := 1; len(remaining) > 0; n++ {
		var err error
		if by, err = j.lockedOf(ctx, remaining); err != nil {
			return err
		}
		if a.noWait || n == lockLooks || len(by) == 0 {
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
	j.noteLocked(ask, by, !a.noWait)
	for c := range by {
		a.left[c] = im.Locked
		if !a.noWait {
			a.left[c] = im.Busy
		}
	}
	return nil
}

// lockedOf looks once which of some conversations' rows are locked, and by whom.
func (j *Journal) lockedOf(ctx context.Context, cs []im.ConversationID) (map[im.ConversationID]holder, error) {
	by := map[im.ConversationID]holder{}
	var in, names column
	err := j.queryOn(ctx, j.writers, stmtLocked, [][]byte{slotsOf(&in, cs), texts(&names, cs)}, func(v [][]byte) error {
		by[im.ConversationID(v[0])] = holder{string(v[1]), string(v[2])}
		return nil
	})
	return by, err
}

// noteLocked notes what a look found, tells operators, and has the rows watched that
// are locked.
func (j *Journal) noteLocked(asked []im.ConversationID, by map[im.ConversationID]holder, lasting bool) {
	begun, ended := j.locked.found(asked, by, lasting, j.o.Now())
	for _, c := range begun {
		j.o.Logger.Warn("journal: the row of a conversation is locked by somebody else; what is sent there is refused until it is let go", "conversation", c, "by", by[c].by)
	}
	for _, c := range ended {
		j.o.Logger.Info("journal: the row of a conversation is free again", "conversation", c)
	}
	if j.locked.watch() {
		j.writing.Go(j.watchLocked)
	}
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
	if errors.Is(err, im.ErrJournalDamaged) { // says nothing of others
		return
	}
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

// Damaged are conversations that were found to be damaged.
func (j *Journal) Damaged() []im.ConversationID { return j.damages.Which() }

// Trouble tells why nothing can be stored, "" if that is not so, and what is
// wrong with single conversations, each with a text for operators.
func (j *Journal) Trouble() (stopped string, warnings []string) {
	now := j.o.Now()
	warnings = j.damages.List()
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
