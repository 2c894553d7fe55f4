package postgres

import (
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

const (
	// cachedHeads is how many heads are remembered at most.
	cachedHeads = 1 << 17
	// knownFor is how long a head is told without asking. A process that stood still
	// for longer knows nothing: others went on meanwhile.
	knownFor = 3 * time.Second
)

// known remembers heads as this process last saw them. Other processes append
// too, so a head here is a lower bound.
type known struct {
	mu    sync.Mutex
	heads cache.Cache[im.ConversationID, knownHead]
}

type knownHead struct {
	im.Head
	at time.Time
}

func (k *known) init() { k.heads = cache.New[im.ConversationID, knownHead](cachedHeads) }

func (k *known) get(c im.ConversationID, now time.Time) (im.Head, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h, ok := k.heads.Get(c)
	if !ok || now.Sub(h.at) > knownFor {
		return im.Head{}, false
	}
	return h.Head, true
}

// seen notes heads; answers may come in another order than they were made.
func (k *known) seen(cs []im.ConversationID, heads []im.Head, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, c := range cs {
		if old, ok := k.heads.Get(c); heads[i].Seq > 0 && (!ok || old.Seq <= heads[i].Seq) {
			k.heads.Put(c, knownHead{heads[i], now})
		}
	}
}

// unknown appends where in cs those are that were never seen.
func (k *known) unknown(cs []im.ConversationID, to []int32) []int32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, c := range cs {
		if _, ok := k.heads.Get(c); !ok {
			to = append(to, int32(i))
		}
	}
	return to
}

func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.heads.Clear()
}

// Known returns the head of c as of an append or read of this process in the last
// moments, without asking the database: c may have gone on since.
func (j *Journal) Known(c im.ConversationID) (im.Head, bool) { return j.known.get(c, j.o.Now()) }
