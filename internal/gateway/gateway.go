package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// toldKept bounds the dms and feeds for which the gateway remembers how far they
// were told.
const toldKept = 1 << 17

// Gateway is the connections of this process. It is im.Dispatch for them.
type Gateway struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	node   string
	nextID atomic.Uint64
	bounds atomic.Pointer[Bounds]

	wheel     *here.Wheel
	parkTicks int64             // parkAfter in ticks
	ping      *wire.ServerFrame // the wheel's
	users     *here.Users
	groups    *here.Groups
	conns     *connections
	controls  *controls
	presence  *here.Presence
	verifier  *verifier
	told      *told
	pacer     *pacer
	logins    *limits.Logins
	asking    asking
	places    chan *session // that wait for their position to be looked up
	metrics   *metrics
	out       *outgoing.Queues
	pools     pools

	// wg counts connections, call workers, the verifier and the wheel.
	wg       sync.WaitGroup
	mu       sync.Mutex
	draining bool
	away     bool // see TurnAway
	closed   bool
}

var _ im.Dispatch = (*Gateway)(nil)

// New starts a gateway. Close stops it.
func New(o Options) *Gateway {
	o.defaults()
	g := &Gateway{o: o, node: o.Node, conns: newConnections(), controls: newControls()}
	g.SetBounds(o.Bounds)
	if g.node == "" {
		var b [6]byte
		_, _ = rand.Read(b[:]) // never fails
		g.node = hex.EncodeToString(b[:])
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.wheel = here.NewWheel(tickFor(&g.o))
	g.parkTicks = g.wheel.Ticks(parkAfter)
	g.ping = wire.NewServerFrame(&wire.Ping{})
	g.users, g.groups = here.NewUsers(o.Peers), here.NewGroups(o.Peers)
	g.verifier, g.told = newVerifier(g), newTold(toldKept)
	g.pacer = newPacer(g)
	g.logins = limits.NewLogins(o.Now)
	g.metrics = newMetrics(g, o.Registerer)
	g.out = outgoing.New(outgoing.Options{
		QueueBytes: o.Limits.QueueBytes, FrameBytes: o.Limits.ServerFrameBytes, InFlight: o.Limits.InFlight, Write: o.Limits.Write,
		AckPatience: o.ackPatience(), Codecs: o.Codecs, Now: o.Now, Logger: o.Logger, Counts: &g.metrics.out,
		Tick: g.wheel.Now, PlaceEvery: g.wheel.Ticks(o.PlaceEvery), PlaceAgain: g.wheel.Ticks(placeAgain),
	})
	g.presence = here.NewPresence(g.out, g.users, g.wheel, o.Peers, o.Now)
	if o.PlaceEvery > 0 {
		g.places = make(chan *session, placesWaiting)
		for range placesUnderway {
			g.wg.Go(g.lookUpPlaces)
		}
	}
	g.wg.Go(g.tellSeen)
	// Whoever queues also flushes; the turn of the wheel is for what they forgot.
	g.wg.Go(func() { g.wheel.Run(g.ctx.Done(), g.Flush) })
	return g
}

// Position announces a position: everything up to it, entries, receipts and
// changes of memberships, was passed to this gateway before the call, and all that
// was passed before the call for the position before is below this one. One
// goroutine calls it. It returns when the sessions of large groups were told, too,
// what is held for them (paceMost at most).
func (g *Gateway) Position(position string) {
	g.pacer.settle()
	g.out.Announce(position)
}

// Flush has what was queued written, one write per touched connection (im.Dispatch).
func (g *Gateway) Flush() { g.out.Flush() }

// tickFor makes the wheel fine enough for the shortest interval.
func tickFor(o *Options) time.Duration {
	shortest := min(o.Limits.Hello, o.Heartbeat.Silence, o.Heartbeat.Every, o.Heartbeat.Dead-o.Heartbeat.Silence)
	return max(min(250*time.Millisecond, shortest/8), 5*time.Millisecond)
}

// admit makes a session of a connection, or tells why not; then the session is
// nil when the peer cannot even be told in a frame.
func (g *Gateway) admit(c wire.Conn) (*session, error) {
	info := c.Info()
	k := g.out.KindOf(info)
	if k == nil {
		return nil, im.Errorf(im.CodeCodecUnsupported, "this server does not speak %s", info.Codec)
	}
	n := g.nextID.Add(1)
	s := &session{g: g}
	s.Begin(g.out, s, c, k, im.ConnectionID(g.node+"-"+strconv.FormatUint(n, 36)), n)
	// After the Hello it may park at once: most that log in have nothing to say.
	s.seen.Store(int32(g.wheel.Now() - g.parkTicks))
	c.SetReadLimit(helloBytes)

	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, errGoingAway()
	}
	draining := g.draining || g.away
	g.wg.Add(1)
	g.mu.Unlock()
	err := error(nil)
	if draining {
		err = errGoingAway()
	} else {
		err = g.conns.add(s, addressKey(info.RemoteAddr), g.bounds.Load())
	}
	if err != nil {
		return s, err
	}
	s.within(g.o.Limits.Hello)
	if g.isClosed() { // Close may have listed the connections before this one
		s.Abort("shutdown", im.CodeGoingAway)
	}
	return s, nil
}

// dismiss takes an ended session out of everything.
func (g *Gateway) dismiss(s *session) {
	defer g.wg.Done()
	g.wheel.Cancel(s)
	g.presence.Forget(&s.Member)
	if s.Actor.User != "" {
		if s.rates != nil {
			g.o.Devices.Leave(s.rates, g.o.Now().UnixNano())
		}
		was, _ := g.users.Remove(&s.Member)
		g.groups.Forget(&s.Member)
		if was && !s.InBackground() && !g.users.Present(s.Actor.User) {
			g.presence.Changed(s.Actor.User)
		}
	}
	g.conns.remove(s, addressKey(s.Conn.Info().RemoteAddr))
	g.metrics.ended(s)
}

func (g *Gateway) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// spawn runs f in a goroutine that Close waits for; false when it is too late.
func (g *Gateway) spawn(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.wg.Go(f)
	return true
}

// Close ends all connections at once and waits for everything the gateway
// started, and for Logic to return from what was asked of it.
func (g *Gateway) Close() error {
	g.mu.Lock()
	g.closed, g.draining = true, true
	g.mu.Unlock()
	g.cancel()
	for _, s := range g.conns.list() {
		s.Abort("shutdown", im.CodeGoingAway)
	}
	g.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), seenTime)
	defer cancel()
	g.sendSeen(ctx)
	return nil
}

// Online tells whether the user has a session here that is not in the background.
func (g *Gateway) Online(u im.UserID) bool { return g.users.Present(u) }

// Ticks is how often the wheel turned: it stands still when the gateway hangs.
func (g *Gateway) Ticks() int64 { return g.wheel.Now() }

// Stats is what is connected here.
type Stats struct {
	// Connections counts those without a Welcome as well.
	Connections int
	Users       int
	// Groups have at least one member connected.
	Groups int
}

// Stats counts what is connected at this moment.
func (g *Gateway) Stats() Stats {
	return Stats{Connections: g.conns.count(), Users: g.users.Count(), Groups: g.groups.Count()}
}
