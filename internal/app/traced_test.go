package app

import (
	"context"
	"testing"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/tracing"
)

// sink is a logic that answers at once.
type sink struct{ im.Logic }

func (sink) Send(_ context.Context, _ im.Actor, _ im.Message, reply func(im.Ack, error)) {
	reply(im.Ack{}, nil)
}

// With tracing off nothing stands between the parts of the server: what is handed on is the
// part itself.
func TestNothingIsTraced(t *testing.T) {
	cfg := config.Default()
	cfg.Data, cfg.HTTP.Listen, cfg.Admin.Listen = t.TempDir(), "127.0.0.1:0", ""
	a, err := Open(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if a.tracer != nil || a.tracedAsk(a.ask) != a.ask || a.tracedJournal() != im.Journal(a.journal) || a.tracedSender() != any(a.messaging) ||
		a.tracedDispatch(a.gateway) != im.Dispatch(a.gateway) || a.tracedGateway() != any(a.gateway) || a.tracedDeliverer(a.dispatcher) != any(a.dispatcher) {
		t.Error("something stands in the way")
	}
}

// What a send costs at the seam of gateway and logic: with tracing off what it costs
// without, and no more for a message that is not sampled.
func BenchmarkTracedSend(b *testing.B) {
	for _, c := range []struct {
		name   string
		sample float64
		on     bool
	}{{"off", 0, false}, {"not sampled", 0, true}, {"sampled", 1, true}} {
		b.Run(c.name, func(b *testing.B) {
			a := &App{}
			if c.on {
				a.tracer = tracing.New(tracing.Options{Endpoint: "http://127.0.0.1:1", Sample: c.sample})
				defer a.tracer.Close()
			}
			l := a.tracedAsk(sink{})
			reply := func(im.Ack, error) {}
			b.ReportAllocs()
			for b.Loop() {
				l.Send(context.Background(), im.Actor{}, im.Message{}, reply)
			}
		})
	}
}

// The same as numbers that a test holds.
func TestTracingCostsNothingWhenOff(t *testing.T) {
	reply := func(im.Ack, error) {}
	allocs := func(a *App) float64 {
		l := a.tracedAsk(sink{})
		return testing.AllocsPerRun(1000, func() { l.Send(context.Background(), im.Actor{}, im.Message{}, reply) })
	}
	on := &App{tracer: tracing.New(tracing.Options{Endpoint: "http://127.0.0.1:1"})}
	defer on.tracer.Close()
	if off, none := allocs(&App{}), allocs(on); off != 0 || none != 0 {
		t.Errorf("%v allocations when off, %v for what is not sampled", off, none)
	}
}
