package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/wire"
)

func newReport(scenario string, o Options) *Report {
	return &Report{Scenario: scenario, Settings: map[string]any{
		"connections": o.Connections, "transport": o.Transport, "codec": o.Codec, "duration_s": o.Duration.Seconds(),
		"warmup_s": o.Warmup.Seconds(), "rate": o.Rate, "window": o.Window, "payload": o.Payload, "durable": true,
	}}
}

func (r *Report) machine(s *Server) (err error) {
	r.Machine.Cores = runtime.NumCPU()
	r.Machine.FsyncMicros, err = s.fsyncMicros()
	return err
}

// chat is the state of a one-to-one run: user 2i writes to 2i+1 and back.
type chat struct {
	o        Options
	users    []*chatUser
	counting atomic.Bool // warm-up is over
	stopping atomic.Bool
	ack      histogram
	delivery histogram
	frames   atomic.Uint64
	sent, acked, rejected,
	delivered, duplicated, disordered atomic.Uint64
	failed chan error
}

type chatUser struct {
	*user
	c     *chat
	peer  *chatUser
	to    string // conversation
	ids   *wire.IDSource
	mu    sync.Mutex // guards sending: queue, flush, pending, n
	n     uint64     // messages sent
	wait  map[[16]byte]sending
	free  chan struct{} // closed loop: a place in the window
	got   map[uint64]bool
	last  uint64          // greatest number received
	marks uint64          // greatest seq received
	acks  map[uint64]bool // numbers acknowledged
}

// sending is a message without an answer.
type sending struct {
	n        uint64
	intended time.Time
}

// Chat runs one-to-one chat, acks and received marks on: an open loop at
// o.Rate, or a closed loop with o.Window unanswered sends per connection.
func Chat(ctx context.Context, s *Server, o Options) (*Report, error) {
	users, err := logIn(ctx, s, o, o.Connections&^1)
	if err != nil {
		return nil, err
	}
	defer closeAll(users)
	c := newChat(o, users)
	var readers, senders sync.WaitGroup
	for _, u := range c.users {
		readers.Add(1)
		go func() {
			defer readers.Done()
			u.readLoop()
		}()
	}
	for _, u := range c.users {
		senders.Add(1)
		go func() {
			defer senders.Done()
			u.sendLoop(ctx)
		}()
	}
	r := newReport("chat", o)
	if err := c.measure(ctx, s, r); err != nil {
		return nil, err
	}
	c.stopping.Store(true)
	senders.Wait()
	c.quiesce()
	r.Lost = c.lost()
	r.Duplicated, r.Disordered, r.Rejected = c.duplicated.Load(), c.disordered.Load(), c.rejected.Load()
	closeAll(users)
	readers.Wait()
	return r, r.machine(s)
}

func newChat(o Options, users []*user) *chat {
	c := &chat{o: o, failed: make(chan error, 1)}
	for _, u := range users {
		c.users = append(c.users, &chatUser{
			user: u, c: c, ids: wire.NewIDSource(nil, nil), wait: map[[16]byte]sending{},
			free: make(chan struct{}, max(o.Window, 1)), got: map[uint64]bool{}, acks: map[uint64]bool{},
		})
	}
	for i, u := range c.users {
		u.peer = c.users[i^1]
		u.to = "dm:" + c.users[i&^1].id + ":" + c.users[i|1].id
	}
	return c
}

// measure waits for the warm-up and fills the report from the time after it.
func (c *chat) measure(ctx context.Context, s *Server, r *Report) error {
	if err := c.pause(ctx, c.o.Warmup); err != nil {
		return err
	}
	from, err := s.usage()
	if err != nil {
		return err
	}
	c.counting.Store(true)
	sent, acked, delivered, frames := c.sent.Load(), c.acked.Load(), c.delivered.Load(), c.frames.Load()
	if err := c.pause(ctx, c.o.Duration); err != nil {
		return err
	}
	c.counting.Store(false)
	to, err := s.usage()
	if err != nil {
		return err
	}
	r.Sent, r.Acked, r.Delivered = c.sent.Load()-sent, c.acked.Load()-acked, c.delivered.Load()-delivered
	r.Seconds = to.at.Sub(from.at).Seconds()
	r.AckedPerS = float64(r.Acked) / r.Seconds
	r.FramesPerS = float64(c.frames.Load()-frames) / r.Seconds
	r.Ack, r.Delivery = c.ack.latency(), c.delivery.latency()
	cpu := (to.cpu - from.cpu).Seconds()
	r.Server.CPUMicrosPerMessage = cpu * 1e6 / float64(max(r.Acked, 1))
	r.Server.CPUPercent = 100 * cpu / r.Seconds
	r.Server.RSSBytes = to.rss
	return nil
}

// pause waits, telling the rate every second.
func (c *chat) pause(ctx context.Context, d time.Duration) error {
	end := time.After(d)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := c.acked.Load()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-c.failed:
			return err
		case <-end:
			return nil
		case <-tick.C:
			now := c.acked.Load()
			fmt.Fprintf(c.o.Progress, "  %d msg/s\n", now-last)
			last = now
		}
	}
}

