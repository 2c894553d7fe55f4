package messaging

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/skein-im/skein/internal/im"
)

// metrics of the messaging role.
type metrics struct {
	accepted     prometheus.Counter
	duplicates   prometheus.Counter
	held         prometheus.Counter
	panics       prometheus.Counter
	resets       prometheus.Counter
	givenUp      prometheus.Counter
	rejected     *prometheus.CounterVec
	sendDuration prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		accepted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "skein_messaging_accepted_total", Help: "Entries stored."}),
		duplicates: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "skein_messaging_duplicates_total", Help: "Resends that were recognised and answered with the original."}),
		held: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "skein_messaging_held_positions_total", Help: "Syncs whose position was held back before a change of the user's groups that was stored and not applied yet."}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "skein_messaging_panics_total", Help: "Messages that were refused because handling them panicked."}),
		resets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "skein_messaging_resets_total", Help: "Syncs of devices that knew another history than this one, and were told to read it anew."}),
		givenUp: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "skein_messaging_given_up_total", Help: "Entries that the retention had the journal give up."}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "skein_messaging_rejected_total", Help: "Sends that were refused, by code."}, []string{"code"}),
		sendDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "skein_messaging_send_duration_seconds", Help: "From receiving a send to its durable ack.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)}),
	}
	if reg != nil {
		reg.MustRegister(m.accepted, m.duplicates, m.held, m.panics, m.resets, m.givenUp, m.rejected, m.sendDuration)
	}
	return m
}

func (m *metrics) reject(err error) {
	m.rejected.WithLabelValues(string(im.CodeOf(err))).Inc()
}

// stored is how many entries were stored.
func (m *metrics) stored() uint64 {
	var now dto.Metric
	if m.accepted.Write(&now) != nil {
		return 0 // a counter that was made here always can
	}
	return uint64(now.GetCounter().GetValue())
}
