package limits

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// SocketBounds bounds connections of plain HTTP: all, and those from one address (an IPv6
// /64). 0: no bound.
type SocketBounds struct {
	All, PerAddress int
}

// Sockets bounds the connections of an HTTP server that are no sockets of the chat
// protocol: those that wait for a request, or have one under way. When there are as many as
// may be, the address with the most of them gives one up that has nothing under way; who
// has as many itself is refused. So whoever opens thousands keeps nobody out. It is safe
// for concurrent use.
type Sockets struct {
	exempt func(netip.Addr) bool

	mu     sync.Mutex
	bounds SocketBounds
	all    map[net.Conn]*socket
	of     map[string]*owner
}

// owner is an address with its connections. Those without a request under way are in waits,
// the one that has been for longest first.
type owner struct {
	n     int
	waits list.List // of *socket
}

type socket struct {
	conn net.Conn
	addr string
	wait *list.Element // nil while a request is under way
}

// NewSockets makes the bounds. Addresses that exempt tells (nil: none), and loopback, have
// no bound of their own: a proxy is everybody.
func NewSockets(b SocketBounds, exempt func(netip.Addr) bool) *Sockets {
	if exempt == nil {
		exempt = func(netip.Addr) bool { return false }
	}
	return &Sockets{exempt: exempt, bounds: b, all: map[net.Conn]*socket{}, of: map[string]*owner{}}
}

// SetBounds changes the bounds for those who come from now on.
func (s *Sockets) SetBounds(b SocketBounds) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bounds = b
}

// Count is how many there are.
func (s *Sockets) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// Listener closes what l accepts beyond the bounds. What it accepts has to be told to State.
func (s *Sockets) Listener(l net.Listener) net.Listener { return &boundedListener{l, s} }

type boundedListener struct {
	net.Listener
	s *Sockets
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		out, ok := l.s.admit(c)
		if out != nil {
			_ = out.Close()
		}
		if ok {
			return c, nil
		}
	}
}

// admit takes a connection, or not; out is the one that has to be closed for it.
func (s *Sockets) admit(c net.Conn) (out net.Conn, ok bool) {
	addr, bounded := s.keyOf(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.of[addr]
	if own == nil {
		own = new(owner)
	}
	switch {
	case bounded && s.bounds.PerAddress > 0 && own.n >= s.bounds.PerAddress:
		out = s.giveUp(own)
		if out == nil {
			return c, false
		}
	case s.bounds.All > 0 && len(s.all) >= s.bounds.All:
		if most := s.most(); most != nil && most.n > own.n {
			out = s.giveUp(most)
		}
		if out == nil {
			return c, false
		}
	}
	if s.of[addr] == nil { // also when its last one was just given up
		s.of[addr] = own
	}
	x := &socket{conn: c, addr: addr}
	x.wait = own.waits.PushBack(x)
	own.n++
	s.all[c] = x
	return out, true
}

// keyOf is what a connection counts under, and whether that has a bound of its own.
func (s *Sockets) keyOf(c net.Conn) (string, bool) {
	ap, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return c.RemoteAddr().String(), false
	}
	addr := ap.Addr().Unmap().WithZone("")
	if addr.IsLoopback() || s.exempt(addr) {
		return addr.String(), false
	}
	if p, err := addr.Prefix(64); err == nil && addr.Is6() {
		return p.String(), true
	}
	return addr.String(), true
}

// most is the address with the most connections of which one can be given up. Caller holds
// mu.
func (s *Sockets) most() (most *owner) {
	for _, o := range s.of {
		if o.waits.Len() > 0 && (most == nil || o.n > most.n) {
			most = o
		}
	}
	return most
}

// giveUp forgets the connection of an address that has had nothing under way for longest.
// Caller holds mu.
func (s *Sockets) giveUp(o *owner) net.Conn {
	e := o.waits.Front()
	if e == nil {
		return nil
	}
	c := e.Value.(*socket).conn
	s.forget(c)
	return c
}

func (s *Sockets) forget(c net.Conn) {
	x := s.all[c]
	if x == nil {
		return
	}
	delete(s.all, c)
	o := s.of[x.addr]
	if x.wait != nil {
		o.waits.Remove(x.wait)
	}
	if o.n--; o.n == 0 {
		delete(s.of, x.addr)
	}
}

// State is the server's ConnState.
func (s *Sockets) State(c net.Conn, state http.ConnState) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = t.NetConn()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[c]
	if x == nil {
		return
	}
	switch state {
	case http.StateActive:
		if x.wait != nil {
			s.of[x.addr].waits.Remove(x.wait)
			x.wait = nil
		}
	case http.StateIdle:
		if x.wait == nil {
			x.wait = s.of[x.addr].waits.PushBack(x)
		}
	case http.StateHijacked, http.StateClosed:
		s.forget(c)
	}
}
