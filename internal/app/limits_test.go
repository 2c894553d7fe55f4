package app

import (
	"errors"
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// What an address used up over HTTP is not there again over a connection.
func TestTheDoorsShareTheirLimits(t *testing.T) {
	dir := t.TempDir()
	p := run(t, dir, Options{}, map[string]string{})
	defer p.stop()
	p.mint(dir, "ann")
	refresh := &wire.RefreshRequest{RefreshToken: "skr_nobodys"}
	const method = "skein.v1.AccountService/Refresh"
	var limited error
	for range 10_000 { // the bucket fills again meanwhile, one a second
		if limited = skein.Post(t.Context(), p.url, method, "", refresh, &wire.RefreshResponse{}); errors.Is(limited, skein.ErrRateLimited) {
			break
		}
	}
	if !errors.Is(limited, skein.ErrRateLimited) {
		t.Fatalf("over HTTP: %v", limited)
	}
	p.as("ann", skein.NewMemoryStore(), func(c *skein.Client) {
		passed := 0
		for range 5 {
			if err := c.Call(t.Context(), method, refresh, &wire.RefreshResponse{}); !errors.Is(err, skein.ErrRateLimited) {
				passed++
			}
		}
		if passed == 5 {
			t.Error("the connection has a bucket of its own")
		}
	})
}
