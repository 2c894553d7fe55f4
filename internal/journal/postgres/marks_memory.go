package postgres

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// marks holds marks in memory. Dirty ones wait to be written, flying ones are
// being written, clean ones are as the database had them a moment ago, and a
// lower bound for ever.
type marks struct {
	mu            sync.Mutex
	dirty, flying userMarks
	// aside are those that the write under way leaves out: their rows are locked.
	aside userMarks
	clean cache.Cache[im.MarkKey, cleanMark]
	wake  chan struct{} // holds one: there are dirty ones
	soon  chan struct{} // holds one: somebody waits for some
	// waiters are called when their marks are in the database.
	waiters []markWaiter
	// dropped counts how often all that waited was dropped, with its history.
	dropped int
}

// markWaiter is called when what waited of its marks is written.
type markWaiter struct {
	stored func(error)
	keys   []im.MarkKey
}

// hasAny reports whether one of the marks is among these.
func (um *userMarks) hasAny(keys []im.MarkKey) bool {
	for _, k := range keys {
		if _, ok := um.m[k.User][k.Conversation]; ok {
			return true
		}
	}
	return false
}

type cleanMark struct {
	mark   im.Mark
	expiry time.Time
}

func (m *marks) init() {
	m.dirty.m, m.flying.m = map[im.UserID]map[im.ConversationID]im.Mark{}, map[im.UserID]map[im.ConversationID]im.Mark{}
	m.aside.m = map[im.UserID]map[im.ConversationID]im.Mark{}
	m.clean = cache.New[im.MarkKey, cleanMark](cachedMarks)
	m.wake, m.soon = make(chan struct{}, 1), make(chan struct{}, 1)
}

// forget drops what is known of the database; what waits for it stays.
func (m *marks) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clean.Clear()
}

func (m *marks) waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.dirty.n+m.flying.n+m.aside.n, len(m.waiters))
}

// mine is how many bytes of Mine wait.
func (m *marks) mine() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dirty.mine + m.flying.mine + m.aside.mine
}

// memory returns what waits of a mark, the zero mark if nothing does.
func (m *marks) memory(k im.MarkKey) im.Mark {
	mark, _ := forward(m.aside.m[k.User][k.Conversation], m.flying.m[k.User][k.Conversation])
	mark, _ = forward(mark, m.dirty.m[k.User][k.Conversation])
	return mark
}

// learn notes a mark of the database, unless a later one is known.
func (m *marks) learn(k im.MarkKey, mark im.Mark, expiry time.Time) {
	if len(mark.Mine) > cachedMine {
		mark.Mine, expiry = "", time.Time{}
	}
	old, _ := m.clean.Get(k)
	if old.mark.Received <= mark.Received && old.mark.Read <= mark.Read {
		m.clean.Put(k, cleanMark{mark, expiry})
	}
}

// userMarks are marks by user.
type userMarks struct {
	m    map[im.UserID]map[im.ConversationID]im.Mark
	n    int
	mine int // bytes of Mine
}

func (um *userMarks) put(m im.Mark) {
	of := um.m[m.User]
	if of == nil {
		of = map[im.ConversationID]im.Mark{}
		um.m[m.User] = of
	}
	before := len(of)
	um.mine += len(m.Mine) - len(of[m.Conversation].Mine)
	of[m.Conversation] = m
	um.n += len(of) - before
}

func (um *userMarks) clear() {
	clear(um.m)
	um.n, um.mine = 0, 0
}

// take returns all marks in the order in which they are written, and removes them.
func (um *userMarks) take() []im.Mark {
	taken := make([]im.Mark, 0, um.n)
	for _, of := range um.m {
		for _, m := range of {
			taken = append(taken, m)
		}
	}
	um.clear()
	// Processes that write the same marks must not wait for each other in a circle.
	slices.SortFunc(taken, func(a, b im.Mark) int {
		if a.User == b.User {
			return cmp.Compare(a.Conversation, b.Conversation)
		}
		return cmp.Or(cmp.Compare(im.SlotOf(a.User), im.SlotOf(b.User)), cmp.Compare(a.User, b.User))
	})
	return taken
}

func (um *userMarks) remove(k im.MarkKey) {
	of := um.m[k.User]
	if _, ok := of[k.Conversation]; !ok {
		return
	}
	um.n--
	um.mine -= len(of[k.Conversation].Mine)
	if delete(of, k.Conversation); len(of) == 0 {
		delete(um.m, k.User)
	}
}

// forward returns the mark further along of old and m, which was set later, and
// whether it differs from old. A mark that does is not in the database yet.
func forward(old, m im.Mark) (im.Mark, bool) {
	if m.Received <= old.Received && m.Read <= old.Read && (m.Mine == "" || m.Mine == old.Mine) {
		return old, false
	}
	next := im.Mark{
		User: m.User, Conversation: m.Conversation, Received: max(old.Received, m.Received), Read: old.Read, ReadCount: old.ReadCount,
		Mine: cmp.Or(m.Mine, old.Mine), Pos: unwritten,
	}
	if m.Read > old.Read {
		next.Read, next.ReadCount = m.Read, m.ReadCount
	}
	return next, true
}

// set moves marks forward, and reports whether some of them wait to be written.
func (m *marks) set(set []im.Mark, w im.MarkWait) (waits bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []im.MarkKey
	for i := range set {
		k := im.MarkKey{User: set[i].User, Conversation: set[i].Conversation}
		// What was there is a lower bound of the numbers for ever. What a user set is
		// not: somebody else may have replaced it since, so it is written.
		known, _ := m.clean.Get(k)
		if _, ahead := forward(known.mark, set[i]); !ahead && set[i].Mine == "" {
			continue
		}
		if next, ahead := forward(m.memory(k), set[i]); ahead {
			m.dirty.put(next)
		}
		if waits = true; w.Stored != nil {
			keys = append(keys, k)
		}
	}
	if !waits {
		return false
	}
	if w.Stored != nil {
		m.waiters = append(m.waiters, markWaiter{w.Stored, keys})
	}
	wake := m.wake
	if w.Soon {
		wake = m.soon
	}
	select {
	case wake <- struct{}{}:
	default:
	}
	return true
}
