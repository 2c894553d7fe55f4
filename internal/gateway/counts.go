package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// stampsKept bounds the parcels of one batch whose delivery is timed.
const stampsKept = 64

// counts is what is counted of what is written to connections.
type counts struct {
	bytesOut      atomic.Uint64
	writes        atomic.Uint64
	slowConsumers atomic.Uint64
	resyncs       atomic.Uint64
	framesOut     [frameTypes]atomic.Uint64

	sendSeconds    prometheus.Histogram
	deliverSeconds prometheus.Histogram

	mu     sync.Mutex
	stamps []time.Time
}

// delivered remembers when what is being queued was stored.
func (m *counts) delivered(es []im.Entry) {
	m.mu.Lock()
	if len(m.stamps) < stampsKept {
		m.stamps = append(m.stamps, es[0].Stored)
	}
	m.mu.Unlock()
}

// stored takes the stamps of what has just been queued.
func (m *counts) stored(to []time.Time) []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	to = append(to, m.stamps...)
	m.stamps = m.stamps[:0]
	return to
}

// written observes how long what was stored then took to be written.
func (m *counts) written(stamps []time.Time, now time.Time) {
	for _, t := range stamps {
		if !t.IsZero() {
			m.deliverSeconds.Observe(max(now.Sub(t).Seconds(), 0))
		}
	}
}

// flushed is written for what nobody else takes the stamps of.
func (m *counts) flushed(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.stamps) > 0 {
		m.written(m.stamps, now)
		m.stamps = m.stamps[:0]
	}
}
