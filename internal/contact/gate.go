package contact

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// MaySend decides whether a user may write to another in their direct chat
// (SPEC §5.7). It is asked for every direct message: the answer comes from RAM
// when it was asked before.
func (s *Service) MaySend(ctx context.Context, from, to im.UserID) error {
	if from == to || from == "" {
		return im.Errorf(im.CodeInvalidArgument, "a direct chat has two different users")
	}
	open, known, epoch := s.gates.get(from, to)
	if !known {
		everyone, side, found, err := s.store.Gate(ctx, from, to)
		if err != nil {
			return fmt.Errorf("may %s write to %s: %w", from, to, err)
		}
		if !found { // not remembered: the user may come to exist
			return im.Errorf(im.CodeNotFound, "no such user")
		}
		open = !side.Blocked && (everyone || side.State == Friend)
		s.gates.put(from, to, open, epoch)
	}
	if !open {
		return im.Errorf(im.CodeNotContact, "this user takes messages from contacts only")
	}
	return nil
}

// MayWatch returns those of others whose presence a user may watch, in their
// order: contacts who have not blocked them.
func (s *Service) MayWatch(ctx context.Context, user im.UserID, others []im.UserID) ([]im.UserID, error) {
	if len(others) == 0 {
		return nil, nil
	}
	friends, err := s.store.FriendsAmong(ctx, user, others)
	if err != nil {
		return nil, fmt.Errorf("may %s watch: %w", user, err)
	}
	is := make(map[im.UserID]bool, len(friends))
	for _, f := range friends {
		is[f] = true
	}
	may := make([]im.UserID, 0, len(friends))
	for _, o := range others {
		if is[o] {
			may = append(may, o)
			is[o] = false // once
		}
	}
	return may, nil
}

// InvalidateUser makes the next MaySend to a user look again: for whoever
// changed their policy.
func (s *Service) InvalidateUser(user im.UserID) { s.gates.forgetUser(user) }

// gates remembers who may write to whom. A shard keeps two generations: what
// is used moves to the young one, and when that is full the old one is dropped,
// so the memory is bounded and the pairs in use stay.
type gates struct {
	seed   maphash.Seed
	shards [32]gateShard
}

type gateShard struct {
	mu         sync.Mutex
	young, old map[gatePair]bool
	limit      int
	// epoch counts what was forgotten: an answer that was read before is not kept.
	epoch uint64
}

type gatePair struct{ to, from im.UserID }

func newGates(pairs int) *gates {
	g := &gates{seed: maphash.MakeSeed()}
	for i := range g.shards {
		g.shards[i].young = make(map[gatePair]bool)
		g.shards[i].limit = max(pairs/len(g.shards)/2, 1)
	}
	return g
}

func (g *gates) shard(to im.UserID) *gateShard {
	return &g.shards[maphash.String(g.seed, string(to))%uint64(len(g.shards))]
}

// get returns the remembered answer, or the epoch to give to put.
func (g *gates) get(from, to im.UserID) (open, known bool, epoch uint64) {
	s, k := g.shard(to), gatePair{to, from}
	s.mu.Lock()
	defer s.mu.Unlock()
	if open, known = s.young[k]; known {
		return open, true, s.epoch
	}
	if open, known = s.old[k]; known {
		s.insert(k, open)
	}
	return open, known, s.epoch
}

// put remembers an answer, unless something was forgotten since get.
func (g *gates) put(from, to im.UserID, open bool, epoch uint64) {
	s := g.shard(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch == epoch {
		s.insert(gatePair{to, from}, open)
	}
}

func (s *gateShard) insert(k gatePair, open bool) {
	if len(s.young) >= s.limit {
		s.old = s.young
		s.young = make(map[gatePair]bool, s.limit)
	}
	s.young[k] = open
}

// forget drops both directions of a pair.
func (g *gates) forget(a, b im.UserID) {
	for _, k := range [...]gatePair{{a, b}, {b, a}} {
		s := g.shard(k.to)
		s.mu.Lock()
		s.epoch++
		delete(s.young, k)
		delete(s.old, k)
		s.mu.Unlock()
	}
}

// forgetUser drops every pair that writes to a user.
func (g *gates) forgetUser(to im.UserID) {
	s := g.shard(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	for _, m := range [...]map[gatePair]bool{s.young, s.old} {
		for k := range m {
			if k.to == to {
				delete(m, k)
			}
		}
	}
}
