// Package otlp has what a server tells of a message read by the code that OpenTelemetry's
// own collector reads it with. It is a module of its own, so that the server's has none of
// that.
package otlp

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/server"
	"github.com/skein-im/skein/wire"
)

const patience = 30 * time.Second

// TestCollectorReads: a message's trace arrives at a collector as spans with ids, times and
// a service, whose parents are there.
func TestCollectorReads(t *testing.T) {
	got := make(chan ptrace.Traces, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		q := ptraceotlp.NewExportRequest()
		if err == nil {
			err = q.UnmarshalJSON(raw)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v: %s", r.URL.Path, err, raw)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- q.Traces()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"partialSuccess":{}}`))
	}))
	defer collector.Close()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := server.Open(ctx, server.Options{Settings: map[string]string{
		"data": filepath.Join(t.TempDir(), "data"), "http.listen": "127.0.0.1:0", "admin.listen": "", "gateway.drain_time": "0s",
		"node.name": "lonely", "tracing.endpoint": collector.URL, "tracing.sample": "1",
	}})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	device := &wire.Device{Id: "d1", Class: wire.DeviceClass_DEVICE_CLASS_OTHER}
	tokens, err := skein.Register(t.Context(), s.URL(), &wire.RegisterRequest{Username: "ann", Password: "correct horse", Device: device})
	if err != nil {
		t.Fatal(err)
	}
	c, err := skein.Dial(t.Context(), "ws"+s.URL()[len("http"):]+"/ws", skein.WithToken(tokens.AccessToken), skein.WithDevice(device.Id, device.Class, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := c.DM(tokens.User).Send(t.Context(), "a note")
	if err != nil {
		t.Fatal(err)
	}
	seen := spans{ids: map[string]bool{}, parents: map[string]string{}}
	for timeout := time.After(patience); len(seen.parents) < 5; {
		select {
		case all := <-got:
			seen.of(t, all, hex.EncodeToString(m.ID[:]))
		case <-timeout:
			t.Fatalf("only %v", seen.parents)
		}
	}
	for name, parent := range seen.parents {
		if parent != "" && !seen.ids[parent] {
			t.Errorf("the parent of %s is not there", name)
		}
	}
}

// spans are those of one trace: their ids, and their parents by their names.
type spans struct {
	ids     map[string]bool
	parents map[string]string
}

func (s *spans) of(t *testing.T, all ptrace.Traces, trace string) {
	for _, rs := range all.ResourceSpans().All() {
		service, _ := rs.Resource().Attributes().Get("service.name")
		node, _ := rs.Resource().Attributes().Get("service.instance.id")
		if service.Str() != "skein" || node.Str() != "lonely" {
			t.Errorf("service %q, node %q", service.Str(), node.Str())
		}
		for _, ss := range rs.ScopeSpans().All() {
			for _, x := range ss.Spans().All() {
				if id := x.TraceID(); hex.EncodeToString(id[:]) != trace {
					continue
				}
				if x.EndTimestamp() < x.StartTimestamp() || time.Since(x.StartTimestamp().AsTime()) > time.Hour || x.SpanID().IsEmpty() {
					t.Errorf("%s: from %v to %v", x.Name(), x.StartTimestamp(), x.EndTimestamp())
				}
				s.ids[x.SpanID().String()], s.parents[x.Name()] = true, x.ParentSpanID().String()
			}
		}
	}
}
