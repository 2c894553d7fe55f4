package gateway

import (
	"github.com/skein-im/skein/internal/gateway/outgoing"

	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are plain atomics on the hot path, read when they are asked for.
type metrics struct {
	g          *Gateway
	connects   atomic.Uint64
	bytesIn    atomic.Uint64
	gapRepairs atomic.Uint64
	panics     atomic.Uint64
	framesIn   [commandCount]atomic.Uint64
	out        outgoing.Counts

	mu          sync.Mutex
	disconnects map[string]uint64

	descs descriptions
}

type descriptions struct {
	connections, users, groups, connects, disconnects, frames, bytes, writes, slow, resyncs, gaps, panics *prometheus.Desc
}

func newMetrics(g *Gateway, r prometheus.Registerer) *metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("skein_gateway_"+name, help, labels, nil)
	}
	buckets := prometheus.ExponentialBuckets(0.0001, 2.5, 14)
	m := &metrics{
		g: g, disconnects: map[string]uint64{},
		descs: descriptions{
			connections: desc("connections", "Open connections."),
			users:       desc("users", "Users with a connection."),
			groups:      desc("groups", "Groups with a connected member."),
			connects:    desc("connects_total", "Sessions that were welcomed."),
			disconnects: desc("disconnects_total", "Connections that ended, by reason.", "reason"),
			frames:      desc("frames_total", "Frames, by direction and type.", "direction", "type"),
			bytes:       desc("bytes_total", "Bytes of messages in, of framed data out.", "direction"),
			writes:      desc("writes_total", "Writes to sockets."),
			slow:        desc("slow_consumers_total", "Times a connection's queue overflowed and pushes were dropped."),
			resyncs:     desc("resyncs_total", "Resyncs sent to connections that had lagged."),
			gaps:        desc("gap_repairs_total", "Gaps found in what was to be delivered, and told by Heads."),
			panics:      desc("panics_total", "Panics that ended a session."),
		},
	}
	m.out.SendSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "skein_gateway_send_duration_seconds", Help: "From a Send's arrival to its acknowledgement.", Buckets: buckets})
	m.out.DeliverSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "skein_gateway_deliver_duration_seconds", Help: "From an entry's durable storage to the end of the write to the sockets.", Buckets: buckets})
	if r != nil {
		r.MustRegister(m, m.out.SendSeconds, m.out.DeliverSeconds)
	}
	return m
}

// ended counts why a session ended.
func (m *metrics) ended(s *session) {
	m.mu.Lock()
	m.disconnects[s.Cause()]++
	m.mu.Unlock()
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	d := &m.descs
	for _, x := range []*prometheus.Desc{d.connections, d.users, d.groups, d.connects, d.disconnects, d.frames, d.bytes, d.writes, d.slow, d.resyncs, d.gaps, d.panics} {
		ch <- x
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	d, st := &m.descs, m.g.Stats()
	gauge := func(desc *prometheus.Desc, v int) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(v))
	}
	count := func(desc *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(d.connections, st.Connections)
	gauge(d.users, st.Users)
	gauge(d.groups, st.Groups)
	count(d.connects, m.connects.Load())
	count(d.bytes, m.bytesIn.Load(), "in")
	count(d.bytes, m.out.BytesOut.Load(), "out")
	count(d.writes, m.out.Writes.Load())
	count(d.slow, m.out.SlowConsumers.Load())
	count(d.resyncs, m.out.Resyncs.Load())
	count(d.gaps, m.gapRepairs.Load())
	count(d.panics, m.panics.Load())
	for i := range commands {
		count(d.frames, m.framesIn[i].Load(), "in", commands[i].name)
	}
	m.out.Frames(func(name string, n uint64) { count(d.frames, n, "out", name) })
	m.mu.Lock()
	defer m.mu.Unlock()
	for reason, n := range m.disconnects {
		count(d.disconnects, n, reason)
	}
}
