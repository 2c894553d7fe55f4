package feed

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/skein-im/skein/internal/im"
)

// metrics are a follower's figures. Those of a node that does not work are 0.
type metrics struct {
	working, positions     prometheus.Gauge
	entries, errors, aside prometheus.Counter

	mu sync.Mutex
	// since: all that was stored by then is done; zero while others work.
	since time.Time
}

func newMetrics(o *Options) *metrics {
	labels := prometheus.Labels{"follower": o.Name, "shard": strconv.Itoa(o.Shard)}
	p := promauto.With(o.Registerer)
	counter := func(name, help string) prometheus.Counter {
		return p.NewCounter(prometheus.CounterOpts{Name: "skein_feed_" + name, Help: help, ConstLabels: labels})
	}
	gauge := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Name: "skein_feed_" + name, Help: help, ConstLabels: labels}
	}
	m := &metrics{
		working:   p.NewGauge(gauge("working", "1 if this node does the follower's work, 0 if another one does.")),
		positions: p.NewGauge(gauge("lag_positions", "Positions of the journal that the follower has not done yet.")),
		entries:   counter("entries_total", "Entries that were handled; some more than once."),
		errors:    counter("errors_total", "Times that reading or handling failed and is tried again."),
		aside:     counter("set_aside_total", "Entries that the follower goes on without."),
	}
	p.NewGaugeFunc(gauge("lag_seconds", "How long ago all that was stored was done."), m.lag)
	return m
}

func (m *metrics) lag() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since.IsZero() {
		return 0
	}
	return max(time.Since(m.since), 0).Seconds()
}

func (m *metrics) set(since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = since
}

// leads: this node begins to work, where it was noted to be.
func (m *metrics) leads(s im.FollowerState) {
	m.working.Set(1)
	if s.Updated.IsZero() {
		s.Updated = time.Now()
	}
	m.set(s.Updated)
}

func (m *metrics) left() {
	m.working.Set(0)
	m.positions.Set(0)
	m.set(time.Time{})
}

// read: these are handled now.
func (m *metrics) read(f *im.Followed, at im.Place) {
	m.positions.Set(float64(f.Now.Pos - min(at.Pos, f.Now.Pos)))
	if len(f.Entries) > 0 && f.UpTo != f.Now {
		m.set(f.Entries[0].Stored)
	}
}

// done: what was read at a time is handled.
func (m *metrics) done(f *im.Followed, read time.Time) {
	m.positions.Set(float64(f.Now.Pos - min(f.UpTo.Pos, f.Now.Pos)))
	if f.UpTo == f.Now {
		m.set(read)
	}
}
