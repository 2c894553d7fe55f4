package media

import (
	"io"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// What the metrics say of an upload, of one that is thrown away, and of a store that fails.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	o, r := w.options(), prometheus.NewRegistry()
	o.Registerer = r
	s := New(o)
	for _, content := range []string{strings.Repeat("x", 20_000), string(pngOf(t, 30))} {
		u, err := s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{})
		w.ok(err)
		u, err = s.Write(t.Context(), "ann", u.ID, 0, strings.NewReader(content), nil)
		w.ok(err)
		b, err := s.Open(t.Context(), u, false, 0)
		w.ok(err)
		_, err = io.Copy(io.Discard, b)
		w.ok(err)
		w.ok(b.Close())
		if len(content) < 20_000 {
			w.ok(w.store.Delete(t.Context(), u.Blob))
			_, err = s.Open(t.Context(), u, false, 0)
			w.code("gone", err, im.CodeUnavailable)
			w.ok(s.Drop(t.Context(), "ann", u.ID))
		}
	}
	got := w.metrics(r)
	for name, want := range map[string]float64{
		"skein_media_uploads_total begun": 2, "skein_media_uploads_total completed": 2, "skein_media_uploads_total thrown_away": 1,
		"skein_media_bytes_total received": float64(20_000 + len(pngOf(t, 30))), "skein_media_pictures": 0, "skein_media_picture_seconds": 1,
		"skein_media_store_errors_total read": 1, "skein_media_store_errors_total write": 0,
	} {
		if n, ok := got[name]; !ok || n != want {
			t.Errorf("%s is %v, want %v", name, n, want)
		}
	}
	if n := got["skein_media_bytes_total given"]; n <= 20_000 {
		t.Errorf("%v bytes were given", n)
	}
}

// metrics are what a registry has, by name and labels; of a histogram how many it counted.
func (w *world) metrics(r *prometheus.Registry) map[string]float64 {
	w.Helper()
	all, err := r.Gather()
	w.ok(err)
	got := map[string]float64{}
	for _, f := range all {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}
