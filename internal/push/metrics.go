package push

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// How a push ended.
const (
	resultSent    = "sent"
	resultClosed  = "closed"
	resultRetried = "retried"
	resultFailed  = "failed"
	resultGone    = "gone"
)

type metrics struct {
	results *prometheus.CounterVec
	took    prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	m := &metrics{
		results: f.NewCounterVec(prometheus.CounterOpts{
			Name: "skein_push_results_total",
			Help: "Pushes by how they ended: sent, closed (a notification was taken away), retried, failed (given up), gone (the subscription was dead and is removed).",
		}, []string{"result"}),
		took: f.NewHistogram(prometheus.HistogramOpts{
			Name: "skein_push_duration_seconds", Help: "Time from when a message was stored until the push service had it.",
			Buckets: []float64{1, 2, 5, 6, 7, 8, 10, 15, 30, 60, 300, 3600},
		}),
	}
	for _, result := range []string{resultSent, resultClosed, resultRetried, resultFailed, resultGone} {
		m.results.WithLabelValues(result)
	}
	return m
}
