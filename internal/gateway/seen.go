package gateway

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/im"
)

const (
	// seenEvery is how often it is told who left, seenTime how long that may take,
	// seenAtOnce how many are told of at once.
	seenEvery  = time.Second
	seenTime   = 2 * time.Second
	seenAtOnce = 500
)

// tellSeen has it kept when users were there last; it ends with the gateway. What fails
// is lost: the time of before stays.
func (g *Gateway) tellSeen() {
	ticker := time.NewTicker(seenEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(g.ctx, seenTime)
		g.sendSeen(ctx)
		cancel()
	}
}

func (g *Gateway) sendSeen(ctx context.Context) {
	for left := g.presence.TakeLeft(); len(left) > 0; {
		part := left[:min(len(left), seenAtOnce)]
		left = left[len(part):]
		if _, err := g.o.Logic.Signal(ctx, im.Actor{}, im.Signal{Seen: part}); err != nil {
			g.o.Logger.Debug("gateway: when users were there last is not kept", "users", len(part), "err", err)
			return
		}
	}
}

// lookAgain has sessions told nothing of a user's presence until Logic said whether they
// may be. The first it does at once, the asking it does not wait for.
func (g *Gateway) lookAgain(watchers []*here.Member, u im.UserID) {
	looks := g.presence.Hide(watchers, u)
	if len(looks) == 0 {
		return
	}
	g.spawn(func() {
		for _, l := range looks {
			ctx, cancel := context.WithTimeout(g.ctx, readTime)
			may, err := g.o.Logic.Signal(ctx, l.Member.Actor, im.Signal{Watch: []im.UserID{u}})
			cancel()
			if err != nil {
				may = nil
			}
			g.presence.Show(l, may)
		}
		g.Flush()
	})
}
