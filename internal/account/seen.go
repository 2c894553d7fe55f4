package account

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// flushChunk is how many signs of life one transaction writes, so that a login
// that waits for the writer waits for milliseconds.
const flushChunk = 500

// seen holds the signs of life that are not in the store yet. Losing them in a
// crash makes a session look older, nothing else.
type seen struct {
	mu sync.Mutex
	// held are the newest per session; writing are those that a flush has in hand.
	held, writing map[im.SessionID]im.SessionSeen
}

func newSeen() *seen {
	return &seen{held: map[im.SessionID]im.SessionSeen{}}
}

func (q *seen) note(n im.SessionSeen) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held[n.Session] = merge(q.held[n.Session], n)
}

// merge is what is known after both, n being the newer.
func merge(old, n im.SessionSeen) im.SessionSeen {
	if n.Client == "" {
		n.Client = old.Client
	}
	if n.Confirmed == (im.TokenHash{}) {
		n.Confirmed = old.Confirmed
	}
	return n
}

// confirmed reports whether a successor of the refresh token was seen in use
// and the store does not know it yet.
func (q *seen) confirmed(refresh im.TokenHash) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range []map[im.SessionID]im.SessionSeen{q.held, q.writing} {
		for _, n := range m {
			if n.Confirmed == refresh {
				return true
			}
		}
	}
	return false
}

// overlay brings sessions from the store up to date.
func (q *seen) overlay(sessions []im.Session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range sessions {
		s := &sessions[i]
		for _, m := range []map[im.SessionID]im.SessionSeen{q.writing, q.held} {
			n, ok := m[s.ID]
			if !ok || n.At.Before(s.LastSeen) {
				continue
			}
			s.LastSeen, s.LastAddress = n.At, n.Address
			if n.Client != "" {
				s.Client = n.Client
			}
		}
	}
}

// forget drops what is held of sessions that have ended.
func (q *seen) forget(sessions []im.SessionID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range sessions {
		delete(q.held, id)
	}
}

// flush writes what is held. Only one runs at a time (background, then Close).
func (s *Service) flush(ctx context.Context) error {
	q := s.seen
	q.mu.Lock()
	q.held, q.writing = map[im.SessionID]im.SessionSeen{}, q.held
	rest := slices.Collect(maps.Values(q.writing))
	q.mu.Unlock()

	var err error
	for len(rest) > 0 && err == nil {
		part := rest[:min(flushChunk, len(rest))]
		if err = s.store.SessionsSeen(ctx, part); err == nil {
			rest = rest[len(part):]
		}
	}

	q.mu.Lock()
	defer q.mu.Unlock()
	for _, old := range rest { // only after a failure: keep for the next time
		if newer, ok := q.held[old.Session]; ok {
			old = merge(old, newer)
		}
		q.held[old.Session] = old
	}
	q.writing = nil
	return err
}
