package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// checkAddresses looks at where the server listens, and where people reach it.
func (c *Config) checkAddresses(bad func(key, format string, args ...any)) {
	for _, l := range c.Listeners {
		u, err := url.Parse(l)
		switch {
		case err != nil || u.Scheme == "" || (u.Host == "" && u.Path == ""):
			bad("listeners", "%q is not a URL like tcp://127.0.0.1:7000", l)
		case slices.Contains([]string{"tcp", "tls", "ws", "wss"}, u.Scheme) && u.Port() == "":
			bad("listeners", "%q has no port: write it like %s://127.0.0.1:7000", l, u.Scheme)
		}
	}
	checkListen(bad, "http.listen", c.HTTP.Listen)
	if c.Admin.Listen != "" {
		checkListen(bad, "admin.listen", c.Admin.Listen)
	}
	if c.HTTP.PublicURL != "" {
		checkPublicURL(bad, c.HTTP.PublicURL)
	}
}

// checkListen refuses what is no address to listen at, and says what was probably meant.
func checkListen(bad func(key, format string, args ...any), key, at string) {
	_, port, err := net.SplitHostPort(at)
	if err == nil {
		if _, err := net.LookupPort("tcp", port); err != nil {
			bad(key, "%q: there is no port %s: want a number up to 65535", at, port)
		}
		return
	}
	bare := strings.Trim(at, "[]")
	_, notAddress := netip.ParseAddr(bare)
	switch {
	case at == "":
		bad(key, "must be an address like 127.0.0.1:8080, or :8080 for every address of this machine")
	case strings.Trim(at, "0123456789") == "":
		bad(key, `%q is a port alone: ":%s" was probably meant, every address of this machine, or "127.0.0.1:%s", which only this machine reaches`, at, at, at)
	case strings.Contains(at, "://"):
		bad(key, "%q is a URL: write the address and the port alone, like 127.0.0.1:8080", at)
	case notAddress == nil:
		bad(key, "%q has no port: write it like %s", at, net.JoinHostPort(bare, "8080"))
	case !strings.Contains(at, ":"):
		bad(key, "%q has no port: write it like %s:8080", at, at)
	default:
		bad(key, "%q is no address like 127.0.0.1:8080 or [::1]:8080", at)
	}
}

// checkPublicURL refuses an address at which nobody would find the server: links are made
// of it, and everything is at the root of its host.
func checkPublicURL(bad func(key, format string, args ...any), raw string) {
	const key = "http.public_url"
	u, err := url.Parse(raw)
	switch {
	case !strings.Contains(raw, "://"):
		bad(key, "%q does not say how people reach it: write it with https:// (or http://), like https://chat.example.org", raw)
	case err != nil:
		bad(key, "%q is no address like https://chat.example.org", withoutPassword(raw))
	case !strings.HasPrefix(raw, "https://") && !strings.HasPrefix(raw, "http://"):
		bad(key, "%q must begin with https:// or http://: browsers open it", u.Redacted())
	case u.Hostname() == "":
		bad(key, "%q names no host: write it like https://chat.example.org", raw)
	case u.User != nil:
		bad(key, "must not have a user or a password: everybody is told it")
	case u.Path != "" && u.Path != "/":
		bad(key, "%q has a path, %q, and the server answers at the root of a host alone: give it a name or a port of its own", raw, u.Path)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(raw, "#"):
		bad(key, "%q has something behind the host, and links are made by adding to it: end it with the host or the port", raw)
	}
}
