package skein

import (
	"context"
	"crypto/tls"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"runtime/debug"
	"time"

	"github.com/skein-im/skein/wire"
)

// TokenSource gives the access token for the next connection. It is asked
// before every connect, so it should keep the token until RejectedToken(ctx)
// says that the server refused it. An *Error of the login, stop or fix range
// ends the client; any other error is passing and it is asked again later.
type TokenSource func(ctx context.Context) (string, error)

type rejectedKey struct{}

// RejectedToken returns the token the server refused last, "" if it did not.
func RejectedToken(ctx context.Context) string {
	s, _ := ctx.Value(rejectedKey{}).(string)
	return s
}

// DialFunc opens a network connection.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Option changes a default of Dial.
type Option func(*options)

type options struct {
	token       TokenSource
	staticToken bool
	store       Store
	codec       wire.Codec
	device      *wire.Device
	client      string
	log         *slog.Logger
	backoff     func(attempt int) time.Duration
	dial        DialFunc
	tls         *tls.Config
	offline     bool
	dialWithin  time.Duration
	baseURL     string
	events      bool
	maxGap      uint64
	pipeline    int
	outboxLimit int
	pageSize    uint32
	// How late received and read marks are told if nothing is sent before. Nobody
	// is told of received marks in groups: they may be later.
	receivedDelay, groupDelay, readDelay time.Duration
	answerWithin                         time.Duration
	idle                                 time.Duration
	deflate                              bool
	now                                  func() time.Time
	jitter                               func(time.Duration) time.Duration
}

func defaultOptions() *options {
	o := &options{
		codec:         wire.Protobuf(),
		device:        &wire.Device{Class: wire.DeviceClass_DEVICE_CLASS_OTHER, Name: "Go"},
		client:        clientName(),
		log:           slog.New(slog.DiscardHandler),
		events:        true,
		maxGap:        500,
		pipeline:      1,
		outboxLimit:   10_000,
		pageSize:      100,
		receivedDelay: 200 * time.Millisecond,
		groupDelay:    2 * time.Second,
		readDelay:     50 * time.Millisecond,
		answerWithin:  15 * time.Second,
		dialWithin:    10 * time.Second,
		now:           time.Now,
	}
	o.jitter = func(most time.Duration) time.Duration {
		return time.Duration(mathrand.Int64N(int64(most) + 1))
	}
	o.backoff = func(attempt int) time.Duration { return o.jitter(backoffCeiling(attempt)) }
	return o
}

// backoffCeiling is min(20 s, 0.5 s · 2^n), SPEC §9.3.
func backoffCeiling(attempt int) time.Duration {
	return min(20*time.Second, 500*time.Millisecond<<min(attempt, 10))
}

func clientName() string {
	const path = "github.com/skein-im/skein"
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append([]*debug.Module{&bi.Main}, bi.Deps...) {
			if m.Path == path && m.Version != "" && m.Version != "(devel)" && len(m.Version) < 80 {
				return "skein-go/" + m.Version
			}
		}
	}
	return "skein-go"
}

// WithToken uses one access token. When the server refuses it the client stops.
func WithToken(token string) Option {
	return func(o *options) {
		o.token = func(context.Context) (string, error) { return token, nil }
		o.staticToken = true
	}
}

// WithTokenSource asks for a token before every connect, see Session.Token.
func WithTokenSource(s TokenSource) Option {
	return func(o *options) { o.token, o.staticToken = s, false }
}

// WithStore keeps the client's state in s instead of in memory. The caller
// closes it after Close.
func WithStore(s Store) Option { return func(o *options) { o.store = s } }

// WithCodec chooses how frames are encoded: wire.Protobuf() (default), wire.JSON()
// or one of the program's own.
func WithCodec(c wire.Codec) Option { return func(o *options) { o.codec = c } }

// WithDevice says what device this is. Default: an id made at first and kept in
// the store, class other. A token from Login belongs to the device given there.
func WithDevice(id string, class wire.DeviceClass, name string) Option {
	return func(o *options) { o.device = &wire.Device{Id: id, Class: class, Name: name} }
}

// WithClientName is shown in the user's session list, e.g. "weatherbot/1.2".
func WithClientName(name string) Option { return func(o *options) { o.client = name } }

// WithLogger gets what the client decides (reconnects, repairs). Never message text or tokens.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// WithBackoff replaces the wait before connect attempt n = 0, 1, 2 … after a
// connection was lost. Default: full jitter up to min(20 s, 0.5 s · 2^n).
func WithBackoff(f func(attempt int) time.Duration) Option {
	return func(o *options) { o.backoff = f }
}

// WithRandom gives the random numbers, 0 to 1, by which pauses are drawn: before a
// reconnect, after GoAway, before a question is repeated. For tests.
func WithRandom(f func() float64) Option {
	return func(o *options) {
		o.jitter = func(most time.Duration) time.Duration { return time.Duration(f() * float64(most)) }
	}
}

// WithDialer opens network connections with f, e.g. through a proxy.
func WithDialer(f DialFunc) Option { return func(o *options) { o.dial = f } }

// WithTLS configures wss:// and tls:// connections.
func WithTLS(c *tls.Config) Option { return func(o *options) { o.tls = c } }

// WithDeflate asks for compressed messages where the connection is a WebSocket
// (permessage-deflate, SPEC §1.8). Of resumes and history a third is left, in
// JSON a fifth; messages below 512 bytes are sent as they are. While a deflated message
// is read it takes 40 KB, while a long one is written 1.2 MB, of a pool that all
// connections of a process share. It pays where bytes are paid for or slow, not next to
// the server: it is off unless asked for.
func WithDeflate() Option { return func(o *options) { o.deflate = true } }

// WithBaseURL is where the server's HTTP is, like https://chat.example: for Upload, Download
// and MediaLink. A client on ws:// or wss:// finds it by itself.
func WithBaseURL(u string) Option { return func(o *options) { o.baseURL = u } }

// WithHeartbeat asks the server for another time of silence before a client pings,
// and with it before either side takes the other for gone; the server bounds it.
func WithHeartbeat(idle time.Duration) Option { return func(o *options) { o.idle = idle } }

// WithDialTimeout is how long Dial looks for a server that does not answer, or does not
// listen; default 10 s, 0: as long as its context says.
func WithDialTimeout(d time.Duration) Option { return func(o *options) { o.dialWithin = d } }

// WithOffline makes Dial return at once; the client connects in the background.
func WithOffline() Option { return func(o *options) { o.offline = true } }

// WithoutEvents is for programs that never call Events: nothing is queued for it.
func WithoutEvents() Option { return func(o *options) { o.events = false } }

// WithMaxGap is how many missed entries of a conversation are fetched before it
// starts anew at the newest ones with a GapEvent; default 500, 0 = no limit.
func WithMaxGap(entries uint64) Option { return func(o *options) { o.maxGap = entries } }

// WithPipeline lets n messages of one conversation be unacknowledged at once.
// With the default, 1, messages are stored in the order they were sent under
// all conditions. More is faster over long distances, but an overloaded server
// that turns one message away and takes the next changes their order.
func WithPipeline(n int) Option { return func(o *options) { o.pipeline = max(1, n) } }

// WithOutboxLimit bounds the messages that wait to be sent; default 10,000.
func WithOutboxLimit(n int) Option { return func(o *options) { o.outboxLimit = n } }
