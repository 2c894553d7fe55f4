package outgoing

import (
	"fmt"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// TestAcksKeepTheirOrder: on a busy machine the delivery of a long pipeline took more
// than the time that an ack waits for it, and while it told the acks one by one a flush
// for somebody else gave up waiting for the rest: it told those before the one that the
// delivery had just taken.
func TestAcksKeepTheirOrder(t *testing.T) {
	const n = 40
	c := newAudience(t, 1).of[0]
	c.loses = true
	conv := im.ConversationID("dm:a:b")
	for round := range 300 {
		entries := make([]im.Entry, n)
		for i := range entries {
			entries[i] = im.Entry{Conversation: conv, ID: im.MessageID{byte(round), byte(round >> 8), byte(i)}, Seq: uint64(i + 1)}
			answer := c.Sending(&im.Actor{}, &im.Message{Conversation: conv, ID: entries[i].ID}, time.Now())
			answer(im.Ack{Seq: entries[i].Seq, Follows: true}, nil)
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			for i := range entries {
				c.Delivered(&entries[i])
			}
		}()
		time.Sleep(time.Duration(round%20) * time.Microsecond)
		c.giveUp(time.Now().Add(c.sh.o.AckPatience))
		<-over
		c.Flush()
		got := c.heard()
		if len(got) != n {
			t.Fatalf("%d answers to %d sends", len(got), n)
		}
		for i := range got {
			if want := fmt.Sprint("ack ", i+1); got[i] != want {
				t.Fatalf("round %d: %v, want %s as number %d", round, got, want, i+1)
			}
		}
	}
}
