package gateway

import (
	"hash/maphash"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

const registryShards = 64

// users is who is connected here. A user's sessions are a linked list, so that
// the usual single one costs nothing more.
type users struct {
	peers  Peers
	seed   maphash.Seed
	shards [registryShards]userShard
}

type userShard struct {
	mu sync.Mutex
	m  map[im.UserID]*member
}

func newUsers(peers Peers) *users {
	r := &users{peers: peers, seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].m = map[im.UserID]*member{}
	}
	return r
}

func (r *users) shard(u im.UserID) *userShard {
	return &r.shards[maphash.String(r.seed, string(u))%registryShards]
}

// add registers a session under its user. limit 0 is none.
func (r *users) add(s *member, limit int) error {
	sh := r.shard(s.actor.User)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	n := 0
	for o := sh.m[s.actor.User]; o != nil; o = o.nextOfUser {
		n++
	}
	if limit > 0 && n >= limit {
		return im.Errorf(im.CodeTooManyConnections, "this user has %d connections already", n)
	}
	if n == 0 {
		r.peers.UserHere(s.actor.User)
	}
	s.nextOfUser = sh.m[s.actor.User]
	sh.m[s.actor.User] = s
	return nil
}

// remove takes a session out; last tells that the user has none left.
func (r *users) remove(s *member) (was, last bool) {
	sh := r.shard(s.actor.User)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	head := sh.m[s.actor.User]
	for p := &head; *p != nil; p = &(*p).nextOfUser {
		if *p == s {
			*p, was = s.nextOfUser, true
			break
		}
	}
	if head == nil {
		delete(sh.m, s.actor.User)
		if was {
			r.peers.UserGone(s.actor.User)
		}
		return was, true
	}
	sh.m[s.actor.User] = head
	return was, false
}

// each calls f for every session of u, under the shard's lock.
func (r *users) each(u im.UserID, f func(*member)) {
	sh := r.shard(u)
	sh.mu.Lock()
	for s := sh.m[u]; s != nil; s = s.nextOfUser {
		f(s)
	}
	sh.mu.Unlock()
}

// of returns the sessions of u at this moment.
func (r *users) of(u im.UserID) (all []*member) {
	r.each(u, func(s *member) { all = append(all, s) })
	return all
}

func (r *users) online(u im.UserID) bool {
	sh := r.shard(u)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.m[u] != nil
}

// list is everybody who is here at this moment.
func (r *users) list() (all []im.UserID) {
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

func (r *users) count() (n int) {
	for i := range r.shards {
		r.shards[i].mu.Lock()
		n += len(r.shards[i].m)
		r.shards[i].mu.Unlock()
	}
	return n
}
