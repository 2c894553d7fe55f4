package postgres

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg"
)

const (
	// marksEvery is how long a mark waits in memory: marks move with every message,
	// and only the last one of a while is worth a row.
	marksEvery = 500 * time.Millisecond
	// marksSoon is how long one waits that somebody is waiting for: what comes
	// meanwhile shares the transaction.
	marksSoon = 5 * time.Millisecond
	// marksPerWrite bounds a transaction of marks: positions wait for it.
	marksPerWrite = 1000
	// maxDirtyMarks bounds the marks that wait in memory, maxDirtyMine the bytes of
	// their Mine; beyond, SetMarks refuses.
	maxDirtyMarks = 1 << 16
	maxDirtyMine  = 64 << 20
	// minePerWrite bounds a transaction as marksPerWrite does.
	minePerWrite = 1 << 20
	// cachedMine is the longest Mine that is remembered: who asks for a longer one
	// asks the database.
	cachedMine = 256
	// cachedMarks is how many marks are remembered at most, and markExpiry for how
	// long a look at the database holds: other processes move marks, too.
	cachedMarks = 1 << 17
	markExpiry  = time.Second
	// markWriteTimeout is how long a write of marks may take before it is cancelled,
	// which it may be: it is made again.
	markWriteTimeout = 10 * time.Second
	// unwritten is the position of a mark that is not in the database yet: it will
	// be given one after all that were given out.
	unwritten = math.MaxInt64
)

// markColumns are those of a mark m, in the order that scanMark reads them in.
const markColumns = "m.received, m.read, m.read_count, m.pos, m.mine"

const marksSQL = `SELECT k.i, ` + markColumns + `
	FROM unnest($1::smallint[], $2::text[], $3::text[]) WITH ORDINALITY k(slot, u, c, i)
	JOIN journal_marks m ON m.slot = k.slot AND m."user" = k.u AND m.conversation = k.c`

const userMarksSQL = `SELECT m.conversation, ` + markColumns + ` FROM journal_marks m WHERE m.slot = $1 AND m."user" = $2`

// setMarksSQL moves marks forward. Numbers are compared without their sign, which
// # turns over; what users set for themselves is replaced by what was set last.
// Without an adopted server there is no position, and an error. The position is asked
// for before the first row is locked, and for how long a lock is waited for set with it.
const setMarksSQL = `INSERT INTO journal_marks AS m (slot, "user", conversation, received, read, read_count, mine, pos)
	SELECT k.slot, k.u, k.c, k.received, k.read, k.read_count, k.mine, (SELECT j.base + pg_current_xact_id()::text::bigint FROM journal_meta j, journal_alive WHERE set_config('lock_timeout', $8, true) <> '')
		FROM unnest($1::smallint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[]) k(slot, u, c, received, read, read_count, mine)
	ON CONFLICT (slot, "user", conversation) DO UPDATE SET
		received = CASE WHEN excluded.received # (-9223372036854775808) > m.received # (-9223372036854775808) THEN excluded.received ELSE m.received END,
		read_count = CASE WHEN excluded.read # (-9223372036854775808) > m.read # (-9223372036854775808) THEN excluded.read_count ELSE m.read_count END,
		read = CASE WHEN excluded.read # (-9223372036854775808) > m.read # (-9223372036854775808) THEN excluded.read ELSE m.read END,
		mine = coalesce(excluded.mine, m.mine),
		pos = greatest(m.pos, excluded.pos)
	WHERE excluded.received # (-9223372036854775808) > m.received # (-9223372036854775808)
		OR excluded.read # (-9223372036854775808) > m.read # (-9223372036854775808)
		OR excluded.mine IS NOT NULL AND excluded.mine IS DISTINCT FROM m.mine
	RETURNING m."user", m.conversation, ` + markColumns

