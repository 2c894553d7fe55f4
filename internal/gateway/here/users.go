package here

import (
	"hash/maphash"
	"sync"

	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
)

const registryShards = 64

// Users is who is connected here. A user's sessions are a linked list, so that
// the usual single one costs nothing more.
type Users struct {
	peers  Peers
	seed   maphash.Seed
	shards [registryShards]userShard
}

type userShard struct {
	arriving sync.Mutex // taken before mu
	mu       sync.Mutex
	m        map[im.UserID]*Member
}

// NewUsers makes an empty registry, of which others are told.
func NewUsers(peers Peers) *Users {
	r := &Users{peers: peers, seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].m = map[im.UserID]*Member{}
	}
	return r
}

func (r *Users) shard(u im.UserID) *userShard {
	return &r.shards[maphash.String(r.seed, string(u))%registryShards]
}

// Arriving keeps other arrivals of u out until the function that it returns is called.
// Add and Remove do not wait for it.
func (r *Users) Arriving(u im.UserID) (done func()) {
	sh := r.shard(u)
	sh.arriving.Lock()
	return sh.arriving.Unlock
}

// Add registers a session under its user. limit 0 is none; those that are ending do
// not count.
func (r *Users) Add(s *Member, limit int) error {
	sh := r.shard(s.Actor.User)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	n, first := 0, sh.m[s.Actor.User] == nil
	for o := sh.m[s.Actor.User]; o != nil; o = o.nextOfUser {
		if !o.Is(outgoing.Ending) {
			n++
		}
	}
	if limit > 0 && n >= limit {
		return im.Errorf(im.CodeTooManyConnections, "this user has %d connections already", n)
	}
	if first {
		r.peers.UserHere(s.Actor.User)
	}
	s.nextOfUser = sh.m[s.Actor.User]
	sh.m[s.Actor.User] = s
	return nil
}

// Remove takes a session out; last tells that the user has none left.
func (r *Users) Remove(s *Member) (was, last bool) {
	sh := r.shard(s.Actor.User)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	head := sh.m[s.Actor.User]
	for p := &head; *p != nil; p = &(*p).nextOfUser {
		if *p == s {
			*p, was = s.nextOfUser, true
			break
		}
	}
	if head == nil {
		delete(sh.m, s.Actor.User)
		if was {
			r.peers.UserGone(s.Actor.User)
		}
		return was, true
	}
	sh.m[s.Actor.User] = head
	return was, false
}

// Each calls f for every session of u, under the shard's lock.
func (r *Users) Each(u im.UserID, f func(*Member)) {
	sh := r.shard(u)
	sh.mu.Lock()
	for s := sh.m[u]; s != nil; s = s.nextOfUser {
		f(s)
	}
	sh.mu.Unlock()
}

// Of returns the sessions of u at this moment.
func (r *Users) Of(u im.UserID) (all []*Member) {
	r.Each(u, func(s *Member) { all = append(all, s) })
	return all
}

// Online tells whether u has a session here.
func (r *Users) Online(u im.UserID) bool {
	sh := r.shard(u)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.m[u] != nil
}

// Present tells whether u has a session here that is not in the background.
func (r *Users) Present(u im.UserID) (is bool) {
	r.Each(u, func(s *Member) { is = is || !s.InBackground() })
	return is
}

// List is everybody who is here at this moment.
func (r *Users) List() (all []im.UserID) {
	for i := range r.shards {
		sh := &r.shards[i]
		sh.mu.Lock()
		for u := range sh.m {
			all = append(all, u)
		}
		sh.mu.Unlock()
	}
	return all
}

// Count is how many users are here.
func (r *Users) Count() (n int) {
	for i := range r.shards {
		r.shards[i].mu.Lock()
		n += len(r.shards[i].m)
		r.shards[i].mu.Unlock()
	}
	return n
}
