package pebble

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// maxDirtyMarks bounds the marks that wait in memory; beyond, SetMarks writes
// them itself.
const maxDirtyMarks = 1 << 16

// dirtyMine is how many bytes that users set for themselves count as one more mark
// that waits, and maxCachedMine how many are remembered with a mark.
const (
	dirtyMine     = 256
	maxCachedMine = 256
)

// markTable holds marks in memory: dirty ones are newer than the store, flying
// ones are in a commit that is under way, clean ones are as in the store.
// Guarded by Journal.mu; values change only under marksMu as well.
type markTable struct {
	dirty, flying userMarks
	clean         cache.Cache[im.MarkKey, im.Mark]
	// waiters are called when what is dirty or flying now is durable.
	waiters []func(error)
	// idle is where the next ones go, under flushMu.
	idle []func(error)
}

func (t *markTable) init() {
	t.dirty.m = make(map[im.UserID]*markList)
	t.flying.m = make(map[im.UserID]*markList)
	t.clean = cache.New[im.MarkKey, im.Mark](cachedMarks)
}

// get returns a mark that is in memory.
func (t *markTable) get(k im.MarkKey) (im.Mark, bool) {
	if m := t.dirty.find(k); m != nil {
		return *m, true
	}
	if m := t.flying.find(k); m != nil {
		return *m, true
	}
	m, ok := t.clean.Get(k)
	return m, ok && m.User != ""
}

// takeOff makes all dirty marks flying. After a write that failed some may fly
// still; then nothing lands any more.
func (t *markTable) takeOff() {
	if t.flying.n == 0 {
		t.dirty, t.flying = t.flying, t.dirty
	}
}

// waiting reports whether one of the marks is not stored yet.
func (t *markTable) waiting(marks []im.Mark) bool {
	for i := range marks {
		k := im.MarkKey{User: marks[i].User, Conversation: marks[i].Conversation}
		if t.dirty.find(k) != nil || t.flying.find(k) != nil {
			return true
		}
	}
	return false
}

// landed makes the flying marks clean: they are stored.
func (t *markTable) landed() {
	for u, list := range t.flying.m {
		for _, m := range list.marks {
			k := im.MarkKey{User: u, Conversation: m.Conversation}
			if len(m.Mine) > maxCachedMine {
				m = im.Mark{} // in place of an older one: it is read from the store
			}
			t.clean.Put(k, m)
		}
	}
	t.flying.clear()
}

// userMarks are marks by user, one per conversation.
type userMarks struct {
	m map[im.UserID]*markList
	n int
	// mine is how many bytes their Mine has.
	mine int
	// spare are empty lists for users to come: the table is emptied many times a
	// second, and has about the same users each time.
	spare []*markList
}

// maxSpareLists bounds what a burst of users leaves in memory.
const maxSpareLists = 1 << 12

// markList is short for almost every user; a long one has an index.
type markList struct {
	marks []im.Mark
	index map[im.ConversationID]int
}

const indexedMarks = 16

func (l *markList) find(c im.ConversationID) *im.Mark {
	if l.index != nil {
		if i, ok := l.index[c]; ok {
			return &l.marks[i]
		}
		return nil
	}
	for i := range l.marks {
		if l.marks[i].Conversation == c {
			return &l.marks[i]
		}
	}
	return nil
}

func (um *userMarks) find(k im.MarkKey) *im.Mark {
	if l := um.m[k.User]; l != nil {
		return l.find(k.Conversation)
	}
	return nil
}

func (um *userMarks) put(m im.Mark) {
	l := um.m[m.User]
	if l == nil {
		l = um.list()
		um.m[m.User] = l
	}
	um.mine += len(m.Mine)
	if old := l.find(m.Conversation); old != nil {
		um.mine -= len(old.Mine)
		*old = m
		return
	}
	um.n++
	l.marks = append(l.marks, m)
	switch {
	case l.index != nil:
		l.index[m.Conversation] = len(l.marks) - 1
	case len(l.marks) > indexedMarks:
		l.index = make(map[im.ConversationID]int, 2*len(l.marks))
		for i := range l.marks {
			l.index[l.marks[i].Conversation] = i
		}
	}
}

// list returns an empty list.
func (um *userMarks) list() *markList {
	if last := len(um.spare) - 1; last >= 0 {
		l := um.spare[last]
		um.spare[last], um.spare = nil, um.spare[:last]
		return l
	}
	return &markList{}
}

func (um *userMarks) clear() {
	if um.n == 0 {
		return
	}
	for _, l := range um.m {
		if l.index == nil && len(um.spare) < maxSpareLists { // short ones only
			clear(l.marks)
			l.marks = l.marks[:0]
			um.spare = append(um.spare, l)
		}
	}
	clear(um.m)
	um.n, um.mine = 0, 0
}

