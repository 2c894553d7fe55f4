package gateway

import (
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// shared is what the outboxes of a gateway have in common.
type shared struct {
	limits    Limits
	now       func() time.Time
	log       *slog.Logger
	codecs    map[string]wire.Codec
	metrics   *counts
	pools     buffers
	dirty     dirty
	writers   *writers
	announced atomic.Pointer[announced]
	// tick is the gateway's cheap clock; placeEvery is after how many ticks the
	// position of a busy connection is looked up, 0: never, placeAgain when there was
	// no room to.
	tick                   func() int64
	placeEvery, placeAgain int64

	mu    sync.Mutex
	kinds []*kind
}

func newShared(o *Options, w *wheel, m *counts) *shared {
	sh := &shared{
		limits: o.Limits, now: o.Now, log: o.Logger, codecs: map[string]wire.Codec{}, metrics: m, tick: w.now.Load,
		placeEvery: w.ticks(o.PlaceEvery), placeAgain: w.ticks(placeAgain),
	}
	sh.writers = newWriters(sh, runtime.GOMAXPROCS(0))
	for _, c := range o.Codecs {
		sh.codecs[c.Name()] = c
	}
	return sh
}

// begin makes an outbox that holds what is queued until the Welcome, of the n-th
// connection.
func (o *outbox) begin(sh *shared, by owner, c wire.Conn, k *kind, id im.ConnectionID, n uint64) {
	o.sh, o.owner, o.conn, o.kind, o.id = sh, by, c, k, id
	o.writer = sh.writers.shard(n)
	o.hold = true
}

// buffers keep what is used again and again; nothing in them belongs to a session.
type buffers struct{ bufs, acks, sends sync.Pool }

func (p *buffers) getBuf() *[]byte {
	if b, ok := p.bufs.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, bufSize)
	return &b
}

func (p *buffers) putBuf(b *[]byte) {
	if cap(*b) <= bufKeep {
		*b = (*b)[:0]
		p.bufs.Put(b)
	}
}

// newFanout sends a frame to about n outboxes.
func (sh *shared) newFanout(frame *wire.ServerFrame, n int) fanout {
	return fanout{sh: sh, frame: frame, typ: serverFrameType(frame), share: n >= shareFrom}
}