// SetMarks moves marks forward in memory; the writer stores them, soon if somebody
// waits for that.
func (j *Journal) SetMarks(_ context.Context, set []im.Mark, w im.MarkWait) error {
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	for i := range set {
		if m := &set[i]; len(m.User) == 0 || len(m.User) > maxName || len(m.Conversation) == 0 || len(m.Conversation) > maxName {
			return errors.New("journal: SetMarks: user or conversation is empty or too long")
		}
		if len(set[i].Mine) > im.MaxMine {
			return fmt.Errorf("journal: SetMarks: more than %d bytes of a user's own", im.MaxMine)
		}
	}
	if j.marks.waiting()+len(set) > maxDirtyMarks || j.marks.mine() > maxDirtyMine {
		// Not written here: who sets them has other things to do (messaging's settler).
		return fmt.Errorf("%w: too many marks wait to be written", im.ErrJournalUnavailable)
	}
	if !j.marks.set(set, w) && w.Stored != nil {
		w.Stored(nil)
	}
	return nil
}

// Marks fills out with the marks of keys. With recent, what the database said less
// than markExpiry ago will do.
func (j *Journal) Marks(ctx context.Context, keys []im.MarkKey, out []im.Mark, recent bool) error {
	if len(out) != len(keys) {
		return errors.New("journal: Marks: len(out) differs from len(keys)")
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	// Memory first: a mark that leaves it meanwhile is in the database by then.
	now := j.o.Now()
	var missing []int
	m := &j.marks
	m.mu.Lock()
	for i, k := range keys {
		out[i] = m.memory(k)
		if known, ok := m.clean.Get(k); ok && recent && now.Before(known.expiry) {
			out[i], _ = forward(known.mark, out[i])
		} else {
			missing = append(missing, i)
		}
	}
	m.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	stored, err := j.storedMarks(ctx, keys, missing)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for n, i := range missing {
		m.learn(keys[i], stored[n], now.Add(markExpiry))
		out[i], _ = forward(stored[n], out[i])
	}
	return nil
}

// storedMarks asks the database for some of keys.
func (j *Journal) storedMarks(ctx context.Context, keys []im.MarkKey, which []int) ([]im.Mark, error) {
	var in, users, conversations column
	in.begin(oidInt2)
	users.begin(oidText)
	conversations.begin(oidText)
	for _, i := range which {
		in.int2(im.SlotOf(keys[i].User))
		add(&users, keys[i].User)
		add(&conversations, keys[i].Conversation)
	}
	stored := make([]im.Mark, len(which))
	err := j.query(ctx, stmtMarks, [][]byte{in.end(), users.end(), conversations.end()}, func(v [][]byte) error {
		n := int8Of(v[0]) - 1
		k := &keys[which[n]]
		stored[n] = scanMark(k.User, k.Conversation, v[1:])
		return nil
	})
	return stored, err
}

// scanMark reads markColumns.
func scanMark(u im.UserID, c im.ConversationID, v [][]byte) im.Mark {
	return im.Mark{User: u, Conversation: c, Received: int8Of(v[0]), Read: int8Of(v[1]), ReadCount: int8Of(v[2]), Pos: int8Of(v[3]), Mine: string(v[4])}
}

// UserMarks returns all marks of a user.
func (j *Journal) UserMarks(ctx context.Context, u im.UserID) ([]im.Mark, error) {
	if err := j.enter(); err != nil {
		return nil, err
	}
	defer j.life.RUnlock()
	m := &j.marks
	newer := map[im.ConversationID]im.Mark{}
	m.mu.Lock()
	for _, t := range []*userMarks{&m.aside, &m.flying, &m.dirty} {
		for c, mark := range t.m[u] {
			newer[c], _ = forward(newer[c], mark)
		}
	}
	m.mu.Unlock()
	var all []im.Mark
	err := j.query(ctx, stmtUserMarks, [][]byte{binary.BigEndian.AppendUint16(nil, im.SlotOf(u)), []byte(u)}, func(v [][]byte) error {
		mark := scanMark(u, im.ConversationID(v[0]), v[1:])
		mark, _ = forward(mark, newer[mark.Conversation])
		delete(newer, mark.Conversation)
		all = append(all, mark)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, mark := range newer {
		all = append(all, mark)
	}
	return all, nil
}

// flushMarks writes the marks that wait when it is called, and calls who waits for
// those. What cannot be written waits on.
func (j *Journal) flushMarks(ctx context.Context) error {
	j.flushMu.Lock()
	defer j.flushMu.Unlock()
	m := &j.marks
	m.mu.Lock()
	taken, waiters, dropped := m.dirty.take(), m.waiters, m.dropped
	m.waiters = nil
	for i := range taken {
		m.flying.put(taken[i])
	}
	m.mu.Unlock()
	for len(taken) > 0 {
		some := taken[:perWrite(taken)]
		stored, written, left, err := j.writeUnlocked(ctx, some, dropped)
		if err != nil {
			tellDropped(j.putBack(taken, waiters, dropped))
			return err
		}
		m.landed(some, written, stored, left, j.o.Now().Add(markExpiry))
		taken = taken[len(some):]
	}
	for _, w := range j.putBack(nil, waiters, dropped) {
		w.stored(nil)
	}
	return nil
}

// perWrite is how many of some marks are written together.
func perWrite(set []im.Mark) int {
	mine := 0
	for i := range set {
		if mine += len(set[i].Mine); i == marksPerWrite || i > 0 && mine > minePerWrite {
			return i
		}
	}
	return len(set)
}

// freeMarksSQL tells which of some marks, by their numbers, can be written: those
// whose rows are not there or not locked. Like lockedSQL it waits for nothing.
const freeMarksSQL = `WITH free AS MATERIALIZED (
		SELECT m."user", m.conversation FROM journal_marks m
			WHERE (m.slot, m."user", m.conversation) IN (SELECT * FROM unnest($1::smallint[], $2::text[], $3::text[]))
				AND (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
			FOR NO KEY UPDATE OF m SKIP LOCKED)
	SELECT k.i FROM unnest($1::smallint[], $2::text[], $3::text[]) WITH ORDINALITY k(slot, u, c, i)
		WHERE EXISTS (SELECT FROM free f WHERE f."user" = k.u AND f.conversation = k.c)
			OR NOT EXISTS (SELECT FROM journal_marks m WHERE m.slot = k.slot AND m."user" = k.u AND m.conversation = k.c)`

// writeUnlocked writes those of sorted marks whose rows nobody keeps locked, and
// returns them and the others. While some are known to be locked it looks first, and
// nobody else's marks wait for those.
func (j *Journal) writeUnlocked(ctx context.Context, set []im.Mark, dropped int) (stored, written, left []im.Mark, err error) {
	if j.marksLocked.Load() == 0 {
		stored, err = j.writeSome(ctx, set, dropped, mostPatience)
		if !timedOutOnLock(err) {
			return stored, set, nil, err
		}
	}
	var in, users, conversations column
	in.begin(oidInt2)
	users.begin(oidText)
	conversations.begin(oidText)
	for i := range set {
		in.int2(im.SlotOf(set[i].User))
		add(&users, set[i].User)
		add(&conversations, set[i].Conversation)
	}
	free := make([]bool, len(set))
	err = j.queryOn(ctx, j.writers, stmtFreeMarks, [][]byte{in.end(), users.end(), conversations.end()}, func(v [][]byte) error {
		free[int8Of(v[0])-1] = true
		return nil
	})
	if err != nil {
		return nil, nil, set, err
	}
	for i := range set {
		if free[i] {
			written = append(written, set[i])
		} else {
			left = append(left, set[i])
		}
	}
	if len(written) == 0 {
		return nil, nil, left, nil
	}
	stored, err = j.writeSome(ctx, written, dropped, lockTimeout)
	return stored, written, left, err
}

// putBack makes marks wait for the next write: those that were left out, and those
// that could not be written; but none if their history is over. It returns the
// waiters that wait for none of these.
func (j *Journal) putBack(failed []im.Mark, waiters []markWaiter, dropped int) (done []markWaiter) {
	m := &j.marks
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dropped != dropped {
		return waiters
	}
	j.marksLocked.Store(int64(m.aside.n))
	for i := range failed {
		m.flying.remove(im.MarkKey{User: failed[i].User, Conversation: failed[i].Conversation})
		m.aside.put(failed[i])
	}
	if m.aside.n == 0 {
		return waiters
	}
	var waiting []markWaiter
	for _, w := range waiters {
		if m.aside.hasAny(w.keys) {
			waiting = append(waiting, w)
		} else {
			done = append(done, w)
		}
	}
	if failed != nil { // who waits for none of them is called after the next write
		waiting, done = waiters, nil
	}
	m.waiters = append(waiting, m.waiters...)
	for _, of := range m.aside.m {
		for c, mark := range of {
			mark, _ = forward(mark, m.dirty.m[mark.User][c])
			m.dirty.put(mark)
		}
	}
	m.aside.clear()
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return done
}

// landed ends the flight of marks: of those that are written now, of which stored
// moved and are as they are there, and of left, which were not.
func (m *marks) landed(taken, written, stored, left []im.Mark, expiry time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range taken {
		m.flying.remove(im.MarkKey{User: taken[i].User, Conversation: taken[i].Conversation})
	}
	for i := range left {
		m.aside.put(left[i])
	}
	for i := range written {
		// The database may have been further: then it is asked again.
		m.learn(im.MarkKey{User: written[i].User, Conversation: written[i].Conversation}, written[i], time.Time{})
	}
	for i := range stored {
		m.learn(im.MarkKey{User: stored[i].User, Conversation: stored[i].Conversation}, stored[i], expiry)
	}
}

// writeSome writes sorted marks and returns those that moved, as they are now. It
// waits for no lock for longer than patience.
// A new connection may have shown that their history is over; an old one is to
// the server that has it.
func (j *Journal) writeSome(ctx context.Context, set []im.Mark, dropped int, patience time.Duration) ([]im.Mark, error) {
	ctx, cancel := context.WithTimeout(ctx, markWriteTimeout)
	defer cancel()
	params := append(markParams(set), patienceParam(nil, patience))
	c, err := j.acquire(ctx, j.writers)
	if err != nil {
		return nil, err
	}
	if j.marks.droppedSince(dropped) {
		c.Release()
		return nil, errMarksDropped
	}
	var stored []im.Mark
	if err := ensure(ctx, c.Conn().PgConn(), stmtSetMarks); err != nil {
		c.Release()
		return nil, reading(err)
	}
	rows := c.Conn().PgConn().ExecPrepared(ctx, stmtSetMarks, params, binaryFormat, binaryFormat)
	for rows.NextRow() {
		v := rows.Values()
		stored = append(stored, scanMark(im.UserID(v[0]), im.ConversationID(v[1]), v[2:]))
	}
	_, err = rows.Close()
	c.Release()
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == pg.NotNullViolation {
		return nil, cmp.Or(j.adoptAgain(ctx), fmt.Errorf("%w: %w", im.ErrJournalUnavailable, err))
	}
	if answer != nil {
		if answer.Code == pg.LockNotAvailable {
			j.metrics.lockWaits.Inc()
		}
		return nil, &refusal{code: answer.Code, cause: err}
	}
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	j.metrics.marks.Add(float64(len(stored)))
	return stored, nil
}

// markParams are the parameters of setMarksSQL but the last.
func markParams(set []im.Mark) [][]byte {
	var cols [7]column
	for i, oid := range []uint32{oidInt2, oidText, oidText, oidInt8, oidInt8, oidInt8, oidBytea} {
		cols[i].begin(oid)
	}
	for i := range set {
		m := &set[i]
		cols[0].int2(im.SlotOf(m.User))
		add(&cols[1], m.User)
		add(&cols[2], m.Conversation)
		cols[3].int8(m.Received)
		cols[4].int8(m.Read)
		cols[5].int8(m.ReadCount)
		if m.Mine == "" {
			cols[6].null()
		} else {
			add(&cols[6], m.Mine)
		}
	}
	params := make([][]byte, len(cols))
	for i := range cols {
		params[i] = cols[i].end()
	}
	return params
}

// writeMarks writes marks a while after the first of them was set, or soon after
// the first that somebody is waiting for.
func (j *Journal) writeMarks() {
	defer close(j.marksDone)
	t := time.NewTimer(0)
	<-t.C
	for {
		wait := marksEvery
		select {
		case <-j.marks.wake:
		case <-j.marks.soon:
			wait = marksSoon
		case <-j.stopMarks:
			return
		}
		t.Reset(wait)
		for due := false; !due; {
			select {
			case <-t.C:
				due = true
			case <-j.marks.soon:
				if wait == marksEvery {
					wait = marksSoon
					t.Reset(wait)
				}
			case <-j.stopMarks:
				return
			}
		}
		if err := j.flushMarks(context.Background()); err != nil {
			j.o.Logger.Warn("journal: marks are not written yet", "waiting", j.marks.waiting(), "err", err)
			select {
			case j.marks.wake <- struct{}{}:
			default:
			}
		}
	}
}
