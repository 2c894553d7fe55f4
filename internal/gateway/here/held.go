package here

import (
	"sort"
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
// ones of the group that were seen here, without a gap. Which of them a session was
// told, or must not be told because it joined since, is in Group.Members.
type Held struct {
	Entries []im.Entry
	// Bytes is about how much that is.
	Bytes int
	// Leaving are so many of Entries, which are being pushed to one session after the
	// other; the others wait for the next time.
	Leaving int
}

// Hold holds one more entry. Caller holds the group's lock.
func (grp *Group) Hold(e *im.Entry) {
	if grp.Held == nil {
		grp.Held = &Held{}
	}
	h := grp.Held
	h.Entries = append(h.Entries, *e)
	h.Bytes += len(e.Body)
}

// Waits tells whether something is held that is not leaving yet. Caller holds the
// group's lock.
func (grp *Group) Waits() bool {
	return grp.Held != nil && len(grp.Held.Entries) > grp.Held.Leaving
}

// Rest is which of es, the first entries that are held, s was not told, and notes that
// it is. Caller holds the group's lock, and s is a member.
func (grp *Group) Rest(s *Member, es []im.Entry) []im.Entry {
	told, last := grp.Members[s].Told, es[len(es)-1].Seq
	if told >= last {
		return nil
	}
	grp.Skip(s, last)
	if told < es[0].Seq {
		return es
	}
	return es[sort.Search(len(es), func(i int) bool { return es[i].Seq > told }):]
}

// Skip has s, a member, not told the entry seq, which is held next: it knows all
// before. Caller holds the group's lock.
func (grp *Group) Skip(s *Member, seq uint64) {
	at := grp.Members[s]
	at.Told = seq
	grp.Members[s] = at
}

// WentBack forgets what was seen of the group: the numbers begin again below it.
// Caller holds the group's lock.
func (grp *Group) WentBack() {
	grp.Last, grp.Roster, grp.Held = 0, 0, nil
	for s := range grp.Members {
		grp.Skip(s, 0)
	}
}

// Left notes that what was leaving is told. Caller holds the group's lock.
func (grp *Group) Left() {
	h := grp.Held
	if h.Leaving == len(h.Entries) {
		grp.Held = nil
		return
	}
	rest := &Held{}
	grp.Held = rest
	for i := range h.Entries[h.Leaving:] {
		grp.Hold(&h.Entries[h.Leaving+i])
	}
}
