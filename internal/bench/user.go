package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

const (
	// marksDelay is how late a received mark is sent if nothing else is, groupDelay
	// the same in a group, where nobody is told of it; as the SDKs do.
	marksDelay = 200 * time.Millisecond
	groupDelay = 2 * time.Second
	openWindow = 200 // default of Options.OpenWindow
)

// user is one virtual user with one connection. In a closed loop its reader
// also sends: what a read buffer brought (acks, messages) is answered in one
// write, as a client would.
type user struct {
	*conn
	t         *traffic
	id, token string
	index     int // among all users of the run
	sampled   bool
	window    int // of an open loop
	login     *login
	ids       *wire.IDSource
	body      []byte

	mu      sync.Mutex // guards all below, and writing
	streams map[string]*stream
	friends []*stream
	groups  []*stream
	n       uint32    // messages sent
	left    int       // still to send, -1: no end
	wait    []sending // without an answer, few
	free    int       // closed loop: sends that may go now
	next    time.Time // open loop: when the next message is due
	paced   bool      // the pacer knows the user
	marked  []*stream // streams with a mark to send
	waiting time.Time // when marked is sent at the latest; zero: no mark waits
}

// sending is a message without an answer.
type sending struct {
	id       [16]byte
	intended time.Time
	to       *stream
}

func newUser(t *traffic, i int) *user {
	o, p := &t.plan.Options, t.plan.Users[i]
	u := &user{
		t: t, id: p.ID, token: p.Token, index: t.plan.First + i, ids: wire.NewIDSource(nil, nil),
		body: make([]byte, max(o.Payload, 16)), streams: map[string]*stream{}, left: -1,
	}
	for i := range u.body {
		u.body[i] = 'a' + byte(i%26)
	}
	if u.window = o.OpenWindow; u.window == 0 {
		u.window = openWindow
	}
	if o.Messages > 0 {
		u.left = o.Messages
	}
	u.sampled = o.Sampled == 0 || o.Sampled >= o.Connections || u.index%(o.Connections/o.Sampled) == 0
	return u
}

// join finds the user's conversations by the plan. Friends are those whose
// number differs in the lowest bits: they are in the same worker.
func (u *user) join() {
	t, i := u.t, u.index-u.t.plan.First
	heads := map[string]uint64{}
	for _, c := range u.login.conversations {
		heads[c.Conversation] = c.Seq
	}
	u.login = nil
	open := func(name string) *stream {
		at := t.topicOf(name)
		s := &stream{topic: at, from: heads[name] + 1, next: heads[name] + 1}
		u.streams[name] = s
		return s
	}
	for k := 1; k <= t.plan.Options.Friends; k++ {
		if j := i ^ k; j < len(t.users) {
			u.friends = append(u.friends, open(dmName(u.id, t.users[j].id)))
		}
	}
	for _, g := range t.plan.Groups {
		if (u.index-g.First+t.plan.Options.Connections)%t.plan.Options.Connections < g.Online {
			s := open(g.Conversation)
			s.topic.members++
			u.groups = append(u.groups, s)
		}
	}
}

func dmName(a, b string) string {
	if a > b {
		a, b = b, a
	}
	return "dm:" + a + ":" + b
}

// gap draws the time to the next message.
func (u *user) gap() time.Duration {
	least, most := u.t.gapMin.Load(), u.t.gapMax.Load()
	return time.Duration(least + rand.Int64N(max(most-least, 0)+1))
}

func (u *user) readLoop() {
	for {
		f, err := u.read()
		if err != nil {
			u.t.fail(fmt.Errorf("%s: %w", u.id, err))
			return
		}
		u.t.frames.Add(1)
		u.mu.Lock()
		u.on(f)
		if !u.buffered() {
			u.answer()
		}
		u.mu.Unlock()
	}
}

