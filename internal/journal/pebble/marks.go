package pebble

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/gencache"
)

// maxDirtyMarks bounds the marks that wait in memory; beyond, SetMarks writes
// them itself.
const maxDirtyMarks = 1 << 16

// markTable holds marks in memory: dirty ones are newer than the store, flying
// ones are in a commit that is under way, clean ones are as in the store.
// Guarded by Journal.mu; values change only under marksMu as well.
type markTable struct {
	dirty, flying userMarks
	clean         gencache.Cache[im.MarkKey, im.Mark]
}

func (t *markTable) init() {
	t.dirty.m = make(map[im.UserID]*markList)
	t.flying.m = make(map[im.UserID]*markList)
	t.clean = gencache.New[im.MarkKey, im.Mark](cachedMarks)
}

// get returns a mark that is in memory.
func (t *markTable) get(k im.MarkKey) (im.Mark, bool) {
	if m := t.dirty.find(k); m != nil {
		return *m, true
	}
	if m := t.flying.find(k); m != nil {
		return *m, true
	}
	return t.clean.Get(k)
}

// takeOff makes dirty marks flying, those of whole users, about n.
func (t *markTable) takeOff(n int) {
	if t.dirty.n <= n {
		t.dirty, t.flying = t.flying, t.dirty
		return
	}
	for u, list := range t.dirty.m {
		if t.flying.n >= n {
			return
		}
		t.flying.m[u] = list
		t.flying.n += len(list.marks)
		delete(t.dirty.m, u)
		t.dirty.n -= len(list.marks)
	}
}

// landed makes the flying marks clean: they are stored.
func (t *markTable) landed() {
	for u, list := range t.flying.m {
		for _, m := range list.marks {
			t.clean.Put(im.MarkKey{User: u, Conversation: m.Conversation}, m)
		}
	}
	t.flying.clear()
}

// userMarks are marks by user, one per conversation.
type userMarks struct {
	m map[im.UserID]*markList
	n int
}

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
		l = &markList{}
		um.m[m.User] = l
	}
	if old := l.find(m.Conversation); old != nil {
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

func (um *userMarks) clear() {
	if um.n > 0 {
		clear(um.m)
		um.n = 0
	}
}

// forward returns the mark further along of old and m, and whether it differs
// from old.
func forward(old, m im.Mark) (im.Mark, bool) {
	next := old
	next.User, next.Conversation = m.User, m.Conversation
	next.Received = max(old.Received, m.Received)
	if m.Read > old.Read {
		next.Read, next.ReadCount = m.Read, m.ReadCount
	}
	return next, next.Received != old.Received || next.Read != old.Read
}

// SetMarks moves marks forward in memory; the writer stores them within a second
// or so.
func (j *Journal) SetMarks(ctx context.Context, marks []im.Mark) error {
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
	}
	j.marksMu.Lock()
	defer j.marksMu.Unlock()
	current, err := j.currentMarks(ctx, marks)
	if err != nil {
		return err
	}
	if waiting := j.moveMarks(marks, current); waiting > maxDirtyMarks {
		return j.flushMarks()
	}
	select {
	case j.dirtyMark <- struct{}{}:
	default:
	}
	return nil
}

// currentMarks returns the marks as they are. Only SetMarks changes a mark, and
// marksMu is held, so they stay as returned.
func (j *Journal) currentMarks(ctx context.Context, marks []im.Mark) ([]im.Mark, error) {
	current := make([]im.Mark, len(marks))
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

// moveMarks applies marks to what they are now, and returns how many wait.
func (j *Journal) moveMarks(marks, current []im.Mark) int {
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
	return j.marks.dirty.n
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

// Marks fills out with the marks of keys.
func (j *Journal) Marks(ctx context.Context, keys []im.MarkKey, out []im.Mark) error {
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

// marksPerWrite bounds how long a write of marks keeps an Append waiting, which
// becomes visible only after it.
const marksPerWrite = 128

// takeMarks adds dirty marks to a batch that is about to be written, and returns
// how many. flushMu is held; landed ends their flight.
func (j *Journal) takeMarks(b *pebble.Batch) (int, error) {
	j.mu.Lock()
	// Before a failed write they may be flying already; then nothing lands any more.
	if j.marks.flying.n == 0 {
		j.marks.takeOff(marksPerWrite)
	}
	flying, n := j.marks.flying.m, j.marks.flying.n
	j.mu.Unlock()
	// Nobody changes flying ones, so they are read without the lock.
	var key, value []byte
	for u, list := range flying {
		for i := range list.marks {
			m := &list.marks[i]
			key = appendMarkKey(key[:0], u, m.Conversation)
			value = appendMarkValue(value[:0], m)
			if err := b.Set(key, value, nil); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// flushMarks stores the marks that wait when it is called, and makes them
// durable. Appends go on meanwhile: marks need no order among them.
func (j *Journal) flushMarks() error {
	j.flushMu.Lock()
	defer j.flushMu.Unlock()
	j.mu.Lock()
	waiting := j.marks.dirty.n + j.marks.flying.n
	j.mu.Unlock()
	b := j.db.NewBatch()
	defer func() { _ = b.Close() }()
	for last := waiting == 0; !last; {
		if err := j.failure(); err != nil {
			return err
		}
		n, err := j.takeMarks(b)
		if err != nil {
			return err
		}
		waiting -= n
		last = n == 0 || waiting <= 0
		if err := j.write(b, last); err != nil {
			return err
		}
		j.mu.Lock()
		j.marks.landed()
		j.mu.Unlock()
		b.Reset()
		runtime.Gosched()
	}
	return nil
}

// writeMarks stores marks a second after the first of them was set.
func (j *Journal) writeMarks() {
	defer close(j.marksDone)
	t := time.NewTimer(0)
	<-t.C
	for {
		select {
		case <-j.dirtyMark:
		case <-j.stopMarks:
			return
		}
		t.Reset(marksEvery)
		select {
		case <-t.C:
		case <-j.stopMarks:
			return
		}
		if j.space.check(0) == nil {
			// A failure is reported where it happens.
			_ = j.flushMarks()
		}
	}
}
