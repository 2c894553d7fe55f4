package limits

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"
)

// peer is a connection from an address.
type peer struct {
	net.Conn
	addr   string
	closed bool
}

func (p *peer) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(p.addr)) }
func (p *peer) Close() error         { p.closed = true; return nil }

// come has a connection from an address come, and tells whether it is taken.
func (s *Sockets) come(addr string) (*peer, bool) {
	p := &peer{addr: addr + ":1000"}
	out, ok := s.admit(p)
	if out != nil {
		_ = out.Close()
	}
	return p, ok
}

// Of an address there are so many; one more takes the place of the one that had nothing
// under way for longest, and is refused where all have something.
func TestSocketsOfAnAddress(t *testing.T) {
	s := NewSockets(SocketBounds{All: 100, PerAddress: 3}, nil)
	var all []*peer
	for range 3 {
		p, ok := s.come("198.51.100.1")
		if !ok {
			t.Fatal("refused")
		}
		all = append(all, p)
	}
	s.State(all[0], http.StateActive)
	fourth, ok := s.come("198.51.100.1")
	if !ok || all[0].closed || !all[1].closed || all[2].closed {
		t.Errorf("the fourth: %v; closed are %v, %v, %v", ok, all[0].closed, all[1].closed, all[2].closed)
	}
	s.State(all[2], http.StateActive)
	s.State(fourth, http.StateActive)
	if p, ok := s.come("198.51.100.1"); ok || !p.closed {
		t.Error("a fourth with a request under way")
	}
	if _, ok := s.come("198.51.100.2"); !ok {
		t.Error("another address is refused")
	}
	s.State(all[2], http.StateHijacked)
	if _, ok := s.come("198.51.100.1"); !ok {
		t.Error("refused when one has become a socket of the protocol")
	}
	s.State(fourth, http.StateIdle)
	if p, ok := s.come("198.51.100.1"); !ok || p.closed {
		t.Error("refused when one is idle")
	}
}

// However many one address opens, and however many there are of those, others get in.
func TestSocketsInAll(t *testing.T) {
	s := NewSockets(SocketBounds{All: 100, PerAddress: 1000}, nil)
	for i := range 500 {
		s.come(fmt.Sprintf("203.0.113.%d", i%10))
	}
	if n := s.Count(); n != 100 {
		t.Errorf("%d are taken", n)
	}
	for i := range 50 {
		p, ok := s.come(fmt.Sprintf("198.51.%d.1", i))
		if !ok || p.closed {
			t.Fatalf("the %dth of others is refused", i)
		}
	}
	if n := s.Count(); n != 100 {
		t.Errorf("%d are taken", n)
	}
	for c := range s.all {
		s.State(c, http.StateClosed)
	}
	if len(s.all) != 0 || len(s.of) != 0 {
		t.Errorf("%d connections and %d addresses are remembered", len(s.all), len(s.of))
	}
}

// Loopback and proxies are everybody: they have no bound of their own.
func TestSocketsOfProxies(t *testing.T) {
	s := NewSockets(SocketBounds{All: 1000, PerAddress: 2}, func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.1") })
	for addr, want := range map[string]int{"127.0.0.1": 10, "192.0.2.1": 10, "192.0.2.2": 2, "[2001:db8::1]": 2} {
		for range 10 {
			s.come(addr)
		}
		n := 0
		for c := range s.all {
			if c.(*peer).addr == addr+":1000" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s has %d, want %d", addr, n, want)
		}
	}
	s.SetBounds(SocketBounds{})
	for range 10 {
		if _, ok := s.come("192.0.2.2"); !ok {
			t.Error("refused without bounds")
		}
	}
}
