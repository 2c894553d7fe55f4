package postgres

import (
	"maps"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// A row that was just found locked is looked at every watchSoon: others' appends
	// hold theirs for milliseconds. Those that stay locked are looked at every watchLate.
	watchSoon = 10 * time.Millisecond
	watchLate = 250 * time.Millisecond
	// watchAtOnce is how many rows are looked at together.
	watchAtOnce = 500
)

// watch tells whether there are rows to be watched that nobody watches.
func (l *locked) watch() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watching || len(l.rows) == 0 {
		return false
	}
	l.watching = true
	return true
}

// next returns the rows that are to be looked at, and after what time; none: the watch
// is over. Rows that nobody asks for any more are forgotten.
func (l *locked) next(now time.Time) (cs []im.ConversationID, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait = watchLate
	for c, row := range l.rows {
		if now.Sub(row.asked) >= lockedKnown {
			delete(l.rows, c)
		} else if !row.lasting {
			wait = watchSoon
		}
	}
	l.n.Store(int32(len(l.rows)))
	l.watching = len(l.rows) > 0
	return slices.Collect(maps.Keys(l.rows)), wait
}

// watchLocked looks at the rows that were found locked until all are free, or Close.
func (j *Journal) watchLocked() {
	for {
		cs, wait := j.locked.next(j.o.Now())
		if len(cs) == 0 || pause(j.watching, wait) != nil {
			return
		}
		for some := range slices.Chunk(cs, watchAtOnce) {
			// A database that does not answer is told of by others; what was locked counts
			// as locked until it does.
			if by, err := j.lockedOf(j.watching, some); err == nil {
				j.noteLocked(some, by, false)
			}
		}
	}
}
