package outgoing

import (
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Options is what the queues of a gateway are made of; all are required but
// Writers and PlaceEvery.
type Options struct {
	// QueueBytes bounds what waits to be written to a connection, InFlight the sends
	// without an answer while more is read.
	QueueBytes, InFlight int
	// FrameBytes is the longest frame, not yet framed; 0: no bound.
	FrameBytes int
	// Write is how long a peer may take nothing.
	Write time.Duration
	// AckPatience is how long an ack waits for the delivery that it belongs into. Whose
	// delivery did not come by then is told alone, and what else came with it is repaired.
	AckPatience time.Duration
	Codecs      []wire.Codec
	Now         func() time.Time
	Logger      *slog.Logger
	Counts      *Counts
	// Tick is a cheap clock. PlaceEvery is after how many ticks the position of a busy
	// connection is looked up, 0: never, PlaceAgain when there was no room to.
	Tick                   func() int64
	PlaceEvery, PlaceAgain int64
	// Writers is how many there are; 0: half as many as the process uses cores.
	Writers int
}

// Queues is what the queues of a gateway have in common.
type Queues struct {
	o         Options
	codecs    map[string]wire.Codec
	metrics   *Counts
	pools     buffers
	dirty     dirty
	writers   *writers
	announced atomic.Pointer[announced]

	mu    sync.Mutex
	kinds []*Kind
}

// New makes the queues' common part.
func New(o Options) *Queues {
	sh := &Queues{o: o, codecs: map[string]wire.Codec{}, metrics: o.Counts}
	if o.Writers == 0 {
		o.Writers = max(1, runtime.GOMAXPROCS(0)/2)
	}
	sh.writers = newWriters(sh, o.Writers)
	for _, c := range o.Codecs {
		sh.codecs[c.Name()] = c
	}
	return sh
}

// Begin makes a queue of the n-th connection.
func (o *Queue) Begin(sh *Queues, by Owner, c wire.Conn, k *Kind, id im.ConnectionID, n uint64) {
	o.sh, o.owner, o.Conn, o.Kind, o.ID = sh, by, c, k, id
	o.writer = sh.writers.shard(n)
}

// Hold holds what is queued until the Welcome.
func (o *Queue) Hold() {
	o.mu.Lock()
	o.hold = true
	o.mu.Unlock()
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

// Fanout sends a frame to about n queues.
func (sh *Queues) Fanout(frame *wire.ServerFrame, n int) Fanout {
	return Fanout{sh: sh, frame: frame, typ: serverFrameType(frame), share: n >= shareFrom}
}