// forward returns the mark further along of old and m, with the newer Mine if m has
// one, and whether it differs from old.
func forward(old, m im.Mark) (im.Mark, bool) {
	next := old
	next.User, next.Conversation = m.User, m.Conversation
	next.Received = max(old.Received, m.Received)
	if m.Read > old.Read {
		next.Read, next.ReadCount = m.Read, m.ReadCount
	}
	if m.Mine != "" {
		next.Mine = m.Mine
	}
	return next, next.Received != old.Received || next.Read != old.Read || next.Mine != old.Mine
}

// SetMarks moves marks forward in memory; the writer stores them a little
// later, and soon if somebody waits for that.
func (j *Journal) SetMarks(ctx context.Context, marks []im.Mark, w im.MarkWait) error {
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	if err := j.failure(); err != nil {
		return err
	}
	for i := range marks {
		m := &marks[i]
		if len(m.User) == 0 || len(m.User) > maxName || len(m.Conversation) == 0 || len(m.Conversation) > maxName {
			return errors.New("journal: SetMarks: user or conversation is empty or too long")
		}
		if len(m.Mine) > im.MaxMine {
			return fmt.Errorf("journal: SetMarks: more than %d bytes of what a user set", im.MaxMine)
		}
	}
	waits, err := j.setMarks(ctx, marks, w.Stored)
	switch {
	case err != nil || w.Stored == nil && len(marks) == 0:
		return err
	case w.Stored != nil && !waits:
		w.Stored(nil)
		return nil
	}
	wake := j.dirtyMark
	if w.Soon {
		wake = j.soonMark
	}
	select {
	case wake <- struct{}{}:
	default:
	}
	return nil
}

// setMarks reports whether stored waits for a write now.
func (j *Journal) setMarks(ctx context.Context, marks []im.Mark, stored func(error)) (waits bool, err error) {
	j.marksMu.Lock()
	defer j.marksMu.Unlock()
	current, err := j.currentMarks(ctx, marks)
	if err != nil {
		return false, err
	}
	full := error(nil)
	if stored != nil {
		full = j.space.check(0)
	}
	dirty, waits := j.moveMarks(marks, current, stored, full != nil)
	if waits && full != nil {
		return false, full
	}
	if dirty > maxDirtyMarks {
		err = j.flushMarks()
		if waits { // stored was called with it
			err = nil
		}
	}
	return waits, err
}

// currentMarks returns the marks as they are, valid until marksMu is given up. Only
// SetMarks changes a mark, and marksMu is held, so they stay as returned.
func (j *Journal) currentMarks(ctx context.Context, marks []im.Mark) ([]im.Mark, error) {
	j.current = append(j.current[:0], marks...)
	current := j.current
	var missing []int
	j.mu.Lock()
	for i := range marks {
		m, ok := j.marks.get(im.MarkKey{User: marks[i].User, Conversation: marks[i].Conversation})
		current[i] = m
		if !ok {
			missing = append(missing, i)
		}
	}
	j.mu.Unlock()
	for _, i := range missing {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := j.readMark(marks[i].User, marks[i].Conversation, &current[i]); err != nil {
			return nil, err
		}
	}
	return current, nil
}

// moveMarks applies marks to what they are now, and returns how many wait, and
// whether some of these do. Then stored waits with them, unless they are stuck.
func (j *Journal) moveMarks(marks, current []im.Mark, stored func(error), stuck bool) (dirty int, waits bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range marks {
		old := current[i]
		// The same mark may be in marks twice.
		if m := j.marks.dirty.find(im.MarkKey{User: marks[i].User, Conversation: marks[i].Conversation}); m != nil {
			old = *m
		}
		if next, changed := forward(old, marks[i]); changed {
			// The position is read and the mark shown in one step with respect to the
			// committer: who syncs at Pos or later sees the mark.
			next.Pos = j.durable + 1
			j.marks.dirty.put(next)
		}
	}
	if stored != nil {
		if waits = j.marks.waiting(marks); waits && !stuck {
			j.marks.waiters = append(j.marks.waiters, stored)
		}
	}
	return max(j.marks.dirty.n, j.marks.dirty.mine/dirtyMine, len(j.marks.waiters)), waits
}

// readMark reads one mark from the store; none is the zero mark.
func (j *Journal) readMark(u im.UserID, c im.ConversationID, m *im.Mark) error {
	v, closer, err := j.db.Get(appendMarkKey(make([]byte, 0, 96), u, c))
	if errors.Is(err, pebble.ErrNotFound) {
		*m = im.Mark{}
		return nil
	}
	if err != nil {
		return j.explain(err)
	}
	m.User, m.Conversation = u, c
	ok := decodeMarkValue(v, m)
	if err := closer.Close(); err != nil {
		return j.explain(err)
	}
	if !ok {
		return &CorruptionError{Dir: j.dir, File: "the mark of " + string(u) + " in " + string(c), Cause: errRecord}
	}
	return nil
}

