package gateway

import (
	"context"
	"sync"
)

// asking are the questions to Logic whose answers are for one session alone. They
// are kept here and not with the sessions, of which few ask at a time.
type asking struct {
	mu   sync.Mutex
	stop map[*session]context.CancelFunc
}

// asking begins a question. It ends with the session, or when a client has waited
// long enough. The returned function must be called.
func (s *session) asking() (context.Context, func()) {
	ctx, cancel := context.WithTimeout(s.g.ctx, readTime)
	a := &s.g.asking
	a.mu.Lock()
	if a.stop == nil {
		a.stop = map[*session]context.CancelFunc{}
	}
	a.stop[s] = cancel
	a.mu.Unlock()
	if s.isOver() { // it ended just before
		cancel()
	}
	return ctx, func() {
		a.mu.Lock()
		delete(a.stop, s)
		a.mu.Unlock()
		cancel()
	}
}

// end stops what is asked for a session that is over. It may be called with the
// outbox's lock.
func (a *asking) end(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stop := a.stop[s]; stop != nil {
		stop()
	}
}

// isOver tells that nothing more will be told to the client, but why.
func (s *session) isOver() bool {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	return s.ob.closed || s.ob.ending && !s.ob.graceful
}
