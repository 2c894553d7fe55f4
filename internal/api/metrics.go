package api

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// doorMetrics counts calls by method and code. Unknown methods share one label,
// so that callers cannot make labels.
type doorMetrics struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newDoorMetrics(reg prometheus.Registerer) *doorMetrics {
	m := &doorMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "skein_api_requests_total", Help: "HTTP API calls by method and resulting code.",
		}, []string{"method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "skein_api_request_duration_seconds", Help: "Duration of HTTP API calls by method.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"method"}),
	}
	if reg != nil {
		reg.MustRegister(m.calls, m.duration)
	}
	return m
}

func (m *doorMetrics) observe(method string, code im.Code, d time.Duration) {
	if method == "" {
		method = "unknown"
	}
	m.calls.WithLabelValues(method, string(code)).Inc()
	m.duration.WithLabelValues(method).Observe(d.Seconds())
}
