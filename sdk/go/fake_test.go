package skein

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// fake is a small server that speaks the protocol (proto/SPEC.md) for one user
// and does wrong on request. mu guards everything; hooks run under it.
type fake struct {
	t  *testing.T
	mu sync.Mutex

	user, timeline string
	pos            uint64
	journal        map[string][]*wire.Entry
	changes        []change // the position is len(changes)
	byID           map[string]*wire.Entry
	voted          map[string][]string // what users chose in the only poll
	read, received map[string]uint64
	peerReceived   map[string]uint64
	peerRead       map[string]uint64
	first, until   map[string]uint64
	earlier        map[string][]*wire.Window // hidden is worked out
	floor          map[string]uint64
	titles         map[string]string
	mine           map[string]*wire.MyState
	ahead          time.Duration // by how much its clock is ahead of the device's
	late           time.Duration // by how much its clock is behind when it tells what is gone
	conns          []*fakeConn
	hellos         []*wire.Hello
	seen           []*wire.ClientFrame
	stores         []string // texts in the order they were stored

	// resumeMax is how many conversations a page of a resume has; 0: all.
	resumeMax int
	deltaMax  int // entries of a conversation in a delta
	walkMax   int // places a page of a stretch covers at most; 0: all
	told      int // entries told in stretches
	named     int // recalled messages of a conversation in a delta
	noSync    bool
	welcome   func(*wire.Welcome)
	// Hooks; nil does the right thing.
	onHello func(*wire.Hello) *wire.ServerFrame
	onSend  func(c *fakeConn, s *wire.Send) verdict
	onPush  func(c *fakeConn, e *wire.Entry) []*wire.Entry
	onFrame func(c *fakeConn, f *wire.ClientFrame) bool // true: dealt with
	onCall  func(*wire.Call) *wire.Result
	wg      sync.WaitGroup
}

type change struct {
	conversation string
	entry        uint64 // its seq, 0: something else
}

// verdict is what happens to a Send.
type verdict struct {
	code     wire.Code // not "": SendError
	retryMs  uint32
	noStore  bool
	noAck    bool
	ackTwice bool
	hangUp   bool // after the rest
}

type fakeConn struct {
	f     *fake
	codec wire.Codec
	out   chan *wire.ServerFrame
	gone  chan struct{}
	once  sync.Once
	close func()
	ready bool
	// first is, by conversation, the message that was refused for now (SPEC §5.9).
	first map[string][]byte
}

func newFake(t *testing.T) *fake {
	return &fake{
		t: t, user: "alice", timeline: "t1", deltaMax: 50, named: 1000,
		journal: map[string][]*wire.Entry{}, byID: map[string]*wire.Entry{},
		read: map[string]uint64{}, received: map[string]uint64{}, first: map[string]uint64{},
		until: map[string]uint64{}, earlier: map[string][]*wire.Window{}, floor: map[string]uint64{},
		peerReceived: map[string]uint64{}, peerRead: map[string]uint64{}, titles: map[string]string{},
		mine: map[string]*wire.MyState{},
	}
}

func (f *fake) stop() {
	f.hangUp()
	f.wg.Wait()
}

func (f *fake) serve(codec string, read func() ([]byte, error), write func([]byte) error, closeConn func()) {
	c := &fakeConn{f: f, codec: wire.Protobuf(), out: make(chan *wire.ServerFrame, 10_000), gone: make(chan struct{}), close: closeConn}
	if codec == wire.JSONName {
		c.codec = wire.JSON()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case fr := <-c.out:
				if fr == nil {
					c.shut()
					return
				}
				b, err := c.codec.Append(nil, fr)
				if err != nil {
					f.t.Errorf("fake: %v", err)
				}
				if write(b) != nil {
					return
				}
			case <-c.gone:
				return
			}
		}
	})
	for {
		b, err := read()
		if err != nil {
			break
		}
		var fr wire.ClientFrame
		if err := c.codec.Decode(b, &fr); err != nil {
			f.t.Errorf("fake: the client sent no frame: %v", err)
			break
		}
		f.mu.Lock()
		f.handle(c, &fr)
		f.mu.Unlock()
	}
	f.mu.Lock()
	f.conns = slices.DeleteFunc(f.conns, func(x *fakeConn) bool { return x == c })
	f.mu.Unlock()
	c.shut()
	wg.Wait()
}

