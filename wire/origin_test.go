package wire

import "testing"

func TestOriginMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, origin string
		want            bool
	}{
		{"chat.example", "https://chat.example", true},
		{"chat.example", "https://CHAT.example:8443", true},
		{"chat.example", "https://chat.example.evil.example", false},
		{"chat.example", "https://evil.example/chat.example", false},
		{"chat.example:8443", "https://chat.example:8443", true},
		{"chat.example:8443", "https://chat.example", false},
		{"*.example", "https://chat.example", true},
		{"*.example", "https://example", false},
		{"https://chat.example", "https://chat.example", true},
		{"https://Chat.example", "https://chat.EXAMPLE", true},
		{"https://chat.example", "http://chat.example", false},
		{"https://chat.example", "https://chat.example:8443", false},
		{"https://*.chat.example", "https://a.chat.example", true},
		{"https://*.chat.example", "https://a.chat.example.evil", false},
		{"*", "https://chat.example", true},
		{"*", "null", false},
		{"*", "", false},
		{"[", "https://chat.example", false},
		{"[::1]", "http://[::1]", true},
		{"[::1]:8080", "http://[::1]:8080", true},
	} {
		if got := OriginMatches(c.origin, []string{c.pattern}); got != c.want {
			t.Errorf("%q for %q: %v", c.origin, c.pattern, got)
		}
	}
}
