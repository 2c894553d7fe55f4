package gateway

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// hookConn is a scriptConn with something that runs before each write, on the
// goroutine that writes.
type hookConn struct {
	*scriptConn
	hook atomic.Pointer[func()]
}

func (c *hookConn) TryWrite(p []byte) (int, error) {
	if f := c.hook.Load(); f != nil {
		(*f)()
	}
	return c.scriptConn.TryWrite(p)
}

// before has f run before each write from now on.
func (c *hookConn) before(f func()) { c.hook.Store(&f) }

// audience is a number of users with a connection each.
type audience struct {
	w     *world
	users []im.UserID
	conns []*hookConn
	seq   uint64
}

// newAudience has n users, of a gateway with two writers.
func newAudience(t *testing.T, n int) *audience {
	a := &audience{w: newWorld(t)}
	a.w.g.out.writers = newWriters(a.w.g.out, 2)
	for i := range n {
		u := im.UserID(fmt.Sprintf("u%d", i))
		c := &hookConn{scriptConn: newScript(wire.Protobuf(), hello(string(u), "1", phone))}
		go a.w.g.Serve(c)
		c.hears(t, "welcome "+string(u))
		a.users, a.conns = append(a.users, u), append(a.conns, c)
	}
	return a
}

// writer is whose sessions the i-th user's is.
func (a *audience) writer(i int) *writer {
	s := a.w.g.users.of(a.users[i])[0]
	return &a.w.g.out.writers.all[s.writer]
}

// push queues an entry for users and has it written.
func (a *audience) push(users []im.UserID) {
	a.seq++
	a.w.g.ToUsers(users, parcel(entry(im.DM("a", "b"), a.seq, "x")))
	a.w.g.Flush()
}

// hold keeps whoever writes to the i-th user until the returned function is called.
func (a *audience) hold(i int) (release func()) {
	gate := make(chan struct{})
	a.conns[i].before(func() { <-gate })
	return sync.OnceFunc(func() { close(gate) })
}

// What few are told is written by whoever flushes, at once: nobody is woken for it.
func TestFewAreWrittenByTheFlush(t *testing.T) {
	for _, n := range []int{0, 1, 2, writeHere} {
		bubble(t, func(t *testing.T) {
			a := newAudience(t, n+1)
			a.push(a.users[:n])
			for i, c := range a.conns {
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
	bubble(t, func(t *testing.T) {
		a := newAudience(t, writeHere+1)
		var release []func()
		for i := range a.conns {
			release = append(release, a.hold(i))
		}
		var flushed atomic.Int32
		go func() {
			for range 3 {
				a.push(a.users)
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
		for i, c := range a.conns {
			synctest.Wait()
			if got := c.heard(); !slices.Equal(got, []string{"push dm:a:b#1=x", "push dm:a:b#2=x", "push dm:a:b#3=x"}) {
				t.Errorf("%d heard %q", i, got)
			}
			if writes, _ := c.counts(); writes > 3 {
				t.Errorf("%d: %d writes for the Welcome, the first push and those that came meanwhile", i, writes)
			}
		}
	})
}

// A writer that is held up holds up its own sessions and no others.
func TestWritersAreApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAudience(t, 4*writeHere)
		release := a.hold(0)
		a.push(a.users)
		a.push(a.users[:2]) // few, but the first one's writer is at work: left to it
		synctest.Wait()
		others := 0
		for i, c := range a.conns {
			want := 2
			switch {
			case a.writer(i) == a.writer(0):
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
		if others != len(a.conns)/2 {
			t.Errorf("one of two writers is held up, and %d of %d connections go on", others, len(a.conns))
		}
		release()
		a.conns[0].hears(t, "push dm:a:b#1=x", "push dm:a:b#2=x")
	})
}

// A peer that takes nothing has a goroutine of its own; its writer goes on.
func TestSlowReaderHoldsUpNoWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAudience(t, 4*writeHere)
		a.conns[0].take(0)
		a.conns[1].take(3) // some of a frame
		for range 3 {
			a.push(a.users)
			synctest.Wait()
		}
		for i, c := range a.conns[2:] {
			if got := len(c.heard()); got != 3 {
				t.Errorf("%d heard %d", i+2, got)
			}
		}
		for _, c := range a.conns[:2] {
			c.take(-1)
			c.hears(t, "push dm:a:b#1=x", "push dm:a:b#2=x", "push dm:a:b#3=x")
		}
	})
}

// A session waits in a queue once, however often it has something to write: what
// waits for a writer is bounded by who is connected.
func TestWritersQueuesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := pushesFirst + 3*writerChunk
		a := newAudience(t, n)
		releases := []func(){a.hold(0), a.hold(1)}
		for range 20 {
			a.push(a.users)
		}
		synctest.Wait()
		for i := range a.w.g.out.writers.all {
			w := &a.w.g.out.writers.all[i]
			if soon, later := w.soon.len(), w.later.len(); soon > n/2 || later > n/2 || later == 0 || cap(w.soon.list) > 4*n {
				t.Errorf("%d and %d wait for one of two writers, in memory for %d, of %d sessions", soon, later, cap(w.soon.list), n)
			}
		}
		for _, f := range releases {
			f()
		}
		for i, c := range a.conns {
			synctest.Wait()
			if got := c.heard(); len(got) != 20 || got[0] != "push dm:a:b#1=x" || got[19] != "push dm:a:b#20=x" {
				t.Fatalf("%d heard %q", i, got)
			}
		}
		for i := range a.w.g.out.writers.all {
			if w := &a.w.g.out.writers.all[i]; w.running || w.soon.len()+w.later.len() > 0 {
				t.Error("a writer with nothing to write runs")
			}
		}
	})
}

