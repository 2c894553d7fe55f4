// Package tracing tells a collector of OpenTelemetry what became of single messages: which
// parts of the server had them, for how long, and with which result.
//
// It owns the spans' identities and the way to the collector (OTLP over HTTP, in JSON). It
// must not know what a message says, who wrote it or to whom: a span has the message's id,
// its number and codes.
//
// A message's id is the id of its trace, and ids of spans are made of it: so every node
// tells of the same trace without anything being carried between them, and all sample the
// same messages.
//
// Invariants: nothing waits for the collector, and nothing fails with it. What there is no
// room for is dropped and counted. Who does not trace pays nothing: there is no Tracer then,
// and internal/app puts nothing in the way of a message.
//
// Goroutines: one, which sends. Locks: none.
package tracing

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

const (
	// held is how many spans may wait for the collector; batch are sent at a time, and those
	// that there are after every.
	held  = 8192
	batch = 512
	every = 2 * time.Second
	// sendTime bounds one request.
	sendTime = 10 * time.Second
)

// The parts of the server that tell of a message.
const (
	// Receive is from a message's arrival at a gateway until its answer.
	Receive = "gateway receive"
	// Send is from its arrival at the logic role until it is stored or refused.
	Send = "logic send"
	// Append is the commit of the batch that it is in.
	Append = "journal append"
	// Deliver is until it is handed to all gateways.
	Deliver = "dispatch deliver"
	// Push is its being queued for the connections of one gateway.
	Push = "gateway push"
)

// Span is a part of the server that had a message.
type Span struct {
	Message im.MessageID
	// Part is one of the constants; Parent is the one that it is a part of, "" for none.
	Part, Parent string
	// ParentHere: the parent is this node's.
	ParentHere bool
	Start, End time.Time
	Seq        uint64  // 0: not known
	Code       im.Code // "": it went well
	Users      int     // of a Push to users: how many
}

// Options of a Tracer.
type Options struct {
	// Endpoint is the collector's base URL, as http://127.0.0.1:4318.
	Endpoint string
	// Sample is which part of all messages is told, from 0 to 1.
	Sample float64
	// Node and Version name this process.
	Node, Version string
	Client        *http.Client // default: one with a time limit
	Logger        *slog.Logger
	Registerer    prometheus.Registerer
}

// Tracer collects spans. Close ends it.
type Tracer struct {
	o       Options
	below   uint64 // sampled are those whose hash is below this
	spans   chan Span
	dropped prometheus.Counter
	sent    prometheus.Counter
	done    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

// New makes a Tracer and begins to send.
func New(o Options) *Tracer {
	if o.Client == nil {
		o.Client = &http.Client{Timeout: sendTime}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Tracer{
		o: o, spans: make(chan Span, held), done: make(chan struct{}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "skein_tracing_dropped_total", Help: "Spans that the collector did not get, because it was slow, away, or refused them."}),
		sent:    prometheus.NewCounter(prometheus.CounterOpts{Name: "skein_tracing_spans_total", Help: "Spans that the collector took."}),
	}
	switch {
	case o.Sample >= 1:
		t.below = math.MaxUint64
	case o.Sample > 0:
		t.below = uint64(o.Sample * math.MaxUint64)
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(t.dropped, t.sent)
	}
	t.wg.Go(t.run)
	return t
}

// Samples tells whether a message is told of: on every node the same.
func (t *Tracer) Samples(id im.MessageID) bool {
	if t == nil || t.below == 0 {
		return false
	}
	// The last bytes of an id are random; a multiplication spreads them.
	h := binary.BigEndian.Uint64(id[8:]) * 0x9e3779b97f4a7c15
	return h <= t.below
}

// Tell takes a span of a message that is sampled.
func (t *Tracer) Tell(s Span) {
	select {
	case t.spans <- s:
	default:
		t.dropped.Inc()
	}
}

// Close sends what there is, for a moment, and ends.
func (t *Tracer) Close() {
	t.once.Do(func() { close(t.done) })
	t.wg.Wait()
}

func (t *Tracer) run() {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var waiting []Span
	flush := func() {
		if len(waiting) > 0 {
			t.send(waiting)
			waiting = waiting[:0]
		}
	}
	for {
		select {
		case s := <-t.spans:
			if waiting = append(waiting, s); len(waiting) >= batch {
				flush()
			}
		case <-tick.C:
			flush()
		case <-t.done:
			for {
				select {
				case s := <-t.spans:
					waiting = append(waiting, s)
					continue
				default:
				}
				flush()
				return
			}
		}
	}
}

// send gives spans to the collector, once: what it does not take is dropped.
func (t *Tracer) send(spans []Span) {
	body, err := json.Marshal(t.request(spans))
	if err == nil {
		err = t.post(body)
	}
	if err != nil {
		t.dropped.Add(float64(len(spans)))
		t.o.Logger.Warn("the collector of traces did not take spans; they are dropped", "spans", len(spans), "err", err)
		return
	}
	t.sent.Add(float64(len(spans)))
}

func (t *Tracer) post(body []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(t.o.Endpoint, "/")+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.o.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // the connection is used again
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", t.o.Endpoint, resp.Status)
	}
	return nil
}

// The form of OTLP's ExportTraceServiceRequest in JSON, as far as it is used.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Status     *status     `json:"status,omitempty"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String string `json:"stringValue,omitempty"`
		Int    string `json:"intValue,omitempty"`
	}
)

// OTLP's numbers of kinds of spans and of the status of one that failed.
const (
	kindInternal, kindServer = 1, 2
	statusError              = 2
)

func text(key, v string) attribute { return attribute{key, value{String: v}} }
func integer(key string, v uint64) attribute {
	return attribute{key, value{Int: strconv.FormatUint(v, 10)}}
}

func (t *Tracer) request(spans []Span) *request {
	out := make([]span, len(spans))
	for i := range spans {
		out[i] = t.span(&spans[i])
	}
	about := []attribute{text("service.name", "skein")}
	if t.o.Version != "" {
		about = append(about, text("service.version", t.o.Version))
	}
	if t.o.Node != "" {
		about = append(about, text("service.instance.id", t.o.Node))
	}
	return &request{[]resourceSpans{{resource{about}, []scopeSpans{{scope{"skein", t.o.Version}, out}}}}}
}

func (t *Tracer) span(s *Span) span {
	x := span{
		TraceID: hex.EncodeToString(s.Message[:]), SpanID: t.id(s.Message, s.Part, true), Name: s.Part, Kind: kindInternal,
		Start: nanos(s.Start), End: nanos(s.End),
	}
	if s.Part == Receive {
		x.SpanID, x.Kind = t.id(s.Message, s.Part, false), kindServer
	}
	if s.Parent != "" {
		x.ParentID = t.id(s.Message, s.Parent, s.ParentHere)
	}
	if s.Seq > 0 {
		x.Attributes = append(x.Attributes, integer("skein.seq", s.Seq))
	}
	if s.Users > 0 {
		x.Attributes = append(x.Attributes, integer("skein.users", uint64(s.Users)))
	}
	if s.Code != "" {
		x.Attributes = append(x.Attributes, text("error.type", string(s.Code)))
		x.Status = &status{string(s.Code), statusError}
	}
	return x
}

// id is the id of a span: of a part of the server on this node, or on whichever.
func (t *Tracer) id(m im.MessageID, part string, here bool) string {
	h := fnv.New64a()
	_, _ = h.Write(m[:]) // it never fails
	_, _ = io.WriteString(h, part)
	if here {
		_, _ = io.WriteString(h, "@"+t.o.Node)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
