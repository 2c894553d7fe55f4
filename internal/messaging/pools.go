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