func (c *fakeConn) shut() { c.once.Do(func() { close(c.gone); c.close() }) }

// hang ends the connection after what is queued was written.
func (c *fakeConn) hang() { c.out <- nil }

func reply[M wire.ServerMessage](c *fakeConn, m M) { c.out <- wire.NewServerFrame(m) }

func (f *fake) handle(c *fakeConn, fr *wire.ClientFrame) {
	f.seen = append(f.seen, fr)
	if f.onFrame != nil && f.onFrame(c, fr) {
		return
	}
	switch m := fr.Frame.(type) {
	case *wire.ClientFrame_Hello:
		f.hello(c, m.Hello)
	case *wire.ClientFrame_Send:
		f.send(c, m.Send)
	case *wire.ClientFrame_Received:
		f.received[m.Received.Conversation] = max(f.received[m.Received.Conversation], m.Received.Seq)
	case *wire.ClientFrame_Read:
		f.markRead(m.Read.Conversation, m.Read.Seq)
	case *wire.ClientFrame_Sync:
		reply(c, f.delta(m.Sync))
	case *wire.ClientFrame_Pull:
		reply(c, f.pull(m.Pull))
	case *wire.ClientFrame_Pulls:
		for _, p := range m.Pulls.Pulls {
			reply(c, f.pull(p))
		}
	case *wire.ClientFrame_Ping:
		reply(c, f.pong(m.Ping))
	case *wire.ClientFrame_Call:
		r := &wire.Result{Number: m.Call.Number, Response: &wire.Result_Error{Error: wire.NewError(wire.CodeUnimplemented, "")}}
		if f.onCall != nil {
			r = f.onCall(m.Call)
			r.Number = m.Call.Number
		}
		reply(c, r)
	case *wire.ClientFrame_Bye:
		c.hang()
	}
}

func (f *fake) hello(c *fakeConn, h *wire.Hello) {
	f.hellos = append(f.hellos, h)
	if f.onHello != nil {
		if answer := f.onHello(h); answer != nil {
			c.out <- answer
			c.hang()
			return
		}
	}
	w := &wire.Welcome{
		Version: 1, User: f.user, Session: "s", Timeline: f.timeline, ServerTimeMs: time.Now().Add(f.ahead).UnixMilli(),
		Heartbeat: &wire.Heartbeat{IdleMs: 30_000, SilenceMs: 45_000, DeadMs: 60_000},
		Limits:    &wire.Limits{FrameBytes: 1 << 20, ContentBytes: 1000, Mentions: 100, PullEntries: 100, InFlight: 64},
	}
	if f.welcome != nil {
		f.welcome(w)
	}
	f.conns = append(f.conns, c)
	c.ready = true
	reply(c, w)
	if !f.noSync {
		reply(c, f.delta(h.Sync))
	}
}

