package sdkconformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// Options say which client is held to the scenarios, and how.
type Options struct {
	// Driver is the command that starts it, with its arguments, and Env what is added to
	// its environment.
	Driver []string
	Env    []string
	// Protobuf: the connection speaks protobuf, not JSON.
	Protobuf bool
	// Parallel scenarios, at least 1.
	Parallel int
	// Patience is how long one step waits, Scenario how long all of them have. Settle is
	// how long nothing more may come after the last one. Zero: 10 s, 60 s, 50 ms.
	Patience, Scenario, Settle time.Duration
}

// Outcome is what became of a scenario.
type Outcome string

// The outcomes.
const (
	Passed      Outcome = "passed"
	Failed      Outcome = "failed"
	Unsupported Outcome = "unsupported" // the driver cannot do what it needs
)

// Result is what became of one scenario.
type Result struct {
	Name    string   `json:"name"`
	Spec    []string `json:"spec"`
	About   string   `json:"about"`
	Outcome Outcome  `json:"outcome"`
	// Reason it did not pass.
	Reason  string  `json:"reason,omitempty"`
	Seconds float64 `json:"seconds"`
	// Story is everything that was said and done, and Stderr the end of what the
	// driver wrote there, of one that failed.
	Story  []string `json:"story,omitempty"`
	Stderr string   `json:"stderr,omitempty"`
}

// Run plays all scenarios and tells each result as it comes, in any order, by one
// goroutine at a time. It returns when all are over; once ctx ends no more begin.
func Run(ctx context.Context, scenarios []*Scenario, o Options, tell func(Result)) {
	todo := make(chan *Scenario)
	results := make(chan Result)
	var wg sync.WaitGroup
	for range max(1, o.Parallel) {
		wg.Go(func() {
			for s := range todo {
				results <- Play(ctx, s, o)
			}
		})
	}
	go func() {
		defer close(results)
		for _, s := range scenarios {
			select {
			case todo <- s:
			case <-ctx.Done():
			}
		}
		close(todo)
		wg.Wait()
	}()
	for r := range results {
		tell(r)
	}
}

// Play plays one scenario, until ctx ends.
func Play(ctx context.Context, s *Scenario, o Options) Result {
	o.Patience = cmp.Or(o.Patience, 10*time.Second)
	o.Scenario = cmp.Or(o.Scenario, time.Minute)
	o.Settle = cmp.Or(o.Settle, 50*time.Millisecond)
	r := Result{Name: s.Name, Spec: s.Spec, About: s.About, Outcome: Passed}
	began := time.Now()
	p, err := newPlay(ctx, s, &o)
	if err == nil {
		err = p.run()
		p.stop()
	}
	r.Seconds = time.Since(began).Seconds()
	switch {
	case err == nil:
		return r
	case errors.Is(err, errUnsupported):
		r.Outcome = Unsupported
	default:
		r.Outcome = Failed
	}
	r.Reason = err.Error()
	if p != nil {
		r.Story = p.story
		if p.driver != nil {
			r.Stderr = p.driver.stderr.String()
		}
	}
	return r
}

func newPlay(ctx context.Context, s *Scenario, o *Options) (*play, error) {
	dir, err := os.MkdirTemp("", "skein-sdk-")
	if err != nil {
		return nil, err
	}
	codec := wire.JSON()
	if o.Protobuf {
		codec = wire.Protobuf()
	}
	in := &inbox{c: make(chan item, 256), done: make(chan struct{})}
	server, err := newServer(in, codec)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the scenario's server: %w", err), os.RemoveAll(dir))
	}
	p := &play{
		ctx: ctx, s: s, o: o, dir: filepath.Clean(dir), in: in, server: server,
		vars: vars{"token": "token-1"}, told: map[string]bool{}, ids: map[string]any{}, began: time.Now(), end: time.Now().Add(o.Scenario),
		fill:  completer{conversation: s.Conversation, timeline: "timeline-1"},
		start: map[string]any{"token": "token-1", "device": "device-1", "random": num(0)},
	}
	for k, v := range s.Start {
		p.start[k] = v
	}
	p.vars["token"] = p.start["token"]
	return p, nil
}
