package gateway

import (
	"hash/maphash"
	"sync"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// toldShards bounds how many dms and feeds wait for each other.
const toldShards = 64

// told remembers how far the users here were told of each dm and feed, for the
// beacons: of a dm's two users each by itself, because over a bus what goes to
// one may be lost where the other's arrives. All connections of a user are told
// the same, and one that comes later begins with a Sync. It is bounded, the
// longest untouched are forgotten. Forgetting one costs a needless Heads.
type told struct {
	seed   maphash.Seed
	shards [toldShards]toldShard
}

// toldShard is locked while what it notes is queued, so that what is told of a
// conversation is queued in the order in which it is noted.
type toldShard struct {
	mu   sync.Mutex
	last cache.Cache[im.ConversationID, seqs]
}

// seqs are the last seqs told, of a dm to its first and its second user, of a
// feed to its only one.
type seqs [2]uint64

func newTold(limit int) *told {
	t := &told{seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].last = cache.New[im.ConversationID, seqs](limit / toldShards)
	}
	return t
}

// locked returns the part that c belongs to. The caller unlocks it.
func (t *told) locked(c im.ConversationID) *toldShard {
	sh := &t.shards[maphash.String(t.seed, string(c))%toldShards]
	sh.mu.Lock()
	return sh
}

// of is the one of the user u; nil if the conversation is none of u's.
func (s *seqs) of(c im.ConversationID, u im.UserID) *uint64 {
	if a, b, dm := c.DMMembers(); dm {
		switch u {
		case a:
			return &s[0]
		case b:
			return &s[1]
		}
	} else if me, ok := c.MeUser(); ok && me == u {
		return &s[0]
	}
	return nil
}

// old is how many of the first of es u was told before. Caller holds mu.
func (sh *toldShard) old(c im.ConversationID, u im.UserID, es []im.Entry) (n int) {
	all, _ := sh.last.Peek(c)
	if last := all.of(c, u); last != nil {
		for n < len(es) && es[n].Seq <= *last {
			n++
		}
	}
	return n
}

// advance moves forward how far u was told of c and tells whether it did.
// Caller holds mu.
func (sh *toldShard) advance(c im.ConversationID, u im.UserID, seq uint64) bool {
	all, _ := sh.last.Peek(c)
	last := all.of(c, u)
	if last == nil {
		return true
	}
	if seq <= *last {
		return false
	}
	*last = seq
	sh.last.Put(c, all)
	return true
}