// UserMarks returns all marks of a user.
func (j *Journal) UserMarks(ctx context.Context, u im.UserID) ([]im.Mark, error) {
	if err := j.enter(); err != nil {
		return nil, err
	}
	defer j.life.RUnlock()
	// Memory first: a mark that leaves it meanwhile is in the store by then.
	j.mu.Lock()
	newer := make(map[im.ConversationID]im.Mark)
	for _, t := range []*userMarks{&j.marks.flying, &j.marks.dirty} {
		if l := t.m[u]; l != nil {
			for _, m := range l.marks {
				newer[m.Conversation] = m
			}
		}
	}
	j.mu.Unlock()
	prefix := appendName(nil, spaceMark, u)
	it, err := j.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return nil, j.explain(err)
	}
	defer it.Close()
	var all []im.Mark
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, j.explain(err)
		}
		m := im.Mark{User: u, Conversation: markConversation(it.Key(), u)}
		if !decodeMarkValue(v, &m) {
			return nil, &CorruptionError{Dir: j.dir, File: "the mark of " + string(u) + " in " + string(m.Conversation), Cause: errRecord}
		}
		if n, ok := newer[m.Conversation]; ok {
			delete(newer, m.Conversation)
			// The store may have caught up and gone on.
			if n.Received >= m.Received && n.Read >= m.Read {
				m = n
			}
		}
		all = append(all, m)
	}
	if err := it.Error(); err != nil {
		return nil, j.explain(err)
	}
	for _, m := range newer {
		all = append(all, m)
	}
	return all, nil
}

// Marks fills out with the marks of keys. Nobody else sets marks, so what is in
// memory is always recent.
func (j *Journal) Marks(ctx context.Context, keys []im.MarkKey, out []im.Mark, _ bool) error {
	if len(out) != len(keys) {
		return errors.New("journal: Marks: len(out) differs from len(keys)")
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	var missing []int
	j.mu.Lock()
	for i := range keys {
		m, ok := j.marks.get(keys[i])
		out[i] = m
		if !ok {
			missing = append(missing, i)
		}
	}
	j.mu.Unlock()
	for n, i := range missing {
		if n%headsChunk == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := j.readMark(keys[i].User, keys[i].Conversation, &out[i]); err != nil {
			return err
		}
	}
	return nil
}

// These bound how long a write of marks keeps an Append waiting, which
// becomes visible only after it.
const (
	marksPerWrite      = 128
	marksBytesPerWrite = 64 << 10
)

// flushMarks stores the marks that wait when it is called, makes them durable,
// and calls who waits for that. Appends go on meanwhile: marks need no order
// among them.
func (j *Journal) flushMarks() error {
	j.flushMu.Lock()
	defer j.flushMu.Unlock()
	err := j.failure()
	j.mu.Lock()
	waiters := j.marks.waiters
	j.marks.waiters, j.marks.idle = j.marks.idle, nil
	if err == nil {
		j.marks.takeOff()
	}
	j.mu.Unlock()
	if err == nil {
		err = j.writeFlying()
	}
	for _, stored := range waiters {
		stored(err)
	}
	clear(waiters)
	j.marks.idle = waiters[:0]
	return err
}

// writeFlying stores the flying marks, in parts, the last one with an fsync, and
// ends their flight. flushMu is held. On an error nothing lands any more.
func (j *Journal) writeFlying() error {
	// Nobody else changes flying ones, so they are read without the lock.
	flying, left := j.marks.flying.m, j.marks.flying.n
	if left == 0 {
		return nil
	}
	b := j.db.NewBatch()
	defer func() { _ = b.Close() }()
	var key, value []byte
	for u, list := range flying {
		for i := range list.marks {
			m := &list.marks[i]
			key = appendMarkKey(key[:0], u, m.Conversation)
			value = appendMarkValue(value[:0], m)
			if err := b.Set(key, value, nil); err != nil {
				return err
			}
			if left--; left > 0 && b.Count() < marksPerWrite && b.Len() < marksBytesPerWrite {
				continue
			}
			if err := j.write(b, left == 0); err != nil {
				return err
			}
			b.Reset()
			runtime.Gosched()
		}
	}
	j.mu.Lock()
	j.marks.landed()
	j.mu.Unlock()
	return nil
}

// writeMarks stores marks a while after the first of them was set, or soon after
// the first that somebody is waiting for.
func (j *Journal) writeMarks() {
	defer close(j.marksDone)
	t := time.NewTimer(0)
	<-t.C
	for {
		wait := marksEvery
		select {
		case <-j.dirtyMark:
		case <-j.soonMark:
			wait = marksSoon
		case <-j.stopMarks:
			return
		}
		t.Reset(wait)
		for due := false; !due; {
			select {
			case <-t.C:
				due = true
			case <-j.soonMark:
				if wait == marksEvery {
					wait = marksSoon
					t.Reset(wait)
				}
			case <-j.stopMarks:
				return
			}
		}
		if j.space.check(0) == nil {
			// A failure is reported where it happens.
			_ = j.flushMarks()
			continue
		}
		select { // the same again later
		case j.dirtyMark <- struct{}{}:
		default:
		}
	}
}
