package soak

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// rawClient speaks the protocol frame by frame and trusts nobody. What it
// holds is in memory: it stands for a device that is never killed.
type rawClient struct {
	o      DeviceOptions
	h      *Recorder
	ids    *wire.IDSource
	slots  chan struct{} // one for each message in the outbox
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when run has ended

	next int // of o.URLs; run's

	mu       sync.Mutex
	s        *session // nil while there is no connection
	timeline string
	position string
	convs    map[string]*rawConv
	outbox   []*outgoing // in the order of sending
	kept     []ackedSend // for resend
	requests uint32
	stays    bool // Stay is over
	// newest is the entry by which the server sees whether its history is this one.
	newest *wire.Newest
	// doubt is the number of the sync that tells it, 0 if nothing is in doubt: until
	// it is answered nothing is applied, no mark told and nothing pulled (SPEC §7.8).
	// held is what arrived meanwhile.
	doubt uint32
	held  []arrived
}

// arrived is an entry; pushed if by a push or an answer, otherwise by an ack.
type arrived struct {
	entry  Entry
	pushed bool
}

// outgoing is a message without a final answer.
type outgoing struct {
	send *wire.Send
	hash string
	// again: it was acknowledged before.
	again bool
	// on is the session it was sent on, nil if it has to be sent.
	on *session
}

// session is one connection. Its fields belong to rawClient.mu.
type session struct {
	link link
	out  chan []byte
	// asked are the questions without an answer, by number.
	asked map[uint32]question
	at    string // the server's address
	heard time.Time
	// held are the conversations in which something was turned away for now, and
	// until when: what is sent there waits behind it.
	held map[string]time.Time
	// instead are the refused messages there that will not come again.
	instead map[string][]byte
}

type question struct {
	since int64
	conv  *rawConv // of a Pull, nil for a Sync
	// position is set for what changed since, cursor for a further page; began is
	// when the first one was asked for.
	position, cursor string
	began            int64
}

// NewRaw starts a raw client.
func NewRaw(o DeviceOptions) Device {
	c := &rawClient{
		o: o, h: o.History, ids: wire.NewIDSource(nil, nil),
		slots: make(chan struct{}, o.inFlight()), done: make(chan struct{}), convs: map[string]*rawConv{},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	go c.run()
	return c
}

func (c *rawClient) Name() (string, string) { return c.o.User, c.o.Device }

func (c *rawClient) Close() error {
	c.cancel()
	<-c.done
	return c.h.Err()
}

func (c *rawClient) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.outbox)
}

func (c *rawClient) Send(ctx context.Context, conversation, text string) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return errors.New("soak: the client has ended")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.ids.Next()
	m := &outgoing{send: &wire.Send{
		Conversation: conversation, Id: id[:],
		Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}},
	}}
	m.hash = ContentHash(conversation, c.o.User, m.send.Content, 0)
	c.h.Add(Record{Kind: Invoked, Conversation: conversation, ID: hex.EncodeToString(id[:]), Hash: m.hash, Timeline: c.timeline})
	c.outbox = append(c.outbox, m)
	if c.s != nil && c.s.held[conversation].IsZero() {
		c.transmit(m)
	}
	return nil
}

// transmit puts a message of the outbox on the wire.
func (c *rawClient) transmit(m *outgoing) {
	m.on = c.s
	send := m.send
	if of := c.s.instead[send.Conversation]; of != nil {
		delete(c.s.instead, send.Conversation)
		send = proto.Clone(send).(*wire.Send)
		send.InsteadOf = of
	}
	c.write(wire.NewClientFrame(send))
}

// write queues a frame; a connection that cannot take more is ended.
func (c *rawClient) write(f *wire.ClientFrame) {
	if c.s == nil {
		return
	}
	b, err := c.o.Codec.Append(nil, f)
	if err != nil {
		c.misbehaved("", 0, "encode: "+err.Error())
		return
	}
	select {
	case c.s.out <- b:
	default:
		_ = c.s.link.close()
	}
}

func (c *rawClient) misbehaved(conversation string, seq uint64, what string) {
	c.h.Add(Record{Kind: Misbehaved, Conversation: conversation, Seq: seq, Code: what, Timeline: c.timeline})
}

// run keeps the client connected.
func (c *rawClient) run() {
	defer close(c.done)
	for c.ctx.Err() == nil {
		c.connect()
		c.next++
		select {
		case <-c.ctx.Done():
		case <-time.After(rand.N(cmp.Or(c.o.Reconnect, RestartStorm))):
		}
	}
}

// connect is one connection from the dial to its end.
func (c *rawClient) connect() {
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
	defer cancel()
	u := c.o.URLs[c.next%len(c.o.URLs)]
	l, err := dialLink(ctx, u, c.o.Codec)
	if err != nil {
		return
	}
	// The queue takes all that one turn can have to say: the outbox, a mark and a
	// pull for each conversation.
	s := &session{link: l, out: make(chan []byte, 4096), asked: map[uint32]question{}, at: hostOf(u)}
	stop := context.AfterFunc(c.ctx, func() { _ = l.close() })
	defer stop()
	defer l.close()
	if !c.greet(s) {
		return
	}
	var writer sync.WaitGroup
	quit := make(chan struct{})
	writer.Go(func() { s.writeAll(quit) })
	if c.o.Patience > 0 {
		writer.Go(func() { c.watch(s, quit) })
	}
	if c.o.Stay > 0 {
		over := time.AfterFunc(c.o.Stay, func() { c.leave(s) })
		defer over.Stop()
	}
	c.began(s)
	c.readAll(s)
	c.ended(s)
	close(quit)
	writer.Wait()
}

