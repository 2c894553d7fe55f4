package skein

import (
	"context"
	"time"

	"github.com/skein-im/skein/wire"
)

// renewAhead is how long before its token's end a connection asks for a newer one:
// when a Session has one. leastLeft is what is too short to ask again in.
const (
	renewAhead = 25 * time.Second
	leastLeft  = 500 * time.Millisecond
)

// renewal keeps the token of the connection fresh, so that it is not cut when the
// token ends. SPEC §3.9. What cannot be renewed is cut then, and connects anew.
type renewal struct {
	ahead   time.Duration // by how much the server's clock is
	ends    time.Time     // by ours; zero: it does not end
	renewAt time.Time
	asking  bool
	offered string // the token that the server was told last
}

// planRenewal notes when the token ends and when to ask for the next one: before
// the last renewAhead of it, or the last quarter of what is shorter.
func (k *core) planRenewal(endsMs int64) {
	k.ends, k.renewAt = time.Time{}, time.Time{}
	if endsMs == 0 || k.o.staticToken {
		return
	}
	k.ends = time.UnixMilli(endsMs).Add(-k.ahead)
	k.renewLater()
}

// renewLater asks again in what is left.
func (k *core) renewLater() {
	now := k.o.now()
	left := k.ends.Sub(now)
	k.renewAt = time.Time{}
	if left > leastLeft {
		k.renewAt = now.Add(max(left-renewAhead, left/4*3))
	}
}

// renew asks the program for a newer token and gives it to the server.
func (k *core) renew() {
	if k.asking {
		return
	}
	k.asking, k.renewAt = true, time.Time{}
	link := k.link
	k.c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(k.c.ctx, dialTimeout)
		defer cancel()
		token, err := k.c.o.token(ctx)
		select {
		case k.c.cmds <- func(k *core) { k.gotToken(link, token, err) }:
		case <-k.c.stopped:
		}
	})
}

func (k *core) gotToken(of *link, token string, err error) {
	k.asking = false
	if k.link == nil || k.ends.IsZero() {
		return
	}
	if k.link != of || err != nil || token == k.token {
		if err != nil {
			k.log.Warn("no newer token yet", "err", err)
		}
		k.renewLater()
		return
	}
	k.offered = token
	k.send(wire.NewClientFrame(&wire.Renew{Token: token}))
	k.renewLater() // unless it is answered
}

func (k *core) onRenewed(f *wire.Renewed) {
	if k.offered != "" {
		k.token, k.offered = k.offered, ""
	}
	k.planRenewal(f.TokenExpiresAtMs)
}
