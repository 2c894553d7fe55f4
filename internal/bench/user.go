package bench

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// marksDelay is how late a received mark is sent if nothing else is, groupDelay
	// the same in a group, where nobody is told of it; as the SDKs do.
	marksDelay = 200 * time.Millisecond
	groupDelay = 2 * time.Second
	openWindow = 200 // default of Options.OpenWindow
)

// user is one virtual user with one connection. What a read buffer brought (acks,
// messages) is answered in one write, as a client would.
type user struct {
	*conn
	t         *traffic
	id, token string
	here      int // among the worker's users
	index     int // among all users of the run
	sampled   bool
	window    int // of an open loop

	mu      sync.Mutex // guards all below, the connection and writing
	streams map[string]*stream
	friends []*stream
	groups  []*stream
	body    []byte
	corpus  *corpus  // nil: the same text each time
	n       uint32   // messages sent
	own     []uint64 // seqs of them, if they are to be edited
	lastMs  int64    // the time in the last id
	same    uint16   // ids with that time before the last
	left    int      // still to send, -1: no end
	wait    []sending
	free    int         // closed loop: sends that may go now
	owed    []time.Time // open loop: messages that were meant to go by now and may not yet
	sends   *wire.Rate  // what the server lets a device send
	bucket  allowance   // closed loop: the same, kept
	next    time.Time   // open loop with gaps: when the next message is due
	paced   bool        // there is a next one
	again   time.Time   // when what may not go yet is tried again, zero: not by the clock
	marked  []*stream   // streams with a mark to send
	waiting time.Time   // when marked is sent at the latest; zero: no mark waits
	refused []*stream   // streams whose pull was refused for now
	blocked bool        // the socket takes no more
	over    bool        // the connection has ended
	alive   alive
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
		t: t, id: p.ID, token: p.Token, here: i, index: t.plan.First + i,
		body: make([]byte, max(o.Payload, 16)), streams: map[string]*stream{}, left: -1,
	}
	for i := range u.body {
		u.body[i] = 'a' + byte(i%26)
	}
	if o.Corpus {
		u.body, u.corpus = append(u.body[:16], ' '), newCorpus(uint64(u.index))
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

// join finds the user's conversations by the plan, before anybody logs in. Friends
// are those whose number differs in the lowest bits: they are in the same worker.
func (u *user) join() {
	t := u.t
	open := func(name string) *stream {
		s := &stream{topic: t.topicOf(name), from: 1, next: 1}
		u.streams[name] = s
		return s
	}
	o := &t.plan.Options
	for k := 1; k <= o.Friends && (o.Scenario != ScenarioStorm || u.index >= o.GroupSize); k++ {
		if j := u.here ^ k; j < len(t.users) {
			u.friends = append(u.friends, open(dmName(u.id, t.plan.Users[j].ID)))
		}
	}
	for _, g := range t.plan.Groups {
		if o.Scenario == ScenarioStorm && u.index >= o.GroupSize {
			break
		}
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

// enter takes what the login told and what was read behind it.
func (u *user) enter(l *login, now time.Time) {
	for _, c := range l.conversations {
		if s := u.streams[c.Conversation]; s != nil && s.next == s.from {
			s.from, s.next, s.base = c.Seq+1, c.Seq+1, c.Seq
		}
	}
	u.sends = l.sends
	u.bucket = newBucket(l.sends, now)
	u.live(l, now)
	rest := slices.Clone(u.in[u.at:])
	u.in, u.at = nil, 0
	u.feed(rest, now)
}

// end is the end of the connection; nobody reads it any more.
func (u *user) end(err error) {
	if !u.over {
		u.over = true
		u.t.fail(fmt.Errorf("%s: %w", u.id, err))
	}
}

// feed takes bytes that have arrived, and answers.
func (u *user) feed(p []byte, now time.Time) {
	if len(u.groups) > 0 {
		u.t.heardBytes.Add(uint64(len(p)))
	}
	if len(u.in) > 0 {
		u.in = append(u.in, p...)
		p = u.in
	}
	frames := uint64(0)
	for !u.over {
		op, payload, n, err := u.framing.next(p)
		if err != nil {
			u.end(err)
			return
		}
		if n == 0 {
			break
		}
		p = p[n:]
		message, err := messageOf(op, payload)
		if err == nil && message {
			frames++
			err = u.onMessage(payload, now)
		}
		if err != nil {
			u.end(err)
			return
		}
	}
	u.t.frames.Add(frames)
	if len(u.groups) > 0 {
		u.t.heard.Add(frames)
	}
	if u.in = append(u.in[:0], p...); len(u.in) == 0 {
		u.in = nil
	}
	u.answer(now)
}

// onMessage takes one frame: the hot ones as they are, others decoded.
func (u *user) onMessage(payload []byte, now time.Time) error {
	if u.pb {
		num, message := frameOf(payload)
		switch num {
		case hotAck:
			a, ok := readAck(message)
			if !ok {
				return errFrame("an ack without an id")
			}
			u.onAck(&a, now)
			return nil
		case hotPush:
			return u.onPush(message, now)
		case hotReceipt: // nobody looks
			return nil
		}
	}
	f := &wire.ServerFrame{}
	if err := u.codec.Decode(payload, f); err != nil {
		return err
	}
	u.on(f, now)
	return nil
}

func (u *user) onPush(p []byte, now time.Time) error {
	for len(p) > 0 {
		num, _, b, n := field(p)
		if n <= 0 {
			return errFrame("a push that cannot be read")
		}
		if num == protowire.Number(1) {
			e, ok := readEntry(b)
			if !ok {
				return errFrame("an entry that cannot be read")
			}
			u.onEntry(&e, now, true)
		}
		p = p[n:]
	}
	return nil
}

func (u *user) on(f *wire.ServerFrame, now time.Time) {
	switch x := f.Frame.(type) {
	case *wire.ServerFrame_SendAck:
		if len(x.SendAck.Id) == 16 {
			u.onAck(&ack{x.SendAck.Id, []byte(x.SendAck.Conversation), x.SendAck.Seq}, now)
		}
	case *wire.ServerFrame_SendError:
		u.onRefusal(x.SendError, now)
	case *wire.ServerFrame_Push:
		for _, e := range x.Push.Entries {
			a := arrivalOf(e)
			u.onEntry(&a, now, true)
		}
	case *wire.ServerFrame_Range:
		u.onRange(x.Range, now)
	case *wire.ServerFrame_Heads:
		for _, h := range x.Heads.Heads {
			if s := u.streams[h.Conversation]; s != nil && h.Seq >= s.next {
				u.pull(s)
			}
		}
	case *wire.ServerFrame_Resync:
		u.resync()
	case *wire.ServerFrame_SyncDelta:
		u.onDelta(x.SyncDelta, now)
	case *wire.ServerFrame_Error:
		if x.Error.Action() == wire.ActionRetry { // of a mark: the next one says it, too
			u.t.refused.Add(1)
			return
		}
		u.end(fmt.Errorf("%s: %s", x.Error.Code, x.Error.Message))
	case *wire.ServerFrame_Kick:
		u.end(fmt.Errorf("kicked: %s", x.Kick.Error.GetCode()))
	case *wire.ServerFrame_Ping:
		u.put(wire.NewClientFrame(&wire.Pong{}))
	case *wire.ServerFrame_Pong:
		u.onPong(x.Pong)
	}
}

func (u *user) onAck(a *ack, now time.Time) {
	u.t.acked.Add(1)
	m, ok := u.answered(a.id)
	if !ok {
		u.t.duplicated.Add(1) // one answer for one message
		return
	}
	id := identity(a.id)
	m.to.topic.promise(a.seq, id)
	if u.t.remember.Load() && len(u.own) < keepOwn {
		u.own = append(u.own, a.seq)
	}
	if v := m.to.take(a.seq, id); v.disordered {
		u.t.disordered.Add(1)
	}
	if u.sampled && u.t.counting.Load() {
		d := now.Sub(m.intended)
		u.t.ack.record(d)
		if m.to.topic.members == 0 {
			u.t.direct.record(d)
		} else {
			u.t.crowd.record(d)
		}
	}
}

// onRefusal: unless it was refused for good, what comes behind it is refused, too,
// until another message takes its place; all that is under way is waited for
// before (SPEC §5.9). The refused ones are given up.
func (u *user) onRefusal(e *wire.SendError, now time.Time) {
	u.t.rejected.Add(1)
	m, ok := u.answered(e.Id)
	if !ok || e.Error.Action() == wire.ActionFix {
		return
	}
	s := m.to
	if !s.refused {
		s.refused, s.first = true, m.id
		if len(e.First) == 16 {
			s.first = [16]byte(e.First)
		}
	}
	if at := now.Add(e.Error.RetryAfter()); at.After(s.retry) {
		s.retry = at
	}
}

// answered ends the wait for a message's answer.
func (u *user) answered(id []byte) (sending, bool) {
	if len(id) != 16 {
		return sending{}, false
	}
	for i, m := range u.wait {
		if m.id == [16]byte(id) {
			u.wait[i] = u.wait[len(u.wait)-1]
			u.wait = u.wait[:len(u.wait)-1]
			u.free++
			m.to.underway--
			return m, true
		}
	}
	return sending{}, false
}

// onEntry takes an entry, pushed or pulled.
func (u *user) onEntry(e *arrival, now time.Time, pushed bool) {
	s := u.streams[string(e.conversation)]
	if s == nil {
		return // not of this run
	}
	id := identity(e.id)
	if e.kind != wire.EntryKind_ENTRY_KIND_MESSAGE && e.kind != wire.EntryKind_ENTRY_KIND_REACTION {
		id = 0
	}
	mine := string(e.sender) == u.id
	var v verdict
	if pushed {
		v = s.push(e.seq, id)
	} else {
		v = s.pull(e.seq, id)
	}
	switch {
	case v.duplicated && pushed && !mine:
		u.t.duplicated.Add(1)
	case v.disordered:
		u.t.disordered.Add(1)
	case v.overtaken:
		u.t.overtaken.Add(1)
	}
	if pushed && s.gap() {
		u.pull(s)
	}
	if !v.fresh || id == 0 || mine {
		return
	}
	u.t.delivered.Add(1)
	if !pushed {
		u.t.pulled.Add(1)
	}
	u.mark(s, e.seq)
	if r := u.t.round.Load(); r != nil {
		r.arrived(id, now)
	}
	last := false
	if s.topic.members > 0 {
		sender := int(id >> 32 & 0xffffff)
		last = s.topic.arrive(e.seq, sender >= u.t.plan.First && sender < u.t.plan.First+len(u.t.users))
	}
	if !u.t.counting.Load() || !u.sampled && !last {
		return
	}
	at, ok := stampedTime(e.text)
	if e.kind == wire.EntryKind_ENTRY_KIND_REACTION {
		at, ok = im.MessageID(e.id).Time(), true
	}
	if !ok {
		return // not of this program
	}
	if u.sampled {
		u.t.delivery.record(now.Sub(at))
	}
	if last {
		u.t.lastMember.record(now.Sub(at))
	}
}

// pull asks for what is missing, once at a time.
func (u *user) pull(s *stream) {
	if !s.pulling {
		s.pulling = true
		u.put(wire.NewClientFrame(&wire.Pull{Conversation: s.topic.name, From: s.next, Limit: 200}))
	}
}

func (u *user) onRange(r *wire.Range, now time.Time) {
	s := u.streams[r.Conversation]
	switch {
	case s != nil && r.Error != nil && r.Error.Action() == wire.ActionRetry:
		u.t.refused.Add(1)
		s.pullAgain = now.Add(max(r.Error.RetryAfter(), 100*time.Millisecond))
		u.refused = append(u.refused, s)
		u.t.times.add(u, s.pullAgain, (*user).pullsDue)
		return
	case s == nil || r.Error != nil:
		u.end(fmt.Errorf("pull of %q: %v", r.Conversation, r.Error.GetCode()))
		return
	}
	s.pulling = false
	for _, e := range r.Entries {
		a := arrivalOf(e)
		u.onEntry(&a, now, false)
	}
	if u.t.plan.Options.Scenario == ScenarioStorm {
		s.covers(r.LastSeq)
	}
	if s.gap() || r.Head >= s.next {
		u.pull(s)
	}
}

// pullsDue pulls again what was refused for the time being.
func (u *user) pullsDue(now time.Time) {
	u.refused = slices.DeleteFunc(u.refused, func(s *stream) bool {
		if s.pullAgain.After(now) {
			return false
		}
		s.pulling = false
		u.pull(s)
		return true
	})
	if len(u.out) > 0 {
		u.write(now)
	}
}

// mark has everything up to seq marked as received, a little late.
func (u *user) mark(s *stream, seq uint64) {
	if s.mark == 0 {
		u.marked = append(u.marked, s)
	}
	s.mark = max(s.mark, seq)
}

// answer writes what there is to write: messages that may go, and the received
// marks if something is written anyway.
func (u *user) answer(now time.Time) {
	u.send(now)
	switch {
	case len(u.out) > 0:
		u.write(now)
	case len(u.marked) > 0:
		delay := groupDelay
		if slices.ContainsFunc(u.marked, func(s *stream) bool { return s.topic.members == 0 }) {
			delay = marksDelay
		}
		if at := now.Add(delay); u.waiting.IsZero() || at.Before(u.waiting) {
			u.waiting = at
			u.t.times.add(u, at, (*user).marksDue)
		}
	}
}

// marksDue sends the marks if nothing took them along.
func (u *user) marksDue(now time.Time) {
	if u.waiting.After(now) {
		return // an earlier time was set, and went by, and a later one
	}
	u.waiting = time.Time{}
	if len(u.marked) > 0 {
		u.write(now)
	}
}

func (u *user) put(f *wire.ClientFrame) {
	u.t.frames.Add(1)
	if err := u.queue(f); err != nil {
		u.end(err)
	}
}

// write writes what is queued, the marks with it.
func (u *user) write(now time.Time) {
	for i, s := range u.marked {
		if u.pb {
			u.frame = putReceived(u.frame[:0], s.topic.name, s.mark)
			u.out = u.framing.append(u.out, u.frame)
			u.t.frames.Add(1)
		} else {
			u.put(wire.NewClientFrame(&wire.Received{Conversation: s.topic.name, Seq: s.mark}))
		}
		s.mark = 0
		u.marked[i] = nil
	}
	u.marked = u.marked[:0]
	u.alive.sent = now
	if err := u.flush(); err != nil {
		u.end(fmt.Errorf("write: %w", err))
		return
	}
	if blocked := len(u.out) > 0; blocked != u.blocked {
		u.blocked = blocked
		u.t.loop.full(u, blocked)
	}
}

// stampedTime is what the text of a message begins with.
func stampedTime(text []byte) (time.Time, bool) {
	if len(text) < 16 {
		return time.Time{}, false
	}
	at := uint64(0)
	for _, c := range text[:16] {
		d := strings.IndexByte(hexDigits, c)
		if d < 0 {
			return time.Time{}, false
		}
		at = at<<4 | uint64(d)
	}
	return time.Unix(0, int64(at)), true
}

const hexDigits = "0123456789abcdef"
