package gateway

import (
	"github.com/skein-im/skein/internal/gateway/outgoing"

	"context"
	"slices"
	"sync"
	"time"
)

// asking are the questions to Logic whose answers are for one session alone: what
// it reads, and its Calls. They are kept here and not with the sessions, of which
// few ask at a time.
type asking struct {
	mu sync.Mutex
	of map[*session][]*question
}

type question struct{ stop context.CancelFunc }

// asking begins a question. It ends with the session, or when a client has waited
// long enough. The returned function must be called.
func (s *session) asking(patience time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(s.g.ctx, patience)
	q, a := &question{cancel}, &s.g.asking
	a.mu.Lock()
	if a.of == nil {
		a.of = map[*session][]*question{}
	}
	a.of[s] = append(a.of[s], q)
	a.mu.Unlock()
	if s.Is(outgoing.Over) { // it ended just before
		cancel()
	}
	return ctx, func() {
		a.answered(s, q)
		cancel()
	}
}

func (a *asking) answered(s *session, q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[s] = slices.DeleteFunc(a.of[s], func(o *question) bool { return o == q })
	if len(a.of[s]) == 0 {
		delete(a.of, s)
	}
}

// end stops what is asked for a session that is over. It may be called with the
// lock of its queue.
func (a *asking) end(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.of[s] {
		q.stop()
	}
}

// Over implements outgoing.Owner.
func (s *session) Over() { s.g.asking.end(s) }
