package limits

import "net/netip"

// Network is what stands in one queue, and has one budget, together: an IPv4 /24, an IPv6
// /56. It takes an address, or a network in it, and returns what is neither as it is.
func Network(addr string) string {
	ip, err := netip.ParseAddr(addr)
	if err != nil {
		p, err := netip.ParsePrefix(addr)
		if err != nil {
			return addr
		}
		ip = p.Addr()
	}
	ip = ip.Unmap().WithZone("")
	bits := 56
	if ip.Is4() {
		bits = 24
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return addr
	}
	return p.String()
}
