package soak

import (
	"slices"
	"testing"
)

// Both members of a dm are at one gateway, however many there are, and each gateway is
// somebody's.
func TestNeighboursBeginAtOneGateway(t *testing.T) {
	for _, urls := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}} {
		used := map[string]int{}
		for n := 0; n < 12; n += 2 {
			one, other := beginning(urls, n), beginning(urls, n+1)
			if one[0] != other[0] {
				t.Errorf("%d gateways: devices %d and %d begin at %s and %s", len(urls), n, n+1, one[0], other[0])
			}
			if slices.Sort(one); !slices.Equal(one, urls) {
				t.Errorf("%d gateways: device %d goes round %q", len(urls), n, one)
			}
			used[other[0]]++
		}
		if len(used) != len(urls) {
			t.Errorf("%d of %d gateways are used: %v", len(used), len(urls), used)
		}
	}
}
