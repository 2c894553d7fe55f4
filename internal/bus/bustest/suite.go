// Package bustest is what every bus has to pass: the contract of package bus as
// tests. Each implementation runs it, in a rig of its own.
//
// It must not know an implementation. No test measures time or sleeps: what the
// contract lets fail is tried again until it works, or until patience ends.
package bustest

import (
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/bus"
)

// Limits bound the inbox of a node; zero is the default.
type Limits struct{ Messages, Bytes int }

// Rig is a set of nodes of one implementation. A test uses up one.
type Rig interface {
	// Open starts a node, or starts it again. The first is the seed; every other
	// knows the seed only.
	Open(t *testing.T, name string, h bus.Handler, l Limits) bus.Bus
	// Cut lets nothing through between two nodes. It returns when that is so.
	Cut(t *testing.T, a, b string)
	// Mend ends a Cut.
	Mend(t *testing.T, a, b string)
}

// Test is one of the suite's.
type Test struct {
	Name string
	Run  func(t *testing.T, rig Rig)
}

// Tests are the whole suite. The caller runs each with a new Rig, under synctest
// if it can.
func Tests() []Test {
	return []Test{
		{"Delivery", testDelivery},
		{"Order", testOrder},
		{"Interest", testInterest},
		{"Subjects", testSubjects},
		{"Sizes", testSizes},
		{"DataIsNotKept", testDataIsNotKept},
		{"ManySubscriptions", testManySubscriptions},
		{"HandlerMayUseTheBus", testHandlerMayUseTheBus},
		{"SlowConsumer", testSlowConsumer},
		{"SlowConsumerBytes", testSlowConsumerBytes},
		{"BlockedConsumerLeavesOthersAlone", testBlockedConsumer},
		{"CutAndMend", testCutAndMend},
		{"CutBetweenOthers", testCutBetweenOthers},
		{"Restart", testRestart},
		{"JoinThroughOneSeed", testJoin},
		{"CloseWhilePublishing", testCloseWhilePublishing},
		{"Closed", testClosed},
	}
}

// member is a node with its Recorder.
type member struct {
	name string
	bus.Bus
	*Recorder
}

func open(t *testing.T, rig Rig, name string, l Limits) *member {
	t.Helper()
	r := NewRecorder()
	m := &member{name, rig.Open(t, name, r, l), r}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
		if r.parallel {
			t.Errorf("%s: the Handler was called from two goroutines at once", name)
		}
	})
	return m
}

func (m *member) subscribe(t *testing.T, subjects ...string) {
	t.Helper()
	for _, s := range subjects {
		if err := m.Subscribe(s); err != nil {
			t.Fatalf("subscribe %q: %v", s, err)
		}
	}
}

// settle makes sure that the subject reaches every one of the others.
func (m *member) settle(t *testing.T, subject string, others ...*member) {
	t.Helper()
	for _, o := range others {
		o.Settle(t, m, subject)
	}
}

// send publishes and flushes.
func (m *member) send(subject, data string) {
	m.Publish(subject, []byte(data))
	m.Flush()
}

// expect waits for n messages and checks that there are no more.
func (m *member) expect(t *testing.T, n int) []Message {
	t.Helper()
	m.Until(t, fmt.Sprintf("%d messages at %s", n, m.name), func() bool { return m.Count() >= n })
	got := m.Got()
	if len(got) != n {
		t.Fatalf("%s got %d messages, want %d", m.name, len(got), n)
	}
	return got
}
