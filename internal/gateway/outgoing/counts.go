package outgoing

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// stampsKept bounds the parcels of one batch whose delivery is timed.
const stampsKept = 64

// Counts is what is counted of what is written to connections.
type Counts struct {
	BytesOut      atomic.Uint64
	Writes        atomic.Uint64
	SlowConsumers atomic.Uint64
	Resyncs       atomic.Uint64
	framesOut     [frameTypes]atomic.Uint64

	SendSeconds    prometheus.Histogram
	DeliverSeconds prometheus.Histogram

	mu     sync.Mutex
	stamps []time.Time
}

// Delivered remembers when what is being queued was stored.
func (m *Counts) Delivered(es []im.Entry) {
	m.mu.Lock()
	if len(m.stamps) < stampsKept {
		m.stamps = append(m.stamps, es[0].Stored)
	}
	m.mu.Unlock()
}

// stored takes the stamps of what has just been queued.
func (m *Counts) stored(to []time.Time) []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	to = append(to, m.stamps...)
	m.stamps = m.stamps[:0]
	return to
}

// written observes how long what was stored then took to be written.
func (m *Counts) written(stamps []time.Time, now time.Time) {
	for _, t := range stamps {
		if !t.IsZero() {
			m.DeliverSeconds.Observe(max(now.Sub(t).Seconds(), 0))
		}
	}
}

// flushed is written for what nobody else takes the stamps of.
func (m *Counts) flushed(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.stamps) > 0 {
		m.written(m.stamps, now)
		m.stamps = m.stamps[:0]
	}
}

// Frames calls f for each type of frame with how many were queued.
func (m *Counts) Frames(f func(name string, n uint64)) {
	for i := frameWelcome; i < frameTypes; i++ {
		f(frameNames[i], m.framesOut[i].Load())
	}
}