// quiesce waits until everything acknowledged has been delivered, or nothing
// more comes for two seconds.
func (c *chat) quiesce() {
	last, since := uint64(0), time.Now()
	for time.Since(since) < 2*time.Second {
		if n := c.delivered.Load() + c.acked.Load(); n != last {
			last, since = n, time.Now()
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// lost counts acknowledged messages that their receiver does not have.
func (c *chat) lost() (n uint64) {
	for _, u := range c.users {
		u.mu.Lock()
		acked := u.acks
		u.acks = nil
		u.mu.Unlock()
		u.peer.mu.Lock()
		for k := range acked {
			if !u.peer.got[k] {
				n++
			}
		}
		u.peer.mu.Unlock()
	}
	return n
}

func (c *chat) fail(err error) {
	if c.stopping.Load() {
		return
	}
	select {
	case c.failed <- err:
	default:
	}
}

// sendLoop sends on a schedule of intended times (open loop), or whenever a
// place in the window is free (closed loop).
func (u *chatUser) sendLoop(ctx context.Context) {
	c := u.c
	if c.o.Rate <= 0 {
		for !c.stopping.Load() && ctx.Err() == nil {
			select {
			case u.free <- struct{}{}:
				u.send(time.Now())
			case <-time.After(100 * time.Millisecond):
			}
		}
		return
	}
	gap := time.Duration(float64(time.Second) * float64(len(c.users)) / c.o.Rate)
	intended := time.Now().Add(time.Duration(rand.Int64N(int64(gap))))
	for !c.stopping.Load() && ctx.Err() == nil {
		time.Sleep(time.Until(intended))
		u.send(intended)
		intended = intended.Add(gap)
	}
}

// send writes message number u.n; its text begins with the number and the
// intended time.
func (u *chatUser) send(intended time.Time) {
	body := make([]byte, max(u.c.o.Payload, 16))
	id := u.ids.Next()
	u.mu.Lock()
	defer u.mu.Unlock()
	binary.BigEndian.PutUint64(body, u.n)
	binary.BigEndian.PutUint64(body[8:], uint64(intended.UnixNano()))
	u.wait[id] = sending{u.n, intended}
	u.n++
	f := &wire.ClientFrame{Frame: &wire.ClientFrame_Send{Send: &wire.Send{
		Conversation: u.to, Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Data{Data: body}},
	}}}
	if err := errors.Join(u.queue(f), u.flush()); err != nil {
		u.c.fail(err)
	}
	u.c.sent.Add(1)
	u.c.frames.Add(1)
}

func (u *chatUser) readLoop() {
	for {
		f, err := u.read()
		if err != nil {
			u.c.fail(fmt.Errorf("%s: %w", u.id, err))
			return
		}
		u.c.frames.Add(1)
		switch x := f.Frame.(type) {
		case *wire.ServerFrame_SendAck:
			u.onAck(x.SendAck.Id)
		case *wire.ServerFrame_SendError:
			u.c.rejected.Add(1)
			u.onAnswer(x.SendError.Id, false)
		case *wire.ServerFrame_Push:
			for _, e := range x.Push.Entries {
				u.onEntry(e)
			}
		case *wire.ServerFrame_Error:
			u.c.fail(fmt.Errorf("%s: %s: %s", u.id, x.Error.Code, x.Error.Message))
		case *wire.ServerFrame_Ping:
			u.reply(&wire.ClientFrame{Frame: &wire.ClientFrame_Pong{Pong: &wire.Pong{}}})
		}
		if !u.buffered() {
			u.mark()
		}
	}
}

func (u *chatUser) onAck(id []byte) {
	u.c.acked.Add(1)
	m, ok := u.onAnswer(id, true)
	if ok && u.c.counting.Load() {
		u.c.ack.record(time.Since(m.intended))
	}
}

func (u *chatUser) onAnswer(id []byte, stored bool) (sending, bool) {
	u.mu.Lock()
	m, ok := u.wait[[16]byte(id)]
	delete(u.wait, [16]byte(id))
	if ok && stored && u.acks != nil {
		u.acks[m.n] = true
	}
	u.mu.Unlock()
	select {
	case <-u.free:
	default:
	}
	return m, ok
}

// onEntry checks a message of the peer by its number.
func (u *chatUser) onEntry(e *wire.Entry) {
	body := e.GetContent().GetData()
	if len(body) < 16 {
		return
	}
	n := binary.BigEndian.Uint64(body)
	u.mu.Lock()
	switch {
	case u.got[n]:
		u.c.duplicated.Add(1)
	case len(u.got) > 0 && n < u.last:
		u.c.disordered.Add(1)
	}
	u.got[n] = true
	u.last = max(u.last, n)
	u.marks = max(u.marks, e.Seq)
	u.mu.Unlock()
	u.c.delivered.Add(1)
	if u.c.counting.Load() {
		u.c.delivery.record(time.Since(time.Unix(0, int64(binary.BigEndian.Uint64(body[8:])))))
	}
}

// mark answers what was received, cumulative.
func (u *chatUser) mark() {
	u.mu.Lock()
	seq := u.marks
	u.marks = 0
	u.mu.Unlock()
	if seq > 0 {
		u.reply(&wire.ClientFrame{Frame: &wire.ClientFrame_Received{Received: &wire.Received{Conversation: u.to, Seq: seq}}})
	}
}

func (u *chatUser) reply(f *wire.ClientFrame) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := errors.Join(u.queue(f), u.flush()); err != nil {
		u.c.fail(err)
	}
	u.c.frames.Add(1)
}
