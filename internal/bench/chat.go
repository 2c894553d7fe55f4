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

// chatUser is one user. In a closed loop its reader also sends: what a read
// buffer brought (acks, messages) is answered in one write, as a client would.
type chatUser struct {
	*user
	c    *chat
	peer *chatUser
	to   string // conversation
	ids  *wire.IDSource
	body []byte

	mu    sync.Mutex // guards all below, and writing
	n     uint64     // messages sent
	wait  []sending  // without an answer, few
	free  int        // closed loop: sends that may go now
	acks  bitset     // numbers acknowledged
	got   bitset     // numbers received from the peer
	last  uint64     // greatest number received, plus one
	marks uint64     // greatest seq received and not marked yet
}

// sending is a message without an answer.
type sending struct {
	id       [16]byte
	n        uint64
	intended time.Time
}

// bitset is a set of small numbers.
type bitset []uint64

func (b *bitset) add(n uint64) (added bool) {
	for n/64 >= uint64(len(*b)) {
		*b = append(*b, 0)
	}
	w, bit := &(*b)[n/64], uint64(1)<<(n%64)
	added = *w&bit == 0
	*w |= bit
	return added
}

func (b bitset) has(n uint64) bool {
	return n/64 < uint64(len(b)) && b[n/64]&(1<<(n%64)) != 0
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
		readers.Go(u.readLoop)
	}
	if o.Rate > 0 {
		c.openLoop(ctx, &senders)
	} else {
		for _, u := range c.users {
			u.mu.Lock()
			u.free = max(o.Window, 1)
			u.answer()
			u.mu.Unlock()
		}
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
		c.users = append(c.users, &chatUser{user: u, c: c, ids: wire.NewIDSource(nil, nil), body: make([]byte, max(o.Payload, 16))})
	}
	for i, u := range c.users {
		u.peer = c.users[i^1]
		u.to = "dm:" + c.users[i&^1].id + ":" + c.users[i|1].id
	}
	return c
}

// openLoop sends on a schedule of intended times, whatever the answers do.
// Some hundred users share a goroutine, in the order of their times.
func (c *chat) openLoop(ctx context.Context, senders *sync.WaitGroup) {
	const share = 250
	gap := time.Duration(float64(time.Second) * float64(len(c.users)) / c.o.Rate)
	for at := 0; at < len(c.users); at += share {
		users := c.users[at:min(at+share, len(c.users))]
		start := time.Now().Add(time.Duration(rand.Int64N(int64(gap))))
		senders.Go(func() {
			for round := time.Duration(0); ; round++ {
				for i, u := range users {
					intended := start.Add(round*gap + gap*time.Duration(i)/time.Duration(len(users)))
					time.Sleep(time.Until(intended))
					if c.stopping.Load() || ctx.Err() != nil {
						return
					}
					u.mu.Lock()
					u.send(intended)
					u.write()
					u.mu.Unlock()
				}
			}
		})
	}
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
func (c *chat) lost() (lost uint64) {
	for _, u := range c.users {
		u.mu.Lock()
		acks, sent := u.acks, u.n
		u.mu.Unlock()
		u.peer.mu.Lock()
		for n := range sent {
			if acks.has(n) && !u.peer.got.has(n) {
				lost++
			}
		}
		u.peer.mu.Unlock()
	}
	return lost
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

func (u *chatUser) readLoop() {
	for {
		f, err := u.read()
		if err != nil {
			u.c.fail(fmt.Errorf("%s: %w", u.id, err))
			return
		}
		u.c.frames.Add(1)
		u.mu.Lock()
		u.on(f)
		if !u.buffered() {
			u.answer()
		}
		u.mu.Unlock()
	}
}

// on handles a frame; mu is held.
func (u *chatUser) on(f *wire.ServerFrame) {
	switch x := f.Frame.(type) {
	case *wire.ServerFrame_SendAck:
		u.c.acked.Add(1)
		if m, ok := u.answered(x.SendAck.Id); ok {
			u.acks.add(m.n)
			if u.c.counting.Load() {
				u.c.ack.record(time.Since(m.intended))
			}
		}
	case *wire.ServerFrame_SendError:
		u.c.rejected.Add(1)
		u.answered(x.SendError.Id)
	case *wire.ServerFrame_Push:
		for _, e := range x.Push.Entries {
			u.onEntry(e)
		}
	case *wire.ServerFrame_Error:
		u.c.fail(fmt.Errorf("%s: %s: %s", u.id, x.Error.Code, x.Error.Message))
	case *wire.ServerFrame_Ping:
		u.put(&wire.ClientFrame{Frame: &wire.ClientFrame_Pong{Pong: &wire.Pong{}}})
	}
}

// answered ends the wait for a message's answer.
func (u *chatUser) answered(id []byte) (sending, bool) {
	for i, m := range u.wait {
		if m.id == [16]byte(id) {
			u.wait[i] = u.wait[len(u.wait)-1]
			u.wait = u.wait[:len(u.wait)-1]
			u.free++
			return m, true
		}
	}
	return sending{}, false
}

// onEntry checks a message of the peer by its number.
func (u *chatUser) onEntry(e *wire.Entry) {
	body := e.GetContent().GetData()
	if len(body) < 16 {
		return
	}
	n := binary.BigEndian.Uint64(body)
	if !u.got.add(n) {
		u.c.duplicated.Add(1)
	} else if n+1 < u.last {
		u.c.disordered.Add(1)
	}
	u.last = max(u.last, n+1)
	u.marks = max(u.marks, e.Seq)
	u.c.delivered.Add(1)
	if u.c.counting.Load() {
		u.c.delivery.record(time.Since(time.Unix(0, int64(binary.BigEndian.Uint64(body[8:])))))
	}
}

// answer writes what a read buffer calls for: the received mark, and in a
// closed loop the next messages; mu is held.
func (u *chatUser) answer() {
	if u.marks > 0 {
		u.put(&wire.ClientFrame{Frame: &wire.ClientFrame_Received{Received: &wire.Received{Conversation: u.to, Seq: u.marks}}})
		u.marks = 0
	}
	for u.c.o.Rate <= 0 && u.free > 0 && !u.c.stopping.Load() {
		u.free--
		u.send(time.Now())
	}
	u.write()
}

// send queues message number u.n; its content begins with the number and the
// intended time. mu is held.
func (u *chatUser) send(intended time.Time) {
	id := u.ids.Next()
	binary.BigEndian.PutUint64(u.body, u.n)
	binary.BigEndian.PutUint64(u.body[8:], uint64(intended.UnixNano()))
	u.wait = append(u.wait, sending{id, u.n, intended})
	u.n++
	u.put(&wire.ClientFrame{Frame: &wire.ClientFrame_Send{Send: &wire.Send{
		Conversation: u.to, Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Data{Data: u.body}},
	}}})
	u.c.sent.Add(1)
}

func (u *chatUser) put(f *wire.ClientFrame) {
	u.c.frames.Add(1)
	if err := u.queue(f); err != nil {
		u.c.fail(err)
	}
}

func (u *chatUser) write() {
	if err := u.flush(); err != nil {
		u.c.fail(errors.Join(fmt.Errorf("%s: write", u.id), err))
	}
}
