package wire

import (
	"net/url"
	"path"
	"strings"
)

// OriginMatches reports whether a web origin, as a browser sends it, is one of
// those that patterns name: a whole origin (https://shop.example), a host on any
// port and by either scheme (shop.example), or host:port. In each * stands for any
// characters but a slash, and "*" alone for every origin that has a host.
func OriginMatches(origin string, patterns []string) bool {
	u, err := url.Parse(strings.ToLower(origin))
	if err != nil || u.Host == "" {
		return false
	}
	for _, p := range patterns {
		p = strings.ToLower(p)
		subject := u.Hostname()
		switch {
		case p == "*":
			return true
		case strings.Contains(p, "://"):
			subject = u.Scheme + "://" + u.Host
		case hasPort(p):
			subject = u.Host
		case strings.HasSuffix(p, "]"):
			subject = "[" + subject + "]"
		}
		if ok, err := path.Match(p, subject); p == subject || err == nil && ok {
			return true
		}
	}
	return false
}

func hasPort(pattern string) bool {
	colon := strings.LastIndexByte(pattern, ':')
	return colon >= 0 && !strings.HasSuffix(pattern, "]")
}
