package config

import "testing"

func TestCheckOrigin(t *testing.T) {
	for _, p := range []string{"*", "shop.example", "shop.example:8443", "*.shop.example", "https://shop.example", "http://localhost:3000", "[::1]:8080"} {
		if err := checkOrigin(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	for _, p := range []string{"", " shop.example", "https://", "https://shop.example/", "shop.example/chat", "ws://shop.example", "https://me@shop.example"} {
		if checkOrigin(p) == nil {
			t.Errorf("%q is taken", p)
		}
	}
}
