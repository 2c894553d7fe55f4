package gateway

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// The protocol versions this server speaks (SPEC §1.4).
const (
	versionMin = 1
	versionMax = 1
)

// Options is what a Gateway is made of. Only Logic and Codecs are required.
type Options struct {
	Logic  im.Logic
	Codecs []wire.Codec
	// Limits and Heartbeat: zero fields take their default.
	Limits    Limits
	Heartbeat Heartbeat
	// Devices are the rates, which HTTP may share (default: those of limits.Rates).
	// ClassOf tells what a method counts as; nil: all are Calls.
	Devices *limits.Devices
	ClassOf func(method string) limits.Class
	// Open tells the methods that need no token; nil: there are none. Credentials is
	// the line of those who call them, which HTTP may share (default: its own);
	// WaitElsewhere tells the methods of which nobody waits in it (nil: there are none).
	Open, WaitElsewhere func(method string) bool
	Credentials         *limits.Logins
	// Timeline names the journal's history, for the Welcome.
	Timeline func() string
	// Standing lists the groups a user is a member of now. A group must be listed
	// from the moment the entry that added the user is stored (not before: they may
	// not see earlier entries) and before that entry is passed to Dispatch; it must
	// no longer be listed when the entry that removed them is passed to Dispatch.
	// Roster is the revision as of which it is listed, 0 where parcels are not lost.
	Standing func(ctx context.Context, u im.UserID) (im.Standing, error)
	// Stickers is the revision of the deployment's stickers, as far as it is known here
	// (default: 0, not known). It does not block.
	Stickers func() uint64
	// Announced is the revision of what the deployment announces, as far as it is known here
	// (default: 0, not known). It does not block. News is called when that changed.
	Announced func() uint64
	News      func()
	// PlaceEvery is how often a busy connection's position is looked up, where nobody
	// calls Position: what comes from other nodes may be lost on the way. 0: never.
	PlaceEvery time.Duration
	// Peers are the other gateways; nil: there are none.
	Peers here.Peers
	// Node begins connection ids, unique over all gateways. Default: random.
	Node string
	// Bounds are the bounds of the beginning; SetBounds changes them.
	Bounds
	Now func() time.Time
	// Slow is how long a Call takes at least that has a line in the log; nil or 0: none has.
	Slow       func() time.Duration
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// How long an ack waits for the delivery that it belongs into. In one process no delivery
// is lost, it can only be late; over a bus one may be. Who gives up too early on a busy
// machine has a whole group read its roster again and pull what was about to be pushed.
const (
	ackPatienceAlone   = 5 * time.Second
	ackPatienceOverBus = 250 * time.Millisecond
)

func (o *Options) ackPatience() time.Duration {
	if _, alone := o.Peers.(here.Alone); alone {
		return ackPatienceAlone
	}
	return ackPatienceOverBus
}

// Bounds bounds how many connections there are: MaxConnections all, MaxPerUser those of a
// user and MaxPerAddress those from an address (an IPv6 /64; loopback has no bound). 0: no
// bound.
type Bounds struct {
	MaxConnections, MaxPerUser, MaxPerAddress int
}

// SetBounds changes the bounds for those who come from now on; nobody is sent away.
func (g *Gateway) SetBounds(b Bounds) { g.bounds.Store(&b) }

// Limits bounds what a connection may do (SPEC §1.5).
type Limits struct {
	FrameBytes   int // default 256 KiB
	ContentBytes int // default 64 KiB
	Mentions     int // default and at most 100
	PullEntries  int // default 200
	InFlight     int // default 256
	// EditWindow, RecallWindow and Retention are told only: Logic keeps to them.
	EditWindow, RecallWindow, Retention time.Duration
	// MediaBytes is the longest upload, 0: there are none. It is told only.
	MediaBytes int64
	// DeviceConnections bounds the connections of a user's device here. Default 32.
	DeviceConnections int
	// ServerFrameBytes is the longest frame that is sent. Default 2 MiB.
	ServerFrameBytes int
	// QueueBytes bounds what waits to be written to a connection. Default 1 MiB.
	QueueBytes int
	// Hello is how long a connection may take to say Hello. Default 5 s.
	Hello time.Duration
	// Write is how long a peer may take nothing. Default 30 s.
	Write time.Duration
}

// Heartbeat is SPEC §9.
type Heartbeat struct {
	Idle    time.Duration // default 30 s
	Silence time.Duration // default 45 s
	Every   time.Duration // default 5 s
	Dead    time.Duration // default 60 s
}

func orDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

func (o *Options) defaults() {
	l := &o.Limits
	orDefault(&l.FrameBytes, 256<<10)
	orDefault(&l.ServerFrameBytes, 2<<20)
	orDefault(&l.ContentBytes, 64<<10)
	orDefault(&l.Mentions, 100)
	l.Mentions = min(l.Mentions, 100)
	orDefault(&l.PullEntries, 200)
	orDefault(&l.InFlight, 256)
	orDefault(&l.DeviceConnections, 32)
	orDefault(&l.QueueBytes, 1<<20)
	orDefault(&l.Hello, 5*time.Second)
	orDefault(&l.Write, 30*time.Second)
	h := &o.Heartbeat
	orDefault(&h.Idle, 30*time.Second)
	orDefault(&h.Silence, 45*time.Second)
	orDefault(&h.Every, 5*time.Second)
	orDefault(&h.Dead, 60*time.Second)
	if o.Stickers == nil {
		o.Stickers = func() uint64 { return 0 }
	}
	if o.Announced == nil {
		o.Announced = func() uint64 { return 0 }
	}
	if o.News == nil {
		o.News = func() {}
	}
	if o.Devices == nil {
		o.Devices = limits.NewDevices(limits.Rates{})
	}
	if o.ClassOf == nil {
		o.ClassOf = func(string) limits.Class { return limits.Calls }
	}
	if o.Timeline == nil {
		o.Timeline = func() string { return "" }
	}
	if o.Standing == nil {
		o.Standing = func(context.Context, im.UserID) (im.Standing, error) { return im.Standing{}, nil }
	}
	if o.Peers == nil {
		o.Peers = here.Alone{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Open == nil {
		o.Open = func(string) bool { return false }
	}
	if o.WaitElsewhere == nil {
		o.WaitElsewhere = func(string) bool { return false }
	}
	if o.Credentials == nil {
		o.Credentials = limits.NewLogins(o.Now)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}
