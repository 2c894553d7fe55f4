package contact

import (
	"context"
	"fmt"
	"sync"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// MayWatch returns those of others whose presence a user may see, in their order, each
// once: of whom neither blocked the other, as far as their policy says so.
func (s *Service) MayWatch(ctx context.Context, user im.UserID, others []im.UserID) ([]im.Watched, error) {
	if len(others) == 0 {
		return nil, nil
	}
	all, err := s.people.MayWatch(ctx, user, others)
	if err != nil {
		return nil, fmt.Errorf("may %s watch: %w", user, err)
	}
	is := make(map[im.UserID]im.Watched, len(all))
	for _, w := range all {
		is[w.User] = w
	}
	may := make([]im.Watched, 0, len(all))
	for _, o := range others {
		if w, ok := is[o]; ok {
			may = append(may, w)
			delete(is, o)
		}
	}
	return may, nil
}

// Seen keeps when users were there last. What fails is lost: it was the time of before.
func (s *Service) Seen(ctx context.Context, seen []im.Watched) error {
	return s.people.NoteSeen(ctx, seen)
}

// PrivacyChanged has what follows from a user's policies looked up anew, here and by
// other processes: who sees their presence, who how far they have read, who may write.
func (s *Service) PrivacyChanged(ctx context.Context, user im.UserID) {
	s.o.Control(im.Control{Unwatch: user})
	s.InvalidateUser(ctx, user)
}

// ReadsHidden returns those of peers between whom and a user neither sees how far the
// other has read. It is asked for every read mark and every Sync: the answer comes from
// RAM when it was asked before, with others on the store for OpenFor.
func (s *Service) ReadsHidden(ctx context.Context, user im.UserID, peers []im.UserID) (hidden []im.UserID, err error) {
	now := s.now()
	unknown, epoch := s.reads.get(user, peers, now, &hidden)
	if len(unknown) == 0 {
		return hidden, nil
	}
	found, err := s.people.ReadsHidden(ctx, user, unknown)
	if err != nil {
		return nil, fmt.Errorf("reads of %s: %w", user, err)
	}
	s.reads.put(user, unknown, found, now+int64(s.o.OpenFor), epoch)
	return append(hidden, found...), nil
}

// reads remembers between whom read marks are hidden.
type reads struct{ *readCache }

type readCache struct {
	mu    sync.Mutex
	known cache.Cache[readPair, readAnswer]
	// epoch counts what was forgotten: an answer that was read before is not kept.
	epoch uint64
}

// readPair is a pair in the order of its ids.
type readPair struct{ a, b im.UserID }

type readAnswer struct {
	hidden bool
	until  int64 // by Service.now, which stands still where nobody else has the store
}

func pairOf(a, b im.UserID) readPair {
	if b < a {
		a, b = b, a
	}
	return readPair{a, b}
}

func newReads(pairs int) reads {
	return reads{&readCache{known: cache.New[readPair, readAnswer](pairs)}}
}

func (r reads) get(user im.UserID, peers []im.UserID, now int64, hidden *[]im.UserID) (unknown []im.UserID, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range peers {
		switch a, ok := r.known.Get(pairOf(user, p)); {
		case !ok || a.until <= now:
			unknown = append(unknown, p)
		case a.hidden:
			*hidden = append(*hidden, p)
		}
	}
	return unknown, r.epoch
}

func (r reads) put(user im.UserID, peers, hidden []im.UserID, until int64, epoch uint64) {
	is := make(map[im.UserID]bool, len(hidden))
	for _, h := range hidden {
		is[h] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch != epoch {
		return
	}
	for _, p := range peers {
		r.known.Put(pairOf(user, p), readAnswer{is[p], until})
	}
}

func (r reads) forget(which func(readPair) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.known.DeleteFunc(func(p readPair, _ readAnswer) bool { return which(p) })
}

func (r reads) forgetPair(p readPair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.known.Delete(p)
}
