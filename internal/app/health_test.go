package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// badCollector has one figure that cannot be read, after a time.
type badCollector struct{ held chan struct{} }

func (badCollector) Describe(chan<- *prometheus.Desc) {}

func (c badCollector) Collect(to chan<- prometheus.Metric) {
	<-c.held
	to <- prometheus.NewInvalidMetric(prometheus.NewDesc("bad", "bad", nil, nil), errors.New("broken"))
}

// TestHealthInTrouble: how a deployment is is told also when its directory does not answer and
// a figure cannot be read; who does not want to wait for a look is not held by it.
func TestHealthInTrouble(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a, err := Open(ctx, settings(t.TempDir()), Options{})
	ok(t, err)
	bad := badCollector{make(chan struct{})}
	a.metrics.MustRegister(bad)

	short, end := context.WithTimeout(ctx, 10*time.Millisecond)
	defer end()
	if _, err := a.Health(short); im.CodeOf(err) != im.CodeUnavailable {
		t.Errorf("while a look takes long: %v", err)
	}
	close(bad.held)
	_, err = a.Health(ctx) // the end of that look
	ok(t, err)
	a.health.last.Store(nil)

	ok(t, a.directory.Close())
	h, err := a.Health(ctx)
	ok(t, err)
	var trouble string
	for _, s := range h.Stores {
		if s.Name == "directory" {
			trouble = s.Trouble
		}
	}
	if trouble == "" || h.Ready || h.Goroutines == 0 || !strings.Contains(strings.Join(h.Warnings, "; "), "figures") {
		t.Errorf("%+v", h)
	}
	cancel()
	_ = a.Serve(ctx) // its directory is closed already
}
