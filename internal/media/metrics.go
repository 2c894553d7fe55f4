package media

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are what a node tells of its uploads.
type metrics struct {
	begun, completed, thrown prometheus.Counter
	received, given          prometheus.Counter
	pictures                 prometheus.Gauge
	pictureSeconds           prometheus.Histogram
	errors                   *prometheus.CounterVec
	scans                    *prometheus.CounterVec
	scanSeconds              prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	p := promauto.With(r)
	uploads := p.NewCounterVec(prometheus.CounterOpts{Name: "skein_media_uploads_total", Help: "Uploads that were begun, completed, or thrown away by this node."}, []string{"what"})
	bytes := p.NewCounterVec(prometheus.CounterOpts{Name: "skein_media_bytes_total", Help: "Bytes of uploads that this node received and kept, and that it gave."}, []string{"way"})
	m := &metrics{
		begun: uploads.WithLabelValues("begun"), completed: uploads.WithLabelValues("completed"), thrown: uploads.WithLabelValues("thrown_away"),
		received: bytes.WithLabelValues("received"), given: bytes.WithLabelValues("given"),
		pictures: p.NewGauge(prometheus.GaugeOpts{Name: "skein_media_pictures", Help: "Pictures that are being looked at, or wait for memory for that."}),
		pictureSeconds: p.NewHistogram(prometheus.HistogramOpts{
			Name: "skein_media_picture_seconds", Help: "How long looking at a picture took, and making its thumbnail; waiting for memory included.", Buckets: prometheus.ExponentialBuckets(0.01, 2.5, 10),
		}),
		errors: p.NewCounterVec(prometheus.CounterOpts{Name: "skein_media_store_errors_total", Help: "Times that the place of uploads could not write, read, remove, or tell how much room there is."}, []string{"what"}),
	}
	m.scans = p.NewCounterVec(prometheus.CounterOpts{Name: "skein_media_scans_total", Help: "Uploads that were shown to the scanner for viruses, by its verdict; failed: there was none."}, []string{"verdict"})
	m.scanSeconds = p.NewHistogram(prometheus.HistogramOpts{
		Name: "skein_media_scan_seconds", Help: "How long the scanner took for an upload.", Buckets: prometheus.ExponentialBuckets(0.01, 2.5, 10),
	})
	for _, what := range []string{scanClean, scanInfected, scanFailed} {
		m.scans.WithLabelValues(what)
	}
	for _, what := range []string{"write", "read", "remove", "room"} {
		m.errors.WithLabelValues(what)
	}
	return m
}

// picture notes that a picture is looked at, until what it returns is called.
func (m *metrics) picture() func() {
	begun := time.Now()
	m.pictures.Inc()
	return func() {
		m.pictures.Dec()
		m.pictureSeconds.Observe(time.Since(begun).Seconds())
	}
}

// counted counts what a store could not do. Who went away is no error of the store's.
type counted struct {
	Store
	m *metrics
}

func (c counted) failed(what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		c.m.errors.WithLabelValues(what).Inc()
	}
}

func (c counted) Put(ctx context.Context, name string, r io.Reader) (int64, error) {
	n, err := c.Store.Put(ctx, name, r)
	c.failed("write", err)
	return n, err
}

func (c counted) Get(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	r, err := c.Store.Get(ctx, name, offset)
	c.failed("read", err)
	if err != nil {
		return nil, err
	}
	return &countedReader{r, c}, nil
}

func (c counted) Delete(ctx context.Context, name string) error {
	err := c.Store.Delete(ctx, name)
	c.failed("remove", err)
	return err
}

func (c counted) Free(ctx context.Context) (uint64, error) {
	n, err := c.Store.Free(ctx)
	c.failed("room", err)
	return n, err
}

type countedReader struct {
	io.ReadCloser
	c counted
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if !errors.Is(err, io.EOF) {
		r.c.failed("read", err)
	}
	return n, err
}

// given counts what somebody fetched.
type given struct {
	io.ReadCloser
	bytes prometheus.Counter
}

func (g given) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	g.bytes.Add(float64(n))
	return n, err
}
