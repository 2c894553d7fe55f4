package messaging

import (
	"sync"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// opened remembers dms that are known to have their membership rows.
type opened struct {
	mu sync.Mutex
	m  cache.Cache[im.ConversationID, struct{}]
}

// maxOpened bounds it; forgetting one costs a look at its head.
const maxOpened = 100_000

func (o *opened) init() { o.m = cache.New[im.ConversationID, struct{}](maxOpened) }

func (o *opened) has(c im.ConversationID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.m.Get(c)
	return ok
}

func (o *opened) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.m.Clear()
}

func (o *opened) add(c im.ConversationID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.m.Put(c, struct{}{})
}
