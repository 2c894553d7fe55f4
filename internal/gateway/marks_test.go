package gateway

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func TestMarksAreCombined(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		mark := func(c string, seq uint64) *wire.ClientFrame {
			return wire.NewClientFrame(&wire.Received{Conversation: c, Seq: seq})
		}
		c := newScript(wire.Protobuf(), hello("ann", "d1", wire.DeviceClass_DEVICE_CLASS_PHONE),
			mark("dm:ann:bob", 1), mark("dm:ann:bob", 2), mark("grp:g", 9), mark("dm:ann:bob", 3),
			wire.NewClientFrame(&wire.Read{Conversation: "dm:ann:bob", Seq: 2}))
		go w.g.Serve(c)
		synctest.Wait()
		got := w.logic.markList()
		want := []im.Mark{{User: "ann", Conversation: "dm:ann:bob", Received: 3, Read: 2}, {User: "ann", Conversation: "grp:g", Received: 9}}
		if !slices.Equal(got, want) {
			t.Fatalf("marks %v, want %v", got, want)
		}
	})
}

// Marks that travel hold nothing up: what follows is done while they are under
// way, questions wait for them, and so does everything when there are too many.
func TestMarksTravel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var replies []func(error)
		w.logic.mark = func(_ im.ConversationID, _, _ uint64, reply func(error)) { replies = append(replies, reply) }
		c := w.parked("ann", "d1", wire.Protobuf())
		mark := func(seq uint64) *wire.ClientFrame {
			return wire.NewClientFrame(&wire.Received{Conversation: string(dm), Seq: seq})
		}
		c.say(mark(1))
		synctest.Wait()
		c.say(text(string(dm), 1, "a"))
		c.hears(t, "ack 1 dm:ann:bob 1")
		c.say(wire.NewClientFrame(&wire.Sync{}))
		c.hears(t)
		replies[0](nil)
		c.hears(t, "delta 0 p1")

		// One that is refused is told when there is nothing else to say.
		c.say(mark(9))
		synctest.Wait()
		replies[1](im.Errorf(im.CodeInvalidArgument, "beyond"))
		c.hears(t, "error invalid_argument")

		for i := range marksAtOnce + 5 {
			c.say(mark(uint64(i + 10)))
			synctest.Wait()
		}
		if n := len(replies) - 2; n != marksAtOnce {
			t.Fatalf("%d marks are under way, want %d", n, marksAtOnce)
		}
		c.say(text(string(dm), 2, "b"))
		c.hears(t)
		for _, reply := range replies[2:] {
			reply(nil)
		}
		c.hears(t, "ack 2 dm:ann:bob 2")
	})
}

// marksAtOnce is outgoing.marksUnderway.
const marksAtOnce = 128
