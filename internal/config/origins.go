package config

import (
	"errors"
	"strings"
)

func (h *HTTP) checkOrigins(bad func(key, format string, args ...any)) {
	for _, o := range h.Origins {
		if err := checkOrigin(o); err != nil {
			bad("http.origins", "%q %v", o, err)
		}
	}
}

// checkOrigin refuses a pattern that no origin can match: one with a path, as an
// address that was copied from a browser has, or with a scheme that pages do not have.
func checkOrigin(pattern string) error {
	scheme, host, whole := strings.Cut(pattern, "://")
	if !whole {
		scheme, host = "https", pattern
	}
	switch {
	case host == "" || strings.TrimSpace(pattern) != pattern:
		return errors.New("is no origin")
	case strings.ContainsAny(host, "/?#@ "):
		return errors.New("is more than an origin: want https://shop.example, shop.example or shop.example:8443")
	case scheme != "http" && scheme != "https":
		return errors.New("has a scheme that no page has: want http or https")
	}
	return nil
}
