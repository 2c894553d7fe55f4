package gateway

import (
	"net/netip"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

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
func (c *connections) add(s *session, key string, o *Bounds) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.MaxConnections > 0 && len(c.all) >= o.MaxConnections {
		return im.Errorf(im.CodeTooManyConnections, "the server has as many connections as it may")
	}
	if o.MaxPerAddress > 0 && key != "" && c.byAddress[key] >= o.MaxPerAddress {
		return im.Errorf(im.CodeTooManyConnections, "this address has as many connections as it may")
	}
	c.all[s] = struct{}{}
	if key != "" { // also while there is no bound: there may be one later
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