// leave ends a connection that has lasted long enough, unless the device is to
// stay now.
func (c *rawClient) leave(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stays {
		_ = s.link.close()
	}
}

// calm has the device stay connected from now on.
func (c *rawClient) calm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stays = true
}

func (s *session) writeAll(quit <-chan struct{}) {
	for {
		select {
		case b := <-s.out:
			if s.link.write(b) != nil {
				_ = s.link.close()
				return
			}
		case <-quit:
			return
		}
	}
}

// watch ends a connection that owes an answer and says nothing.
func (c *rawClient) watch(s *session, quit <-chan struct{}) {
	every := time.NewTicker(c.o.Patience / 8)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-quit:
			return
		}
		c.mu.Lock()
		owes := len(s.asked) > 0 || slices.ContainsFunc(c.outbox, func(m *outgoing) bool { return m.on == s })
		if !owes {
			s.heard = time.Now() // from the next question on
		}
		over := time.Since(s.heard) > c.o.Patience
		c.mu.Unlock()
		if over {
			_ = s.link.close()
			return
		}
	}
}

// greet says Hello and reads the Welcome.
func (c *rawClient) greet(s *session) bool {
	patience := cmp.Or(c.o.Patience, 10*time.Second)
	if s.link.deadline(time.Now().Add(patience)) != nil {
		return false
	}
	c.mu.Lock()
	c.requests++
	now := Now()
	s.asked[c.requests] = question{since: now, position: c.position, began: now}
	hello := &wire.Hello{
		VersionMin: wire.VersionMin, VersionMax: wire.VersionMax, Token: c.o.Token,
		Device: &wire.Device{Id: c.o.Device, Class: wire.DeviceClass_DEVICE_CLASS_OTHER, Name: "soak"},
		Client: "skein-soak",
		Sync:   &wire.Sync{Number: c.requests, Position: c.position, Timeline: c.timeline, Limit: 500, Newest: c.newest},
	}
	c.doubt, c.held = c.requests, nil
	c.mu.Unlock()
	b, err := c.o.Codec.Append(nil, wire.NewClientFrame(hello))
	if err != nil || s.link.write(b) != nil {
		return false
	}
	f, err := c.readFrame(s)
	if err != nil {
		return false
	}
	w := f.GetWelcome()
	if w == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused(f)
		return false
	}
	c.ids.SetServerTime(w.ServerTimeMs)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timeline == "" {
		c.timeline = w.Timeline
	}
	if w.User != c.o.User {
		c.misbehaved("", 0, "welcomed as "+w.User)
	}
	c.h.Add(Record{Kind: Connected, Timeline: w.Timeline, At: s.at})
	return s.link.deadline(time.Time{}) == nil
}

// refused: a server that starts or stops may say so; one that no longer knows
// the token has forgotten what it promised.
func (c *rawClient) refused(f *wire.ServerFrame) {
	e := f.GetError()
	if e == nil {
		e = f.GetKick().GetError()
	}
	if e == nil {
		c.misbehaved("", 0, "no Welcome")
		return
	}
	switch e.Action() {
	case wire.ActionLogin, wire.ActionStop, wire.ActionFix:
		c.misbehaved("", 0, "refused: "+e.GetCode())
	}
}

func (c *rawClient) readFrame(s *session) (*wire.ServerFrame, error) {
	b, err := s.link.read()
	if err != nil {
		return nil, err
	}
	f := &wire.ServerFrame{}
	if err := c.o.Codec.Decode(b, f); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.misbehaved("", 0, "undecodable frame: "+err.Error())
		return nil, err
	}
	return f, nil
}

// began takes the session into use: what was in flight is sent again, in the
// original order. Marks and what is missing wait for the sync's answer.
func (c *rawClient) began(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s, s.heard = s, time.Now()
	for _, m := range c.outbox {
		c.transmit(m)
	}
	for _, v := range c.convs {
		v.pulling = false
	}
}

// assured goes on after a doubt: the marks are repeated, what arrived meanwhile is
// applied, and what is missing is pulled.
func (c *rawClient) assured() {
	held := c.held
	c.doubt, c.held = 0, nil
	for _, v := range c.convs {
		if v.received > 0 {
			c.write(wire.NewClientFrame(&wire.Received{Conversation: v.name, Seq: v.received}))
		}
		if v.read > 0 {
			c.write(wire.NewClientFrame(&wire.Read{Conversation: v.name, Seq: v.read}))
		}
	}
	c.arrive(held)
	for _, v := range c.convs {
		c.fill(v)
	}
}

// ended notes what is without an answer now.
func (c *rawClient) ended(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s = nil
	for _, m := range c.outbox {
		if m.on == s {
			m.on = nil
			c.h.Add(Record{Kind: Unknown, Conversation: m.send.Conversation, ID: hex.EncodeToString(m.send.Id), Hash: m.hash, Timeline: c.timeline})
		}
	}
	c.h.Add(Record{Kind: Disconnected, Timeline: c.timeline})
}

func (c *rawClient) readAll(s *session) {
	for {
		f, err := c.readFrame(s)
		if err != nil {
			return
		}
		c.mu.Lock()
		s.heard = time.Now()
		more := c.handle(f)
		c.mu.Unlock()
		if !more {
			return
		}
	}
}