// An ack passes the pushes of a large group, also for somebody who waits among
// those for their own push.
func TestAcksPassManyPushes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := pushesFirst + 6*writerChunk
		a := newAudience(t, n)
		last := n - 1
		if a.writer(0) == a.writer(last) {
			last--
		}
		release, other := a.hold(0), a.hold(1)
		var reply func(im.Ack, error)
		a.w.logic.send = func(_ im.Actor, _ im.Message, r func(im.Ack, error)) { reply = r }
		a.push(a.users)
		a.conns[last].say(text(string(dm), 1, "x"))
		synctest.Wait()
		reply(im.Ack{Seq: 1}, nil)
		a.w.g.Flush()
		var mu sync.Mutex
		var order []int
		for i := range a.conns {
			if i > 1 {
				a.conns[i].before(func() {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
				})
			}
		}
		release()
		other()
		synctest.Wait()
		passed, behind := slices.Index(order, last), 0
		for _, i := range order[passed:] {
			if a.writer(i) == a.writer(last) {
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
	bubble(t, func(t *testing.T) {
		a := newAudience(t, writeHere+1)
		gate := make(chan struct{})
		var writing atomic.Int32
		a.conns[0].before(func() {
			writing.Add(1)
			<-gate
			writing.Add(-1)
		})
		a.push(a.users)
		a.conns[0].say(wire.NewClientFrame(&wire.Ping{}))
		synctest.Wait()
		if n := writing.Load(); n != 1 {
			t.Errorf("%d write to one connection at once", n)
		}
		close(gate)
		a.conns[0].hears(t, "push dm:a:b#1=x", "pong")
	})
}

// Whoever flushes and whoever writes, the pushes of a connection leave in their
// order.
func TestWritersKeepTheOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newAudience(t, 3*writeHere)
		const batches = 300
		var all sync.WaitGroup
		all.Go(func() {
			for i := range batches {
				if i%3 == 0 {
					a.push(a.users)
				} else {
					a.push(a.users[:writeHere])
				}
			}
		})
		for range 2 {
			all.Go(func() {
				for range batches {
					a.w.g.Flush()
				}
			})
		}
		all.Wait()
		synctest.Wait()
		for i, c := range a.conns {
			step := 3
			if i < writeHere {
				step = 1
			}
			var want []string
			for seq := 1; seq <= batches; seq += step {
				want = append(want, fmt.Sprintf("push dm:a:b#%d=x", seq))
			}
			if got := c.heard(); !slices.Equal(got, want) {
				t.Errorf("%d heard %d pushes, want %d: %q", i, len(got), len(want), got[:min(3, len(got))])
			}
		}
	})
}
