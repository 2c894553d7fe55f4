package tracing

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/skein-im/skein/internal/im"
)

// collector keeps what it is told.
type collector struct {
	mu    sync.Mutex
	spans []span
	got   []*http.Request
	code  int
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, _ := io.ReadAll(r.Body) // a test's own request
	var q request
	if err := json.Unmarshal(raw, &q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.got = append(c.got, r)
	if c.code != 0 {
		w.WriteHeader(c.code)
		return
	}
	for _, rs := range q.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

func id(n byte) (m im.MessageID) {
	for i := range m {
		m[i] = n * byte(i+3)
	}
	return m
}

func counted(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// Spans of one message have its id as their trace, whichever node tells of them, and their
// parents are found.
func TestSpans(t *testing.T) {
	var c collector
	srv := httptest.NewServer(&c)
	t.Cleanup(srv.Close)
	gate := New(Options{Endpoint: srv.URL + "/", Sample: 1, Node: "gateway1", Version: "1"})
	logic := New(Options{Endpoint: srv.URL, Sample: 1, Node: "logic1", Version: "1"})
	now := time.Now()
	gate.Tell(Span{Message: id(7), Part: Receive, Start: now, End: now.Add(time.Second), Seq: 3})
	logic.Tell(Span{Message: id(7), Part: Send, Parent: Receive, Start: now, End: now, Seq: 3})
	logic.Tell(Span{Message: id(7), Part: Append, Parent: Send, ParentHere: true, Start: now, End: now, Code: im.CodeUnavailable})
	gate.Close()
	logic.Close()
	by := map[string]span{}
	for _, s := range c.spans {
		by[s.Name] = s
		if s.TraceID != strings.ReplaceAll(id(7).String(), "-", "") || len(s.SpanID) != 16 {
			t.Errorf("%+v", s)
		}
	}
	if len(c.spans) != 3 || by[Receive].ParentID != "" || by[Send].ParentID != by[Receive].SpanID || by[Append].ParentID != by[Send].SpanID {
		t.Errorf("%+v", c.spans)
	}
	if by[Append].Status == nil || by[Append].Status.Code != statusError || by[Send].Status != nil {
		t.Errorf("%+v", by)
	}
	if r := c.got[0]; r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s", r.URL, r.Header)
	}
	if n := counted(t, gate.sent) + counted(t, logic.sent); n != 3 {
		t.Errorf("%v counted", n)
	}
}

// All nodes sample the same messages, about as many as they should.
func TestSamplesAgree(t *testing.T) {
	a, b := New(Options{Endpoint: "http://127.0.0.1:1", Sample: 0.1, Node: "a"}), New(Options{Endpoint: "http://127.0.0.1:1", Sample: 0.1, Node: "b"})
	defer a.Close()
	defer b.Close()
	n := 0
	random := func(i int) (b []byte) {
		return []byte{byte(i), byte(i >> 8), byte(i * 7), byte(i * 13), byte(i >> 3), 1, 2, byte(i * 31)}
	}
	const all = 20_000
	for i := range all {
		var m im.MessageID
		copy(m[8:], random(i))
		if a.Samples(m) != b.Samples(m) {
			t.Fatal("two nodes do not agree")
		}
		if a.Samples(m) {
			n++
		}
	}
	if n < all/20 || n > all/5 {
		t.Errorf("%d of %d", n, all)
	}
	var off *Tracer
	if off.Samples(id(1)) {
		t.Error("nothing samples")
	}
}

// A collector that is away, or refuses, costs its spans and nothing else.
func TestCollectorThatIsDown(t *testing.T) {
	c := collector{code: http.StatusServiceUnavailable}
	srv := httptest.NewServer(&c)
	t.Cleanup(srv.Close)
	for _, endpoint := range []string{srv.URL, "http://127.0.0.1:1"} {
		x := New(Options{Endpoint: endpoint, Sample: 1})
		const many = 3 * held
		for range many {
			x.Tell(Span{Message: id(1), Part: Send})
		}
		x.Close()
		if n := counted(t, x.dropped); n != many {
			t.Errorf("%s: %v dropped of %d", endpoint, n, many)
		}
	}
}

// What is asked for each message when nothing is traced, or not this one, allocates nothing.
func TestNotTracedCostsNothing(t *testing.T) {
	var off *Tracer
	none := New(Options{Endpoint: "http://127.0.0.1:1"})
	defer none.Close()
	m := id(9)
	if n := testing.AllocsPerRun(1000, func() { off.Samples(m); none.Samples(m) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
