// Bot answers every message it gets, of whoever asks to be its contact.
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
	log.Print("connected as ", c.User())
	for e := range c.Events(ctx) {
		switch e := e.(type) {
		case *skein.ContactEvent: // who asks to be a contact becomes one: then each may write to the other
			if !e.Message.Own && e.Event.Type == wire.EventType_EVENT_TYPE_CONTACT_REQUESTED {
				_, err = c.Contacts().Accept(ctx, e.User)
			}
		case *skein.MessageEvent:
			if !e.Message.Own {
				_, err = c.Conversation(e.Message.Conversation).SendAsync(ctx, "You said: "+e.Message.Text)
			}
		}
		if err != nil {
			log.Print(err)
		}
	}
}
