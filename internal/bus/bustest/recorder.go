package bustest

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bus"
)

// patience ends a test that waits for what does not come. Nothing is measured
// with it.
const patience = 30 * time.Second

// again is the time between two tries of what the contract lets fail. Under
// synctest it costs nothing.
const again = 10 * time.Millisecond

// probe is what Settle sends; a Recorder does not keep it.
var probe = []byte("\x00probe")

// Message is one that a Recorder was given.
type Message struct {
	Subject string
	Data    []byte
}

// Recorder is a Handler that keeps what it is given. Probes are counted by
// subject only.
type Recorder struct {
	mu       sync.Mutex
	got      []Message
	lost     []string
	probes   map[string]int
	changed  chan struct{}
	gate     chan struct{} // not nil: calls wait until it is closed
	waiting  int           // calls that wait
	inside   int           // calls that run
	parallel bool          // two ran at once
}

// NewRecorder makes an empty one.
func NewRecorder() *Recorder {
	return &Recorder{probes: map[string]int{}, changed: make(chan struct{}, 1)}
}

func (r *Recorder) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// enter begins a call, and holds it where Block says so.
func (r *Recorder) enter() {
	r.mu.Lock()
	r.inside++
	r.parallel = r.parallel || r.inside > 1
	gate := r.gate
	if gate != nil {
		r.waiting++
	}
	r.mu.Unlock()
	if gate != nil {
		r.signal()
		<-gate
	}
}

// Message is bus.Handler's.
func (r *Recorder) Message(subject string, data []byte) {
	r.enter()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside--
	if bytes.Equal(data, probe) {
		r.probes[subject]++
	} else {
		r.got = append(r.got, Message{subject, bytes.Clone(data)})
	}
	r.signal()
}

// Idle is bus.Handler's.
func (r *Recorder) Idle() {}

// Lost is bus.Handler's.
func (r *Recorder) Lost(reason string) {
	r.enter()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside--
	r.lost = append(r.lost, reason)
	r.signal()
}

// Block holds the calls that come from now on until the returned function is
// called.
func (r *Recorder) Block() (unblock func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gate := make(chan struct{})
	r.gate, r.waiting = gate, 0
	return sync.OnceFunc(func() {
		r.mu.Lock()
		r.gate = nil
		r.mu.Unlock()
		close(gate)
	})
}

// Got returns the messages so far.
func (r *Recorder) Got() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// Count is the number of messages so far.
func (r *Recorder) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// Losses returns the reasons of the Lost calls so far.
func (r *Recorder) Losses() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lost)
}

// rejoined tells whether a Lost came after the first n that says that a route is
// there. One that says that it is not may come besides.
func (r *Recorder) rejoined(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.lost[n:], func(s string) bool {
		return strings.HasPrefix(s, "route") && !strings.HasSuffix(s, " lost")
	})
}

// Reset forgets everything so far.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got, r.lost = nil, nil
	clear(r.probes)
}

func (r *Recorder) isWaiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting > 0
}

func (r *Recorder) probed(subject string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.probes[subject]
}

// Until waits until ok holds. It looks whenever the Recorder was called.
func (r *Recorder) Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	r.retry(t, what, ok, func() {})
}

// retry waits until ok holds and calls try first and now and then.
func (r *Recorder) retry(t testing.TB, what string, ok func() bool, try func()) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(again)
	defer tick.Stop()
	try()
	for !ok() {
		select {
		case <-r.changed:
		case <-tick.C:
			try()
		case <-deadline.C:
			t.Fatalf("waited in vain: %s (%d messages, lost %q)", what, r.Count(), r.Losses())
		}
	}
}

// Settle returns when what from publishes to the subject reaches the Recorder,
// which is the Handler of a Bus that subscribed to it, and everything that was
// published before has come or will not.
func (r *Recorder) Settle(t testing.TB, from bus.Bus, subject string) {
	t.Helper()
	had, sent := r.probed(subject), 0
	r.retry(t, "a message to "+subject, func() bool { return r.probed(subject) > had }, func() {
		from.Publish(subject, probe)
		from.Flush()
		sent++
	})
}
