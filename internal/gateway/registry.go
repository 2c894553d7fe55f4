package gateway

import (
	"hash/maphash"
	"net/netip"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

const registryShards = 64

// users is who is connected here. A user's sessions are a linked list, so that
// the usual single one costs nothing more.
type users struct {
	g      *Gateway
	seed   maphash.Seed
	shards [registryShards]userShard
}

type userShard struct {
	mu sync.Mutex
	m  map[im.UserID]*session
}

func newUsers(g *Gateway) *users {
	r := &users{g: g, seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].m = map[im.UserID]*session{}
	}
	return r
}

func (r *users) shard(u im.UserID) *userShard {
	return &r.shards[maphash.String(r.seed, string(u))%registryShards]
}

// add registers a session under its user. limit 0 is none.
func (r *users) add(s *session, limit int) error {
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
		r.g.o.Peers.UserHere(s.actor.User)
	}
	s.nextOfUser = sh.m[s.actor.User]
	sh.m[s.actor.User] = s
	return nil
}

// remove takes a session out; last tells that the user has none left.
func (r *users) remove(s *session) (was, last bool) {
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
			r.g.o.Peers.UserGone(s.actor.User)
		}
		return was, true
	}
	sh.m[s.actor.User] = head
	return was, false
}

// each calls f for every session of u, under the shard's lock.
func (r *users) each(u im.UserID, f func(*session)) {
	sh := r.shard(u)
	sh.mu.Lock()
	for s := sh.m[u]; s != nil; s = s.nextOfUser {
		f(s)
	}
	sh.mu.Unlock()
}

// of returns the sessions of u at this moment.
func (r *users) of(u im.UserID) (all []*session) {
	r.each(u, func(s *session) { all = append(all, s) })
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

// connections is every connection from its first byte on, and how many each
// address has.
type connections struct {
	mu        sync.Mutex
	all       map[*session]struct{}
	byAddress map[string]int
	// empty is closed when a drain waits for the last connection to go.
	empty chan struct{}
}

func newConnections() *connections {
	return &connections{all: map[*session]struct{}{}, byAddress: map[string]int{}}
}

// addressKey counts an IPv6 /64 as one address: a peer has all of it. Loopback
// has no key and no limit: a proxy on this machine is everybody.
func addressKey(addr string) string {
	a, err := netip.ParseAddr(addr)
	switch {
	case err != nil:
		return addr
	case a.Unmap().IsLoopback():
		return ""
	case a.Unmap().Is4():
		return addr
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return addr
	}
	return p.String()
}

// add registers a connection. key is of its address, "" if that has no limit.
func (c *connections) add(s *session, key string, o *Options) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.MaxConnections > 0 && len(c.all) >= o.MaxConnections {
		return im.Errorf(im.CodeTooManyConnections, "the server has as many connections as it may")
	}
	limited := o.MaxPerAddress > 0 && key != ""
	if limited && c.byAddress[key] >= o.MaxPerAddress {
		return im.Errorf(im.CodeTooManyConnections, "this address has as many connections as it may")
	}
	c.all[s] = struct{}{}
	if limited {
		c.byAddress[key]++
	}
	return nil
}

func (c *connections) remove(s *session, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, s)
	if n := c.byAddress[key]; n > 1 {
		c.byAddress[key] = n - 1
	} else {
		delete(c.byAddress, key)
	}
	if len(c.all) == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

func (c *connections) list() []*session {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*session, 0, len(c.all))
	for s := range c.all {
		out = append(out, s)
	}
	return out
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

// gone returns a channel that is closed once no connection is left.
func (c *connections) gone() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	if c.empty == nil {
		c.empty = make(chan struct{})
	}
	return c.empty
}
