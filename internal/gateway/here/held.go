package here

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Pace is how often a large group's sessions are written to. Guarded by the group's
// lock, as all of it.
type Pace struct {
	// Next is before when the sessions are not pushed anything together.
	Next time.Time
	// Held is what waits for that, nil: nothing does.
	Held *Held
}

// Held is entries that a group's sessions are pushed together. They are the last
// ones of the group that were seen here, without a gap.
type Held struct {
	Entries []im.Entry
	// Bytes is about how much that is.
	Bytes int
	// Ahead are the sessions that were told the first so many of Entries, or must not
	// be told them: they joined, or said something, since.
	Ahead map[*Member]int
}

// Hold holds one more entry. Caller holds the group's lock.
func (grp *Group) Hold(e *im.Entry) {
	h := grp.holding()
	h.Entries = append(h.Entries, *e)
	h.Bytes += len(e.Body)
}

func (grp *Group) holding() *Held {
	if grp.Held == nil {
		grp.Held = &Held{Ahead: map[*Member]int{}}
	}
	return grp.Held
}

// Rest is what s was not told of what is held, and notes that it is. Caller holds the
// group's lock, and something is held.
func (grp *Group) Rest(s *Member) []im.Entry {
	h := grp.Held
	from := h.Ahead[s]
	h.Ahead[s] = len(h.Entries)
	return h.Entries[from:]
}

// Skip has s not told the entry that is held next: it knows all before. Caller holds
// the group's lock.
func (grp *Group) Skip(s *Member) {
	h := grp.holding()
	h.Ahead[s] = len(h.Entries) + 1
}
