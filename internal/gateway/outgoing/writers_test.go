package outgoing

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// member is a session with nothing but its queue. Its connection is itself: frames
// are JSON with a line each, and it takes what the test lets it take.
type member struct {
	wire.Conn
	Queue
	loses bool                   // deliveries may be lost
	hook  atomic.Pointer[func()] // runs before each write, on the goroutine that writes

	mu     sync.Mutex
	cond   sync.Cond
	takes  int // < 0: any number of bytes
	got    []byte
	writes int
}

func (c *member) Over()              { /* nothing is asked for it */ }
func (c *member) Ends(time.Duration) { panic("nobody ended it") }
func (c *member) Lost(im.ParcelHead) {
	if !c.loses {
		panic("nothing was lost")
	}
}
func (c *member) Place() bool       { return false }
func (c *member) Log() *slog.Logger { return slog.New(slog.DiscardHandler) }
func (c *member) Info() wire.ConnInfo {
	return wire.ConnInfo{Codec: wire.JSON().Name(), Framing: "line"}
}

func (c *member) AppendMessage(dst, payload []byte) []byte {
	return append(append(dst, payload...), '\n')
}

func (c *member) TryWrite(p []byte) (int, error) {
	if f := c.hook.Load(); f != nil {
		(*f)()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accept(p), nil
}

// accept takes what it takes. Caller holds mu.
func (c *member) accept(p []byte) int {
	n := len(p)
	if c.takes >= 0 {
		n = min(n, c.takes)
		c.takes -= n
	}
	c.got = append(c.got, p[:n]...)
	c.writes++
	return n
}

func (c *member) Write(p []byte, _ time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(p) > 0 {
		for c.takes == 0 {
			c.cond.Wait()
		}
		p = p[c.accept(p):]
	}
	return nil
}

// take lets it take everything from now on.
func (c *member) take() {
	c.mu.Lock()
	c.takes = -1
	c.cond.Broadcast()
	c.mu.Unlock()
}

// heard is what was written since the last call.
func (c *member) heard() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		i := slices.Index(c.got, '\n')
		if i < 0 {
			return out
		}
		f := new(wire.ServerFrame)
		switch err := wire.JSON().Decode(c.got[:i], f); {
		case err != nil:
			out = append(out, err.Error())
		case f.GetPush() != nil:
			out = append(out, "push "+f.GetPush().Position)
		case f.GetPong() != nil:
			out = append(out, "pong")
		case f.GetSendAck() != nil:
			out = append(out, fmt.Sprint("ack ", f.GetSendAck().Seq))
		}
		c.got = c.got[i+1:]
	}
}

// before has f run before each write from now on.
func (c *member) before(f func()) { c.hook.Store(&f) }

// audience is a number of sessions over two writers.
type audience struct {
	t   *testing.T
	all *Queues
	of  []*member
	seq int
}

func newAudience(t *testing.T, n int) *audience {
	counts := &Counts{SendSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{}), DeliverSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{})}
	a := &audience{t: t, all: New(Options{
		QueueBytes: 1 << 20, InFlight: 100, Write: time.Minute, AckPatience: 50 * time.Millisecond, Codecs: []wire.Codec{wire.JSON()}, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Counts: counts, Tick: func() int64 { return 0 }, Writers: 2,
	})}
	for i := range n {
		c := &member{takes: -1}
		c.cond.L = &c.mu
		c.Begin(a.all, c, c, a.all.KindOf(c.Info()), im.ConnectionID(fmt.Sprint(i)), uint64(i))
		if !c.Welcome(wire.NewServerFrame(&wire.Welcome{})) {
			t.Fatal("not welcome")
		}
		c.Flush()
		c.heard()
		a.of = append(a.of, c)
	}
	return a
}

// push queues something for some of them and has it written.
func (a *audience) push(to []*member) {
	a.seq++
	f := a.all.Fanout(wire.NewServerFrame(&wire.Push{Position: fmt.Sprint(a.seq)}), len(to))
	for _, c := range to {
		f.To(&c.Queue)
	}
	f.End()
	a.all.Flush()
}

// hold keeps whoever writes to the i-th until the returned function is called.
func (a *audience) hold(i int) (release func()) {
	gate := make(chan struct{})
	a.of[i].before(func() { <-gate })
	return sync.OnceFunc(func() { close(gate) })
}

// hears compares what one has heard since the last time.
func (c *member) hears(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := c.heard(); !slices.Equal(got, want) {
		t.Errorf("heard %q, want %q", got, want)
	}
}

// What few are told is written by whoever flushes, at once: nobody is woken for it.
func TestFewAreWrittenByTheFlush(t *testing.T) {
	for _, n := range []int{0, 1, 2, writeHere} {
		synctest.Test(t, func(t *testing.T) {
			a := newAudience(t, n+1)
			a.push(a.of[:n])
			for i, c := range a.of {
				if got := len(c.heard()); got != min(1, max(0, n-i)) { // no synctest.Wait: Flush has returned
					t.Errorf("%d of %d: heard %d", i, n, got)
				}
			}
		})
	}
}

// Many are the writers': nobody who delivers writes to a socket, whatever that
// takes. What comes meanwhile is written with it.
func TestManyAreTheWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAudience(t, writeHere+1)
		var release []func()
		for i := range a.of {
			release = append(release, a.hold(i))
		}
		var flushed atomic.Int32
		go func() {
			for range 3 {
				a.push(a.of)
				flushed.Add(1)
			}
		}()
		synctest.Wait()
		if n := flushed.Load(); n != 3 {
			t.Errorf("%d of 3 batches delivered while sockets are written to", n)
		}
		for _, f := range release {
			f()
		}
		for i, c := range a.of {
			synctest.Wait()
			if got := c.heard(); !slices.Equal(got, []string{"push 1", "push 2", "push 3"}) {
				t.Errorf("%d heard %q", i, got)
			}
			if c.writes > 3 {
				t.Errorf("%d: %d writes for the Welcome, the first push and those that came meanwhile", i, c.writes)
			}
		}
	})
}