func (f *fake) send(c *fakeConn, s *wire.Send) {
	var v verdict
	if f.onSend != nil {
		v = f.onSend(c, s)
	}
	first := c.first[s.Conversation]
	behind := first != nil && !bytes.Equal(s.Id, first) && !bytes.Equal(s.InsteadOf, first)
	if !behind {
		delete(c.first, s.Conversation)
	}
	switch {
	case behind:
		reply(c, &wire.SendError{Id: s.Id, Error: wire.NewError(wire.CodeOutOfOrder, "behind"), First: first})
	case v.code != "":
		if v.code.Info().Action != wire.ActionFix {
			if c.first == nil {
				c.first = map[string][]byte{}
			}
			c.first[s.Conversation] = s.Id
		}
		e := wire.NewError(v.code, "refused")
		e.RetryAfterMs = v.retryMs
		reply(c, &wire.SendError{Id: s.Id, Error: e})
	case v.noStore:
	default:
		e := f.byID[f.user+string(s.Id)]
		if e == nil {
			e = &wire.Entry{
				Conversation: s.Conversation, Id: s.Id, Sender: f.user, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
				Content: s.Content, ReplyTo: s.ReplyTo, Mentions: s.Mentions, Extra: s.Extra,
			}
			if e.Thread, e.AlsoInMain = s.Thread, s.AlsoInMain; s.Thread != 0 && !s.AlsoInMain {
				e.Kind, e.Target, e.Thread = wire.EntryKind_ENTRY_KIND_THREAD_REPLY, s.Thread, s.Thread
			}
			e = f.append(c, e)
		}
		ack := &wire.SendAck{Id: s.Id, Conversation: e.Conversation, Seq: e.Seq, StoredAtMs: e.StoredAtMs, Count: e.Count, Pos: e.Pos}
		if !v.noAck {
			reply(c, ack)
		}
		if v.ackTwice {
			reply(c, ack)
		}
	}
	if v.hangUp {
		c.hang()
	}
}

// append stores an entry and pushes it to all connections but origin.
func (f *fake) append(origin *fakeConn, e *wire.Entry) *wire.Entry {
	j := f.journal[e.Conversation]
	e.Seq = uint64(len(j)) + 1
	if len(j) > 0 {
		e.Count = j[len(j)-1].Count
	}
	if e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE {
		e.Count++
		f.stores = append(f.stores, e.Content.GetText())
	}
	e.StoredAtMs = time.Now().UnixMilli()
	f.pos++
	e.Pos = f.pos
	if e.Id == nil {
		e.Id = fmt.Appendf(nil, "%016d", len(f.changes))
	}
	f.journal[e.Conversation] = append(j, e)
	f.byID[e.Sender+string(e.Id)] = e
	theirs := f.sees(e)
	c := change{conversation: e.Conversation}
	if theirs {
		c.entry = e.Seq
	}
	f.changes = append(f.changes, c)
	f.amend(e)
	if e.Sender == f.user && e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE {
		f.read[e.Conversation] = e.Seq
	}
	for _, c := range f.conns {
		if c == origin || !theirs {
			continue
		}
		out := []*wire.Entry{f.pushed(e)}
		if f.onPush != nil {
			out = f.onPush(c, e)
		}
		if len(out) > 0 {
			reply(c, &wire.Push{Entries: out})
		}
	}
	return e
}

func (f *fake) markRead(conversation string, seq uint64) {
	if seq > f.read[conversation] {
		f.read[conversation] = seq
		f.changes = append(f.changes, change{conversation: conversation})
	}
}

func (f *fake) position() string { return strconv.Itoa(len(f.changes)) }

// has tells whether an entry is in the journal.
func (f *fake) has(n *wire.Newest) bool {
	if n == nil {
		return true
	}
	j := f.journal[n.Conversation]
	if n.Seq > uint64(len(j)) {
		return false
	}
	e := j[n.Seq-1]
	return e.Pos == n.Pos && e.StoredAtMs == n.StoredAtMs && string(e.Id) == string(n.Id)
}

