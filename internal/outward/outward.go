// Package outward decides to which addresses the server connects because somebody who uses
// it wants that: link previews (internal/preview) and push services (internal/push). What
// users write decides where the server connects to, so nothing inside the operator's network
// may be reached.
//
// An address is judged when it is connected to, after its name was looked up (Judge.Control
// in a net.Dialer): a name can mean nothing else between the two, and each redirect is
// judged as well. Who uses it must take no proxy of the environment, which would connect in
// its place and judge nothing.
//
// It must not know what is fetched or sent. It has no goroutine and no lock.
package outward

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// special are networks within those that are public which are not to be connected to.
var special = prefixes(
	"0.0.0.0/8",         // this network
	"100.64.0.0/10",     // carriers' NAT; a cloud's metadata
	"192.0.0.0/24",      // protocol assignments
	"192.0.2.0/24",      // documentation, and the next two
	"198.51.100.0/24",   //
	"203.0.113.0/24",    //
	"192.88.99.0/24",    // 6to4 relays
	"198.18.0.0/15",     // benchmarks
	"240.0.0.0/4",       // reserved, and broadcast
	"168.63.129.16/32",  // a cloud's metadata
	"2001::/23",         // Teredo, ORCHID and other assignments: some hold an IPv4 address
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4: holds an IPv4 address
	"3fff::/20",         // documentation
	"2620:4f:8000::/48", // AS112
	"2001:4:112::/48",   // AS112
)

// global is where public IPv6 addresses are: no mapped, translated (NAT64), unique local
// or site-local ones.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(all ...string) (out []netip.Prefix) {
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// Judge decides by addresses. It is not changed once it is used.
type Judge struct {
	// Allow are networks that may be connected to although they are private, on all ports;
	// Deny those that may not although they are public, before Allow.
	Allow, Deny []netip.Prefix
	// Ports are those of public addresses that may be connected to.
	Ports []uint16
	// Denied is the setting that Deny comes from, for errors.
	Denied string
	// Own are the addresses of this machine. nil: net.InterfaceAddrs.
	Own func() ([]net.Addr, error)
}

func in(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// May tells whether may be connected to an address; an error says why not.
func (j *Judge) May(at netip.AddrPort) error {
	a := at.Addr().Unmap()
	switch {
	case a.Zone() != "":
		return fmt.Errorf("%s is of a link", a)
	case in(j.Deny, a):
		return fmt.Errorf("%s is denied by %s", a, j.Denied)
	case in(j.Allow, a):
		return nil
	case !slices.Contains(j.Ports, at.Port()):
		return fmt.Errorf("port %d is not to be connected to", at.Port())
	case !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || in(special, a) || a.Is6() && !global.Contains(a):
		return fmt.Errorf("%s is not public", a)
	}
	own, err := j.own()
	if err != nil {
		return err
	}
	for _, o := range own {
		if p, err := netip.ParsePrefix(o.String()); err == nil && p.Addr().Unmap() == a {
			return fmt.Errorf("%s is this machine's", a)
		}
	}
	return nil
}

func (j *Judge) own() ([]net.Addr, error) {
	if j.Own != nil {
		return j.Own()
	}
	return net.InterfaceAddrs()
}

// Control is a dialer's: it is asked with the address that is about to be connected to.
func (j *Judge) Control(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%s %s is not to be connected to", network, address)
	}
	return j.May(at)
}
