package gateway

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// What is announced is told to every connection, in either codec, once; a Control that says
// there is news reaches who looks, and ends nobody.
func TestAnnouncementsReachEverybody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.JSON())
		w.g.Announce(im.Announced{Revision: 7, All: []im.Announcement{{ID: "x", Text: "Away\nat ten", Created: time.UnixMilli(5)}}})
		for _, c := range []*scriptConn{a, b} {
			c.hears(t, `announcements 7 [x "Away\nat ten"]`)
		}
		w.g.Announce(im.Announced{Revision: 8})
		for _, c := range []*scriptConn{a, b} {
			c.hears(t, "announcements 8 []")
		}
	})
	bubble(t, func(t *testing.T) {
		var news atomic.Int32
		w := newWorld(t, func(o *Options) { o.News = func() { news.Add(1) } })
		a := w.parked("ann", "1", wire.Protobuf())
		w.g.Control(im.Control{News: true})
		if news.Load() != 1 {
			t.Errorf("news: %d", news.Load())
		}
		a.hears(t)
	})
}

// The Welcome tells the revision of what is announced.
func TestWelcomeTellsAnnouncements(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Announced = func() uint64 { return 9 } })
		p := w.dial(wire.Protobuf())
		p.send(hello("ann", "d1", phone))
		if f := p.want("welcome ann").GetWelcome(); f.Announcements != 9 {
			t.Errorf("%v", f)
		}
	})
}
