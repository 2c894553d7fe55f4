package postgres

import (
	"sync"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/gencache"
)

// cachedHeads is how many heads are remembered, per generation of the cache.
const cachedHeads = 1 << 16

// known remembers heads as this process last saw them. Other processes append
// too, so a head here is a lower bound.
type known struct {
	mu    sync.Mutex
	heads gencache.Cache[im.ConversationID, im.Head]
}

func (k *known) init() { k.heads = gencache.New[im.ConversationID, im.Head](cachedHeads) }

func (k *known) get(c im.ConversationID) (im.Head, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.heads.Get(c)
}

// seen notes heads; answers may come in another order than they were made.
func (k *known) seen(cs []im.ConversationID, heads []im.Head) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, c := range cs {
		if old, ok := k.heads.Get(c); heads[i].Seq > 0 && (!ok || old.Seq < heads[i].Seq) {
			k.heads.Put(c, heads[i])
		}
	}
}

// unknown appends those of cs, which are sorted, that were never seen.
func (k *known) unknown(cs []im.ConversationID, to []im.ConversationID) []im.ConversationID {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range cs {
		if _, ok := k.heads.Get(c); !ok {
			to = append(to, c)
		}
	}
	return to
}

func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.heads.Clear()
}

// Known returns the head of c as of some append or read of this process, without
// asking the database: c may have gone on since.
func (j *Journal) Known(c im.ConversationID) (im.Head, bool) { return j.known.get(c) }
