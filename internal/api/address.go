package api

import (
	"net/http"
	"net/netip"
	"strings"
)

// BehindProxies sets the RemoteAddr of requests that come through trusted
// proxies to the client's address, for handlers beside this package's own.
func BehindProxies(trusted []netip.Prefix, next http.Handler) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if addr := address(r, trusted); addr.IsValid() && addr != parseAddr(r.RemoteAddr) {
			r = r.WithContext(r.Context()) // a shallow copy: the original is the server's
			r.RemoteAddr = netip.AddrPortFrom(addr, 0).String()
		}
		next.ServeHTTP(w, r)
	})
}

// address returns who is at the other end: the peer of the connection, or, as
// far as that is a trusted proxy, the one the proxy names in X-Forwarded-For.
// The header is read from its end; the first address that is no trusted proxy
// is believed, what stands before it is the client's own claim and is not.
func address(r *http.Request, trusted []netip.Prefix) netip.Addr {
	addr := parseAddr(r.RemoteAddr)
	if !contains(trusted, addr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := parseAddr(strings.TrimSpace(hops[i]))
		if !hop.IsValid() {
			break
		}
		addr = hop
		if !contains(trusted, hop) {
			break
		}
	}
	return addr
}

// parseAddr reads an address with or without a port; the zero Addr when it is none.
func parseAddr(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// addressKey is what an address is counted under: one customer has a whole /64
// of IPv6.
func addressKey(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