func (f *fake) delta(q *wire.Sync) *wire.SyncDelta {
	d := &wire.SyncDelta{Number: q.GetNumber(), Timeline: f.timeline, Position: f.position()}
	from, err := strconv.Atoi(q.GetPosition())
	if q.GetPosition() != "" && err == nil && q.Timeline == f.timeline && from <= len(f.changes) && f.has(q.Newest) {
		since := map[string]uint64{} // the first entry that is new
		var order []string
		for _, c := range f.changes[from:] {
			if _, ok := since[c.conversation]; !ok && f.listed(c.conversation) {
				order = append(order, c.conversation)
				since[c.conversation] = 0
			}
			if since[c.conversation] == 0 {
				since[c.conversation] = c.entry
			}
		}
		slices.Sort(order)
		for _, c := range order {
			if _, last, _ := strings.Cut(q.GetCursor(), " "); c <= last {
				continue
			}
			if f.resumeMax > 0 && len(d.Conversations) == f.resumeMax {
				first, _, ok := strings.Cut(q.GetCursor(), " ")
				if !ok {
					first = d.Position
				}
				d.Position, d.Next = "", first+" "+d.Conversations[len(d.Conversations)-1].Conversation
				return d
			}
			d.Conversations = append(d.Conversations, f.news(c, since[c]))
		}
		if first, _, ok := strings.Cut(q.GetCursor(), " "); ok {
			d.Position = first
		}
		return d
	}
	d.Reset_ = q.GetPosition() != ""
	// The conversation list, newest first; a cursor is the last conversation of the page before.
	var list []string
	for i := len(f.changes) - 1; i >= 0; i-- {
		if c := f.changes[i].conversation; !slices.Contains(list, c) && f.listed(c) {
			list = append(list, c)
		}
	}
	if q.GetCursor() != "" {
		list = list[slices.Index(list, q.Cursor)+1:]
	}
	limit := int(q.GetLimit())
	if limit == 0 {
		limit = 100
	}
	if len(list) > limit {
		list = list[:limit]
		d.Next = list[limit-1]
	}
	for _, c := range list {
		d.Conversations = append(d.Conversations, f.line(c))
	}
	return d
}

func (f *fake) pull(p *wire.Pull) *wire.Range {
	j := f.journal[p.Conversation]
	if until := f.until[p.Conversation]; until > 0 {
		j = j[:until]
	}
	r := &wire.Range{Number: p.Number, Conversation: p.Conversation, Head: uint64(len(j))}
	limit := int(p.Limit)
	if limit == 0 || limit > 100 {
		limit = 50
	}
	from := max(p.From, 1)
	if p.Backward && (p.From == 0 || p.From > r.Head) {
		from = r.Head
	}
	if from > r.Head || r.Head == 0 {
		return r
	}
	var s stretch
	if p.Backward {
		s = f.down(p.Conversation, from, 1, limit)
	} else {
		s = f.up(p.Conversation, from, limit)
	}
	r.FirstSeq, r.LastSeq, r.Entries, r.Touched, r.Last = s.first, s.last, s.entries, s.touched, s.end
	return r
}

func (f *fake) pong(p *wire.Ping) *wire.Pong {
	out := &wire.Pong{ServerTimeMs: time.Now().Add(f.ahead).UnixMilli()}
	if p.Digest == nil {
		return out
	}
	from, err := strconv.Atoi(p.Position)
	if err != nil || from > len(f.changes) {
		out.Resync = true
		return out
	}
	heads := map[string]bool{}
	for _, c := range f.changes[from:] {
		if c.entry > 0 {
			heads[c.conversation] = true
		}
	}
	var digest uint64
	for c := range heads {
		head := uint64(len(f.journal[c]))
		if until := f.until[c]; until > 0 {
			head = until
		}
		digest += wire.HeadHash(c, head)
	}
	if digest != *p.Digest {
		out.Resync = true
	} else {
		out.Position = f.position()
	}
	return out
}

// What tests do to the server.

func (f *fake) do(g func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g()
}

// connections is how many Hellos came.
func (f *fake) connections() (n int) {
	f.do(func() { n = len(f.hellos) })
	return n
}

// say stores a message of somebody.
func (f *fake) say(conversation, sender, text string) *wire.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.append(nil, &wire.Entry{
		Conversation: conversation, Sender: sender, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
		Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}},
	})
}

func (f *fake) sayMany(conversation, sender string, n int) {
	for i := range n {
		f.say(conversation, sender, fmt.Sprintf("m%d", i+1))
	}
}

// broadcast sends a frame to all connections.
func broadcast[M wire.ServerMessage](f *fake, m M) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		reply(c, m)
	}
}

func (f *fake) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		c.hang()
	}
}

// frames returns the frames of one kind the client has sent.
func frames[M proto.Message](f *fake, get func(*wire.ClientFrame) M) []M {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []M
	for _, fr := range f.seen {
		if m := get(fr); m.ProtoReflect().IsValid() {
			out = append(out, m)
		}
	}
	return out
}

func (f *fake) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.stores)
}