// on handles a frame; mu is held.
func (u *user) on(f *wire.ServerFrame) {
	switch x := f.Frame.(type) {
	case *wire.ServerFrame_SendAck:
		u.onAck(x.SendAck)
	case *wire.ServerFrame_SendError:
		u.t.rejected.Add(1)
		u.answered(x.SendError.Id)
	case *wire.ServerFrame_Push:
		now := time.Now()
		for _, e := range x.Push.Entries {
			u.onEntry(e, now, true)
		}
	case *wire.ServerFrame_Range:
		u.onRange(x.Range)
	case *wire.ServerFrame_Heads:
		for _, h := range x.Heads.Heads {
			if s := u.streams[h.Conversation]; s != nil && h.Seq >= s.next {
				u.pull(s)
			}
		}
	case *wire.ServerFrame_Resync:
		for _, s := range u.streams {
			u.pull(s)
		}
	case *wire.ServerFrame_Error:
		u.t.fail(fmt.Errorf("%s: %s: %s", u.id, x.Error.Code, x.Error.Message))
	case *wire.ServerFrame_Kick:
		u.t.fail(fmt.Errorf("%s: kicked: %s", u.id, x.Kick.Error.GetCode()))
	case *wire.ServerFrame_Ping:
		u.put(wire.NewClientFrame(&wire.Pong{}))
	}
}

func (u *user) onAck(a *wire.SendAck) {
	u.t.acked.Add(1)
	m, ok := u.answered(a.Id)
	if !ok {
		u.t.duplicated.Add(1) // one answer for one message
		return
	}
	id := identity(a.Id)
	m.to.topic.promise(a.Seq, id)
	if v := m.to.take(a.Seq, id); v.disordered {
		u.t.disordered.Add(1)
	}
	if u.sampled && u.t.counting.Load() {
		d := time.Since(m.intended)
		u.t.ack.record(d)
		if m.to.topic.members == 0 {
			u.t.direct.record(d)
		}
	}
}

