package messaging

import (
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// ask is the memory of one question to the journal about one conversation and
// one user: what is passed through an interface would be allocated each time.
type ask struct {
	conversation [1]im.ConversationID
	head         [1]im.Head
	key          [1]im.MarkKey
	mark, set    [1]im.Mark
	to           [2]im.UserID
}

type asks struct{ pool sync.Pool }

func (p *asks) get() *ask {
	if a, ok := p.pool.Get().(*ask); ok {
		return a
	}
	return &ask{}
}

func (p *asks) put(a *ask) {
	*a = ask{}
	p.pool.Put(a)
}

// items are used again once they are answered and delivered.
type items struct{ pool sync.Pool }

func (p *items) get() *item {
	if it, ok := p.pool.Get().(*item); ok {
		return it
	}
	return &item{}
}

func (p *items) put(it *item) {
	*it = item{}
	p.pool.Put(it)
}

// telling is a mark that is told of when it is durable. Until then it is moving:
// no position passes it that is pushed (positions.go). The journal calls stored
// once, unless SetMarks returned an error; then it is used again.
type telling struct {
	s      *Service
	mark   im.Mark
	shows  shown
	then   func(error)
	turn   int
	to     [2]im.UserID
	stored func(error) // done, bound once: a method value is an allocation
}

type tellings struct{ pool sync.Pool }

// get returns what to call when m is durable: it tells of it, leaves the turn and
// calls then, if that is not nil.
func (p *tellings) get(s *Service, m im.Mark, shows shown, turn int, then func(error)) func(error) {
	t, ok := p.pool.Get().(*telling)
	if !ok {
		t = &telling{}
		t.stored = t.done
	}
	t.s, t.mark, t.shows, t.turn, t.then = s, m, shows, turn, then
	return t.stored
}

func (t *telling) done(err error) {
	s, then := t.s, t.then
	if err == nil {
		s.receipt(&t.mark, t.shows, t.to[:0])
	} else {
		s.untold.Store(true)
	}
	s.moving.Leave(t.turn)
	*t = telling{stored: t.stored}
	s.tellings.pool.Put(t)
	if then != nil {
		then(err)
	}
}
