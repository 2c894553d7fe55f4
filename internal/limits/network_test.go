package limits

import "testing"

func TestNetwork(t *testing.T) {
	for addr, want := range map[string]string{
		"198.51.100.7": "198.51.100.0/24", "::ffff:198.51.100.9": "198.51.100.0/24", "2001:db8:0:12ff::1": "2001:db8:0:1200::/56",
		"2001:db8:0:12ff::/64": "2001:db8:0:1200::/56", "fe80::1%eth0": "fe80::/56", "pipe": "pipe", "": "",
	} {
		if got := Network(addr); got != want {
			t.Errorf("%q is in %q, want %q", addr, got, want)
		}
	}
}
