// Package outboxtest has a journal in RAM for tests of what goes through the
// outbox. It keeps the rules that matter there: an id is stored once, an entry
// whose IfRoster is not the head's revision is refused, and the change is
// applied before any later entry. Faults stop it between the steps.
package outboxtest

import (
	"context"
	"errors"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// Step is a place between two steps of a promise.
type Step int

// The places where a Journal can stop.
const (
	Promised Step = iota // committed, not appended
	Appended             // in the journal, not applied
	Applied              // done, nobody told
)

// ErrStopped is what a Journal answers where it stops.
var ErrStopped = errors.New("stopped")

// Journal is an outbox.Appender. The zero value works.
type Journal struct {
	// Stop, if set, is asked at every step; true stops there.
	Stop func(Step, im.Promise) bool

	mu      sync.Mutex
	entries map[im.ConversationID][]im.Promise
	rosters map[im.ConversationID]uint64
}

// AppendEvent implements outbox.Appender.
func (j *Journal) AppendEvent(_ context.Context, p im.Promise, apply func(uint64) error) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock() // one committer: the next entry waits for apply
	if j.stops(Promised, p) {
		return 0, ErrStopped
	}
	seq, err := j.append(p)
	if err != nil {
		return 0, err
	}
	if j.stops(Appended, p) {
		return 0, ErrStopped
	}
	if apply != nil {
		if err := apply(seq); err != nil {
			return 0, err
		}
	}
	if j.stops(Applied, p) {
		return 0, ErrStopped
	}
	return seq, nil
}

func (j *Journal) stops(s Step, p im.Promise) bool { return j.Stop != nil && j.Stop(s, p) }

func (j *Journal) append(p im.Promise) (uint64, error) {
	if j.entries == nil {
		j.entries = make(map[im.ConversationID][]im.Promise)
		j.rosters = make(map[im.ConversationID]uint64)
	}
	c := p.Conversation
	for i, e := range j.entries[c] {
		if e.ID == p.ID {
			return uint64(i + 1), nil
		}
	}
	if p.IfRoster != j.rosters[c] {
		return 0, im.Errorf(im.CodeConflict, "the roster is at %d, not %d", j.rosters[c], p.IfRoster)
	}
	if p.SetRoster != 0 {
		j.rosters[c] = p.SetRoster
	}
	j.entries[c] = append(j.entries[c], p)
	return uint64(len(j.entries[c])), nil
}

// Entries returns what was appended to a conversation; entry i has seq i+1.
func (j *Journal) Entries(c im.ConversationID) []im.Promise {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]im.Promise(nil), j.entries[c]...)
}

// Lose drops the entries of a conversation behind seq, as a journal does that
// came back without its end.
func (j *Journal) Lose(c im.ConversationID, seq uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries[c] = j.entries[c][:seq]
	j.rosters[c] = 0
	for _, p := range j.entries[c] {
		j.rosters[c] = max(j.rosters[c], p.SetRoster)
	}
}

// Heads tells seq and roster revision of the heads, as im.Journal does.
func (j *Journal) Heads(_ context.Context, cs []im.ConversationID, out []im.Head) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, c := range cs {
		out[i] = im.Head{Seq: uint64(len(j.entries[c])), Roster: j.rosters[c]}
	}
	return nil
}

// Timeline names the journal's history.
func (j *Journal) Timeline() string { return "t1" }

// Roster returns the roster revision of a conversation's head.
func (j *Journal) Roster(c im.ConversationID) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rosters[c]
}
