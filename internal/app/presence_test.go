package app

import (
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// The story: bob, a contact, watched alice when she blocked him. He saw her come
// and go for as long as his connection lived.
func TestBlockedContactsStopWatching(t *testing.T) {
	dir := t.TempDir()
	p := run(t, dir, Options{}, map[string]string{})
	defer p.stop()
	p.mint(dir, "alice", "bob", "carol")
	for _, u := range []string{"alice", "carol"} {
		ok(t, skein.Post(t.Context(), p.url, "skein.v1.ContactService/RequestContact", p.token[u], &wire.RequestContactRequest{User: "bob"}, &wire.RequestContactResponse{}))
		ok(t, skein.Post(t.Context(), p.url, "skein.v1.ContactService/AcceptContact", p.token["bob"], &wire.AcceptContactRequest{User: u}, &wire.AcceptContactResponse{}))
	}
	p.as("bob", skein.NewMemoryStore(), func(bob *skein.Client) {
		ok(t, bob.WatchPresence(t.Context(), "alice", "carol"))
		offline := map[string]bool{}
		for e := range bob.Events(t.Context()) {
			if e, ok := e.(*skein.PresenceEvent); ok {
				offline[e.User] = !e.Online
			}
			if offline["alice"] && offline["carol"] { // the watch is in effect
				break
			}
		}
		ok(t, skein.Post(t.Context(), p.url, "skein.v1.ContactService/BlockUser", p.token["alice"], &wire.BlockUserRequest{User: "bob"}, &wire.BlockUserResponse{}))
		p.as("alice", skein.NewMemoryStore(), func(*skein.Client) {
			p.as("carol", skein.NewMemoryStore(), func(*skein.Client) { // after alice
				for e := range bob.Events(t.Context()) {
					if e, ok := e.(*skein.PresenceEvent); ok && e.Online {
						if e.User == "carol" {
							break
						}
						t.Errorf("bob sees %s come", e.User)
					}
				}
			})
		})
	})
}
