package bus_test

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/skein-im/skein/internal/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is what a Handler was told, in order.
type log struct {
	calls []string
	hold  chan struct{} // each call takes one
}

func (l *log) Message(subject string, data []byte) {
	<-l.hold
	l.calls = append(l.calls, subject+" "+string(data))
}

func (l *log) Lost(reason string) {
	<-l.hold
	l.calls = append(l.calls, "lost "+reason)
}

// Idle counts nothing: its place is tested by TestInboxIdle.
func (l *log) Idle() {}

// let n calls pass and check what they were.
func (l *log) let(t *testing.T, want ...string) {
	t.Helper()
	for range want {
		l.hold <- struct{}{}
	}
	synctest.Wait()
	if !slices.Equal(l.calls, want) {
		t.Errorf("calls %q, want %q", l.calls, want)
	}
	l.calls = nil
}

func inbox(t *testing.T, messages, bytes int, f func(in *bus.Inbox, l *log)) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{hold: make(chan struct{})}
		in := bus.NewInbox(l, messages, bytes)
		f(in, l)
		close(l.hold)
		in.Close()
	})
}

// TestInboxBound: what does not fit is dropped, and so is everything until the
// Handler has caught up; then it is told, before anything newer.
func TestInboxBound(t *testing.T) {
	inbox(t, 3, 0, func(in *bus.Inbox, l *log) {
		in.Push("a", nil)
		synctest.Wait() // the Handler has the first and waits
		for i := range 10 {
			in.Push("a", []byte(strconv.Itoa(i)))
		}
		l.let(t, "a ", "a 0")
		in.Push("b", nil) // there would be room, but what is older was lost
		l.let(t, "a 1")
		in.Push("c", nil)
		l.let(t, "lost slow consumer", "c ")
		if n := in.Dropped(); n != 9 {
			t.Errorf("%d dropped", n)
		}
		// It works again, and can be overrun again.
		for range 5 {
			in.Push("d", nil)
		}
		l.let(t, "d ", "d ", "d ", "lost slow consumer")
	})
}

func TestInboxBoundOfBytes(t *testing.T) {
	inbox(t, 0, 10, func(in *bus.Inbox, l *log) {
		in.Push("a", []byte("12345"))
		synctest.Wait()
		in.Push("b", []byte("12345")) // just fits
		in.Push("c", []byte("1"))
		l.let(t, "a 12345", "b 12345", "lost slow consumer")
		in.Push("d", []byte("12345678901")) // never fits, and is not waited for
		l.let(t, "lost slow consumer")
		in.Push("e", []byte("1234567890"))
		l.let(t, "e 1234567890")
	})
}

// TestInboxLost: a reason comes before what is pushed later, and once.
func TestInboxLost(t *testing.T) {
	inbox(t, 0, 0, func(in *bus.Inbox, l *log) {
		in.Lost("one")
		synctest.Wait()
		in.Lost("two")
		in.Lost("three")
		in.Lost("two")
		in.Push("a", nil)
		l.let(t, "lost one", "lost two", "lost three", "a ")
	})
}

func TestInboxCloseDropsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{hold: make(chan struct{})}
		in := bus.NewInbox(l, 0, 0)
		in.Push("a", nil)
		in.Push("b", nil)
		synctest.Wait()
		go in.Close()
		synctest.Wait()
		l.let(t, "a ")
		in.Push("c", nil)
		in.Lost("late")
		in.Close()
		if len(l.calls) != 0 {
			t.Errorf("called after Close: %q", l.calls)
		}
	})
}

func BenchmarkInbox(b *testing.B) {
	in := bus.NewInbox(nothing{}, 0, 0)
	data := make([]byte, 1)
	b.ReportAllocs()
	for b.Loop() {
		in.Push("u.1", data)
	}
	in.Close()
}

type nothing struct{}

func (nothing) Message(string, []byte) {}
func (nothing) Idle()                  {}
func (nothing) Lost(string)            {}

// idling writes down when it is idle, too.
type idling struct{ log }

func (l *idling) Idle() { l.calls = append(l.calls, "idle") }

// TestInboxIdle: one Idle follows what had gathered.
func TestInboxIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &idling{log{hold: make(chan struct{})}}
		in := bus.NewInbox(l, 10, 0)
		in.Push("a", nil)
		synctest.Wait()
		in.Push("b", nil)
		in.Push("c", nil)
		close(l.hold)
		synctest.Wait()
		if want := []string{"a ", "idle", "b ", "c ", "idle"}; !slices.Equal(l.calls, want) {
			t.Errorf("calls %q, want %q", l.calls, want)
		}
		in.Close()
	})
}
