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

// A device that sends over both doors has one rate, not two.
func TestADeviceHasOneRateAtBothDoors(t *testing.T) {
	dir := t.TempDir()
	cfg := settings(dir)
	cfg.Gateway.SendRate, cfg.Gateway.SendBurst = 0.001, 3 // none comes back while the test runs
	cfg.Accounts.DMPolicy = "everyone"
	p := runWith(t, cfg, Options{}, map[string]string{})
	defer p.stop()
	p.mint(dir, "ann", "bob", "bot")
	const method, dm = "skein.v1.MessageService/SendMessage", "dm:ann:bob"
	m := &wire.SendMessageRequest{Conversation: dm, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "x"}}}
	over := func(user string) error {
		return skein.Post(t.Context(), p.url, method, p.token[user], m, &wire.SendMessageResponse{})
	}
	p.as("ann", skein.NewMemoryStore(), func(c *skein.Client) {
		_, err := c.Conversation(dm).Send(t.Context(), "one")
		ok(t, err)
		ok(t, c.Call(t.Context(), method, m, &wire.SendMessageResponse{}))
		ok(t, over("ann"))
		var told *skein.Error
		if err := over("ann"); !errors.As(err, &told) || !errors.Is(err, skein.ErrRateLimited) || told.RetryAfter <= 0 {
			t.Errorf("the fourth over HTTP: %v", err)
		}
		if err := c.Call(t.Context(), method, m, &wire.SendMessageResponse{}); !errors.Is(err, skein.ErrRateLimited) {
			t.Errorf("the fifth over the connection: %v", err)
		}
		ok(t, over("bob")) // who has no device yet
	})
}