// A writer that is held up holds up its own sessions and no others.
func TestWritersAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAudience(t, 4*writeHere)
		release := a.hold(0)
		a.push(a.of)
		a.push(a.of[:2]) // few, but the first one's writer is at work: left to it
		synctest.Wait()
		others := 0
		for i, c := range a.of {
			want := 2
			switch {
			case c.writer == a.of[0].writer:
				want = 0
			case i >= 2:
				want = 1
			}
			if got := len(c.heard()); got != want {
				t.Errorf("%d heard %d frames, want %d", i, got, want)
			} else if got > 0 {
				others++
			}
		}
		if others != len(a.of)/2 {
			t.Errorf("one of two writers is held up, and %d of %d connections go on", others, len(a.of))
		}
		release()
		a.of[0].hears(t, "push 1", "push 2")
	})
}

// A peer that takes nothing has a goroutine of its own; its writer goes on.
func TestSlowReaderHoldsUpNoWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAudience(t, 4*writeHere)
		a.of[0].takes = 0
		a.of[1].takes = 3 // some of a frame
		for range 3 {
			a.push(a.of)
			synctest.Wait()
		}
		for i, c := range a.of[2:] {
			if got := len(c.heard()); got != 3 {
				t.Errorf("%d heard %d", i+2, got)
			}
		}
		for _, c := range a.of[:2] {
			c.take()
			c.hears(t, "push 1", "push 2", "push 3")
		}
	})
}

// A session waits in a queue once, however often it has something to write: what
// waits for a writer is bounded by who is connected.
func TestWritersQueuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pushesFirst + 3*writerChunk
		a := newAudience(t, n)
		releases := []func(){a.hold(0), a.hold(1)}
		for range 20 {
			a.push(a.of)
		}
		synctest.Wait()
		for i := range a.all.writers.all {
			w := &a.all.writers.all[i]
			if soon, later := w.soon.len(), w.later.len(); soon > n/2 || later > n/2 || later == 0 || cap(w.soon.list) > 4*n {
				t.Errorf("%d and %d wait for one of two writers, in memory for %d, of %d sessions", soon, later, cap(w.soon.list), n)
			}
		}
		for _, f := range releases {
			f()
		}
		for i, c := range a.of {
			synctest.Wait()
			if got := c.heard(); len(got) != 20 || got[0] != "push 1" || got[19] != "push 20" {
				t.Fatalf("%d heard %q", i, got)
			}
		}
		for i := range a.all.writers.all {
			if w := &a.all.writers.all[i]; w.running || w.soon.len()+w.later.len() > 0 {
				t.Error("a writer with nothing to write runs")
			}
		}
	})
}

// An ack passes the pushes of a large group, also for somebody who waits among
// those for their own push.
func TestAcksPassManyPushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pushesFirst + 6*writerChunk
		a := newAudience(t, n)
		last := a.of[n-1]
		release, other := a.hold(0), a.hold(1)
		a.push(a.of)
		synctest.Wait()
		last.Send(wire.NewServerFrame(&wire.Pong{}))
		last.markDirty()
		a.all.Flush()
		var mu sync.Mutex
		var order []int
		for i := range a.of {
			if i > 1 {
				a.of[i].before(func() {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
				})
			}
		}
		release()
		other()
		synctest.Wait()
		passed, behind := slices.Index(order, n-1), 0
		for _, i := range order[passed:] {
			if a.of[i].writer == last.writer {
				behind++
			}
		}
		if behind < 3*writerChunk/2 {
			t.Errorf("written as number %d of %d, %d of its writer's behind it", passed, len(order), behind)
		}
	})
}

// What a session answers while its writer writes to it is left to the writer.
func TestOneWritesAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAudience(t, writeHere+1)
		gate := make(chan struct{})
		var writing atomic.Int32
		a.of[0].before(func() {
			writing.Add(1)
			<-gate
			writing.Add(-1)
		})
		a.push(a.of)
		synctest.Wait()
		a.of[0].Send(wire.NewServerFrame(&wire.Pong{}))
		go a.of[0].FlushOwn()
		synctest.Wait()
		if n := writing.Load(); n != 1 {
			t.Errorf("%d write to one connection at once", n)
		}
		close(gate)
		a.of[0].hears(t, "push 1", "pong")
	})
}

// Whoever flushes and whoever writes, the pushes of a connection leave in their
// order.
func TestWritersKeepTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAudience(t, 3*writeHere)
		const batches = 300
		var all sync.WaitGroup
		all.Go(func() {
			for i := range batches {
				if i%3 == 0 {
					a.push(a.of)
				} else {
					a.push(a.of[:writeHere])
				}
			}
		})
		for range 2 {
			all.Go(func() {
				for range batches {
					a.all.Flush()
				}
			})
		}
		all.Wait()
		synctest.Wait()
		for i, c := range a.of {
			step := 3
			if i < writeHere {
				step = 1
			}
			var want []string
			for seq := 1; seq <= batches; seq += step {
				want = append(want, fmt.Sprintf("push %d", seq))
			}
			if got := c.heard(); !slices.Equal(got, want) {
				t.Errorf("%d heard %d pushes, want %d: %q", i, len(got), len(want), got[:min(3, len(got))])
			}
		}
	})
}
