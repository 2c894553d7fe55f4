package gateway

import (
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// announceStep is how many connections are told before others get the core, and
	// announcePause for how long.
	announceStep  = 500
	announcePause = 5 * time.Millisecond
)

// Announce tells every session what the deployment announces, all of it, encoded once. It
// returns when that is queued.
func (g *Gateway) Announce(a im.Announced) {
	all := g.conns.list()
	fan := g.out.Fanout(wire.NewServerFrame(contract.Announcements(a)), len(all))
	defer fan.End()
	for i, s := range all {
		if i%announceStep == announceStep-1 {
			g.Flush()
			select {
			case <-time.After(announcePause):
			case <-g.ctx.Done():
				return
			}
		}
		// Who says Hello meanwhile is told the revision in the Welcome.
		if s.Since.Load() != 0 && !s.Is(outgoing.Ending) {
			fan.To(&s.Queue)
		}
	}
	g.Flush()
}