// answered ends the wait for a message's answer.
func (u *user) answered(id []byte) (sending, bool) {
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

// onEntry takes an entry, pushed or pulled.
func (u *user) onEntry(e *wire.Entry, now time.Time, pushed bool) {
	s := u.streams[e.Conversation]
	if s == nil {
		return // not of this run
	}
	id := identity(e.Id)
	if e.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE {
		id = 0
	}
	var v verdict
	if pushed {
		v = s.push(e.Seq, id)
	} else {
		v = s.pull(e.Seq, id)
	}
	switch {
	case v.duplicated && pushed && e.Sender != u.id:
		u.t.duplicated.Add(1)
	case v.disordered:
		u.t.disordered.Add(1)
	case v.overtaken:
		u.t.overtaken.Add(1)
	}
	if pushed && s.gap() {
		u.pull(s)
	}
	if !v.fresh || id == 0 || e.Sender == u.id {
		return
	}
	u.t.delivered.Add(1)
	if !pushed {
		u.t.pulled.Add(1)
	}
	u.mark(s, e.Seq)
	if r := u.t.round.Load(); r != nil {
		r.arrived(id, now)
	}
	last := false
	if s.topic.members > 0 {
		sender := int(id >> 32 & 0xffffff)
		last = s.topic.arrive(e.Seq, sender >= u.t.plan.First && sender < u.t.plan.First+len(u.t.users))
	}
	if !u.t.counting.Load() || !u.sampled && !last {
		return
	}
	at, err := strconv.ParseInt(firstWord(e.GetContent().GetText()), 16, 64)
	if err != nil {
		return // not of this program
	}
	if u.sampled {
		u.t.delivery.record(now.Sub(time.Unix(0, at)))
	}
	if last {
		u.t.lastMember.record(now.Sub(time.Unix(0, at)))
	}
}

func firstWord(text string) string { return text[:min(len(text), 16)] }

// pull asks for what is missing, once at a time.
func (u *user) pull(s *stream) {
	if !s.pulling {
		s.pulling = true
		u.put(wire.NewClientFrame(&wire.Pull{Conversation: s.topic.name, From: s.next, Limit: 200}))
	}
}

func (u *user) onRange(r *wire.Range) {
	s := u.streams[r.Conversation]
	if s == nil || r.Error != nil {
		u.t.fail(fmt.Errorf("%s: pull of %q: %v", u.id, r.Conversation, r.Error.GetCode()))
		return
	}
	s.pulling = false
	now := time.Now()
	for _, e := range r.Entries {
		u.onEntry(e, now, false)
	}
	if s.gap() || r.Head >= s.next {
		u.pull(s)
	}
}

// mark has everything up to seq marked as received, a little late.
func (u *user) mark(s *stream, seq uint64) {
	if s.mark == 0 {
		u.marked = append(u.marked, s)
	}
	s.mark = max(s.mark, seq)
}

// answer writes what a read buffer calls for: in a closed loop the next
// messages, and the received marks if something is written anyway; mu is held.
func (u *user) answer() {
	if u.t.closedLoop() {
		for u.free > 0 && u.maySend() {
			u.free--
			u.sendAny(time.Now())
		}
	}
	switch {
	case len(u.out) > 0:
		u.write()
	case len(u.marked) > 0:
		delay := groupDelay
		if slices.ContainsFunc(u.marked, func(s *stream) bool { return s.topic.members == 0 }) {
			delay = marksDelay
		}
		if at := time.Now().Add(delay); u.waiting.IsZero() || at.Before(u.waiting) {
			u.waiting = at
			u.t.pace.marks(u, at)
		}
	}
}

func (u *user) maySend() bool { return u.left != 0 && !u.t.stopping.Load() }

// sendDue sends what is due in an open loop and returns when to come again,
// the zero time if never; mu is held.
func (u *user) sendDue(now time.Time) time.Time {
	for u.maySend() && !u.next.After(now) {
		if len(u.wait) >= u.window {
			break
		}
		u.sendAny(u.next)
		u.next = u.next.Add(u.gap())
	}
	if len(u.out) > 0 {
		u.write()
	}
	if !u.maySend() {
		u.paced = false
		return time.Time{}
	}
	if !u.next.After(now) {
		return now.Add(2 * time.Millisecond) // its window is full
	}
	return u.next
}

// sendAny sends to a friend or a group, as the options share them.
func (u *user) sendAny(intended time.Time) {
	share := u.t.plan.Options.GroupShare
	switch {
	case len(u.groups) > 0 && (len(u.friends) == 0 || rand.Float64() < share):
		u.sendTo(u.groups[rand.IntN(len(u.groups))], intended)
	case len(u.friends) > 0:
		u.sendTo(u.friends[rand.IntN(len(u.friends))], intended)
	default:
		u.left = 0 // nobody to write to
	}
}

// sendTo queues the user's next message; its text begins with the intended
// time. mu is held.
func (u *user) sendTo(s *stream, intended time.Time) {
	id := u.ids.Next()
	stampID(&id, u.index, u.n)
	u.n++
	if u.left > 0 {
		u.left--
	}
	const digits = "0123456789abcdef"
	for at, i := uint64(intended.UnixNano()), 15; i >= 0; at, i = at>>4, i-1 {
		u.body[i] = digits[at&15]
	}
	u.wait = append(u.wait, sending{id, intended, s})
	u.put(wire.NewClientFrame(&wire.Send{
		Conversation: s.topic.name, Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: string(u.body)}},
	}))
	u.t.sent.Add(1)
}

func (u *user) put(f *wire.ClientFrame) {
	u.t.frames.Add(1)
	if err := u.queue(f); err != nil {
		u.t.fail(err)
	}
}

// write writes what is queued, the marks with it.
func (u *user) write() {
	for i, s := range u.marked {
		u.put(wire.NewClientFrame(&wire.Received{Conversation: s.topic.name, Seq: s.mark}))
		s.mark = 0
		u.marked[i] = nil
	}
	u.marked = u.marked[:0]
	if err := u.flush(); err != nil {
		u.t.fail(fmt.Errorf("%s: write: %w", u.id, err))
	}
}
