// Bot answers every message it gets.
package main

import (
	"context"
	"log"
	"os"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/sdk/go/sqlitestore"
	"github.com/skein-im/skein/wire"
)

func main() {
	ctx := context.Background()
	store, err := sqlitestore.Open("bot.db") // unsent messages and unhandled events survive a crash
	if err != nil {
		log.Fatal(err)
	}
	c, err := skein.Dial(ctx, os.Getenv("SKEIN_URL"), skein.WithToken(os.Getenv("SKEIN_TOKEN")), skein.WithStore(store))
	if err != nil {
		log.Fatal(err)
	}
	open := &wire.UpdateProfileRequest{DmPolicy: wire.DmPolicy_DM_POLICY_EVERYONE} // also who is no contact may write
	if _, err := c.Users().Update(ctx, open); err != nil {
		log.Fatal(err)
	}
	for e := range c.Events(ctx) {
		if m, ok := e.(*skein.MessageEvent); ok && !m.Message.Own {
			if _, err := c.Conversation(m.Message.Conversation).SendAsync(ctx, "You said: "+m.Message.Text); err != nil {
				log.Fatal(err)
			}
		}
	}
}
