package gateway

import (
	"runtime"
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// FuzzGateway feeds messages to a live session in each state: before the Hello,
// after the Welcome, with sends unanswered, and while its peer takes nothing.
// Nothing panics, Serve ends, and memory stays bounded.
func FuzzGateway(f *testing.F) {
	for i := range commands {
		r := tableRows()[i]
		for codec := range 2 {
			b, err := []wire.Codec{wire.Protobuf(), wire.JSON()}[codec].Append(nil, r.frame)
			if err != nil {
				f.Fatal(err)
			}
			for state := range 4 {
				f.Add(byte(state), codec == 1, b, b)
			}
		}
	}
	f.Add(byte(1), false, []byte{0xff}, []byte("{"))
	w := newWorld(f, func(o *Options) { o.Limits.QueueBytes = 32 << 10 })
	held := make(chan func(im.Ack, error), 1000)
	w.logic.send = func(_ im.Actor, m im.Message, reply func(im.Ack, error)) {
		if m.Conversation == "dm:hold:on" { // answered later
			held <- reply
			return
		}
		reply(im.Ack{Seq: 1}, nil)
	}
	f.Fuzz(func(t *testing.T, state byte, asJSON bool, one, two []byte) {
		codec := wire.Protobuf()
		if asJSON {
			codec = wire.JSON()
		}
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		c := newScript(codec)
		c.discard = true
		if state%4 > 0 {
			c.say(hello("fuzz", "d1", phone))
		}
		if state%4 == 2 {
			c.say(text("dm:hold:on", 1, "x"))
		}
		if state%4 == 3 {
			c.take(64)
		}
		for range 3 {
			c.sayRaw(one)
			c.sayRaw(two)
		}
		done := make(chan struct{})
		go func() { w.g.Serve(c); close(done) }()
		for c.Buffered() && !ended(done) {
			runtime.Gosched()
			select {
			case reply := <-held:
				reply(im.Ack{Seq: 1}, nil)
			default:
			}
			w.g.ToUsers([]im.UserID{"fuzz"}, parcel(entry(dm, 1, "x")))
			w.g.Flush()
			if state%4 == 3 { // a peer that takes nothing at all ends by the clock only
				c.take(-1)
			}
		}
		_ = c.Close("", "")
		<-done
		if w.g.metrics.panics.Load() != 0 {
			t.Fatal("a panic")
		}
		var after runtime.MemStats
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20+256*uint64(len(one)+len(two)) {
			t.Fatalf("%d bytes allocated for two messages of %d and %d", used, len(one), len(two))
		}
	})
}

func ended(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
