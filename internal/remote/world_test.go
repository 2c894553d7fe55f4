package remote

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/bus/mem"
	"github.com/skein-im/skein/internal/im"
)

// store is what the logic nodes share: a database.
type store struct {
	eras    im.Eras
	mu      sync.Mutex
	entries map[im.ConversationID][]im.Entry
	ids     map[im.MessageID]im.Ack
	pos     uint64
	away    map[string]bool // nodes that cannot reach it
	refuse  map[string]bool // nodes that find no conversation
	settled bool            // and know that no other can store into it any more
	fail    map[string]int  // how many messages each node cannot store
	calls   map[string]int  // how often each Call was carried out
	marks   map[im.ConversationID]uint64
	onMark  func() error // nil: they are stored
	// locked conversations cannot be stored into by any node.
	locked map[im.ConversationID]bool
	sends  map[string]int // how many sends each node was given
	onSend func(node string, from im.Actor, m im.Message) error
	onCall func(node string)
	// signals is what the logic nodes were told to pass on, told who said it.
	signals []im.Signal
	told    []im.UserID
}

func newStore() *store {
	return &store{entries: map[im.ConversationID][]im.Entry{}, ids: map[im.MessageID]im.Ack{}, away: map[string]bool{}, fail: map[string]int{}, refuse: map[string]bool{}, calls: map[string]int{}, marks: map[im.ConversationID]uint64{}, locked: map[im.ConversationID]bool{}, sends: map[string]int{}}
}

func (s *store) append(from im.UserID, m im.Message) (ack im.Ack, e im.Entry, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ack, ok := s.ids[m.ID]; ok {
		return ack, im.Entry{}, false
	}
	s.pos++
	list := s.entries[m.Conversation]
	e = im.Entry{Conversation: m.Conversation, Seq: uint64(len(list) + 1), ID: m.ID, Sender: from, Kind: m.Kind, Body: m.Body, Pos: s.pos, Stored: time.UnixMilli(int64(s.pos))}
	s.entries[m.Conversation] = append(list, e)
	ack = im.Ack{Seq: e.Seq, Count: e.Seq, Stored: e.Stored}
	s.ids[m.ID] = ack
	return ack, e, true
}

// failsOnce tells that this one message cannot be stored.
func (s *store) failsOnce(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail[node] == 0 {
		return false
	}
	s.fail[node]--
	return true
}

func (s *store) isAway(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away[node]
}

func (s *store) setAway(node string, away bool) {
	s.mu.Lock()
	s.away[node] = away
	s.mu.Unlock()
}

// brain is the logic of a node: a committer over the store.
type brain struct {
	im.Logic
	name  string
	store *store
	out   im.Dispatch
	queue chan func()
}

const commitTime = 2 * time.Millisecond

func newBrain(name string, s *store, out im.Dispatch, stop <-chan struct{}) *brain {
	b := &brain{name: name, store: s, out: out, queue: make(chan func(), 1<<16)}
	go func() {
		for {
			select {
			case f := <-b.queue:
				f()
				for n := len(b.queue); n > 0; n-- {
					(<-b.queue)()
				}
				time.Sleep(commitTime)
				b.out.Flush()
			case <-stop:
				return
			}
		}
	}()
	return b
}

func (b *brain) Send(ctx context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	if string(m.Body) == "poison" {
		b.store.mu.Lock()
		b.store.calls["poison"]++
		b.store.mu.Unlock()
		panic("as it is asked to")
	}
	b.queue <- func() {
		err := b.refuses(from, m)
		b.store.mu.Lock()
		b.store.sends[b.name]++
		if b.store.locked[m.Conversation] {
			err = &im.Error{Code: im.CodeUnavailable, Message: "locked", RetryAfter: time.Second, Everywhere: true}
		}
		b.store.mu.Unlock()
		if err == nil && from.Order.Behind(from.Connection, m.Conversation, from.Turn) {
			err = im.ErrBehind()
		}
		if err != nil {
			from.Order.Refused(from.Connection, m.Conversation, m.ID, from.Turn)
			reply(im.Ack{}, err)
			return
		}
		if b.store.isAway(b.name) || b.store.failsOnce(b.name) || context.Cause(ctx) == im.ErrWithdrawn {
			reply(im.Ack{}, im.Errorf(im.CodeUnavailable, "no store"))
			return
		}
		if b.store.refuse[b.name] {
			e := im.Errorf(im.CodeNotFound, "no such conversation")
			e.Settled = from.Doubt && b.store.settled
			reply(im.Ack{}, e)
			return
		}
		ack, e, fresh := b.store.append(from.User, m)
		reply(ack, nil)
		if fresh {
			var to [2]im.UserID
			b.out.ToUsers(members(m.Conversation, &to), im.Parcel{Entries: []im.Entry{e}, Origin: []im.ConnectionID{from.Connection}})
		}
	}
}

// refuses tells why a message is refused for now.
func (b *brain) refuses(from im.Actor, m im.Message) error {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if f := b.store.onSend; f != nil {
		return f(b.name, from, m)
	}
	return nil
}

func (b *brain) Mark(_ context.Context, _ im.Actor, c im.ConversationID, received, _ uint64, reply func(error)) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if f := b.store.onMark; f != nil {
		if err := f(); err != nil {
			reply(err)
			return
		}
	}
	if received > uint64(len(b.store.entries[c])) {
		reply(im.Errorf(im.CodeInvalidArgument, "beyond the last entry"))
		return
	}
	b.store.marks[c] = max(b.store.marks[c], received)
	reply(nil)
}

// Pull takes until nobody waits for it any more.
func (b *brain) Pull(ctx context.Context, _ im.Actor, _ im.PullQuery) (im.PullResult, error) {
	<-ctx.Done()
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.calls["pull ended"]++
	return im.PullResult{}, ctx.Err()
}

func (b *brain) Sync(_ context.Context, from im.Actor, q im.SyncQuery) (im.SyncResult, error) {
	return im.SyncResult{Timeline: "t", Position: q.Position + string(from.User), Conversations: []im.ConversationState{{Title: string(make([]byte, q.Limit))}}}, nil
}

func (b *brain) Signal(_ context.Context, from im.Actor, s im.Signal) (may []im.Watched, err error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.signals, b.store.told = append(b.store.signals, s), append(b.store.told, from.User)
	for _, u := range s.Watch {
		may = append(may, im.Watched{User: u, Seen: time.UnixMilli(int64(len(u)))})
	}
	return may, nil
}

func (b *brain) Call(_ context.Context, _ im.Actor, call im.Call) ([]byte, error) {
	method, payload := call.Method, call.Payload
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.calls[string(payload)]++
	if f := b.store.onCall; f != nil {
		f(b.name)
	}
	if method == "panic" {
		panic("as it is asked to")
	}
	if method == "fail" {
		return nil, im.Errorf(im.CodeNotFound, "no such thing")
	}
	return append([]byte(b.name+" "+call.Key), payload...), nil
}

func (b *brain) Position(context.Context) (uint64, error) {
	if b.store.isAway(b.name) {
		return 0, im.ErrJournalUnavailable
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.store.pos, nil
}

func (b *brain) Timeline() string { return "t" }

func (b *brain) Eras() im.Eras {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if b.store.eras == nil {
		return im.Eras{{ID: 1}}
	}
	return b.store.eras
}

func (b *brain) Changed(_ context.Context, since uint64, limit int) (heads []im.ParcelHead, more bool, err error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	for c, list := range b.store.entries {
		if e := list[len(list)-1]; e.Pos > since {
			heads = append(heads, im.ParcelHead{Conversation: c, Seq: e.Seq})
		}
	}
	return heads, len(heads) > limit, nil
}

func (b *brain) Standing(_ context.Context, u im.UserID) (im.Standing, error) {
	return im.Standing{Groups: []im.GroupStanding{{Conversation: im.Group(string(u)), Roster: 7, From: 5}}, Sessions: []im.SessionID{"s"}}, nil
}

func (b *brain) Media(_ context.Context, method string, payload []byte) ([]byte, error) {
	if method == "refuse" {
		return nil, im.Wrong("size", "is %s", payload)
	}
	return append([]byte(method+" of "+b.name+": "), payload...), nil
}

func (b *brain) Reread(context.Context) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.calls["reread at "+b.name]++
}

func (b *brain) Forget(x, y im.UserID) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.calls["forget "+string(x)+" "+string(y)+" at "+b.name]++
}

// forgot lists the nodes that forgot what they knew of a pair, and forgets it.
func (w *world) forgot(x, y im.UserID) (nodes []string) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	for call := range w.store.calls {
		if name, ok := strings.CutPrefix(call, "forget "+string(x)+" "+string(y)+" at "); ok {
			nodes = append(nodes, name)
			delete(w.store.calls, call)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// door is the gateway of a node: it notes what comes.
type door struct {
	mu       sync.Mutex
	entries  map[im.UserID][]uint64 // seqs
	heads    map[im.ConversationID]uint64
	groups   map[im.ConversationID][]uint64 // seqs
	controls []im.Control
	gone     []string
	verified int
	back     int
	onEntry  func(im.Entry)
	online   map[im.UserID]bool
	seen     map[im.UserID]map[string]bool // who is online where else
}

func newDoor() *door {
	return &door{entries: map[im.UserID][]uint64{}, heads: map[im.ConversationID]uint64{}, groups: map[im.ConversationID][]uint64{}, online: map[im.UserID]bool{}, seen: map[im.UserID]map[string]bool{}}
}

// What the node's goroutines wrote is read by the test's under the lock.

func (d *door) head(c im.ConversationID) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heads[c]
}

func (d *door) verifications() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.verified
}

func (d *door) judged() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.gone)
}

func (d *door) ToUsers(us []im.UserID, p im.Parcel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range us {
		if !d.online[u] {
			continue
		}
		for _, e := range p.Entries {
			d.entries[u] = append(d.entries[u], e.Seq)
			if d.onEntry != nil {
				d.onEntry(e)
			}
		}
		if p.Head != nil {
			d.heads[p.Head.Conversation] = max(d.heads[p.Head.Conversation], p.Head.Seq)
		}
	}
}

func (d *door) ToGroup(c im.ConversationID, p im.Parcel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range p.Entries {
		d.groups[c] = append(d.groups[c], e.Seq)
	}
	if p.Head != nil {
		d.heads[c] = max(d.heads[c], p.Head.Seq)
	}
}

func (d *door) Control(c im.Control) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.controls = append(d.controls, c)
}
func (d *door) Flush() {}
func (d *door) Online(u im.UserID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.online[u]
}

func (d *door) Elsewhere(node string, users []im.UserID, online bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range users {
		if d.seen[u] == nil {
			d.seen[u] = map[string]bool{}
		}
		d.seen[u][node] = online
	}
}

func (d *door) NodeGone(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = append(d.gone, node)
}

func (d *door) WentBack() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.back++
}

func (d *door) Verify(bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.verified++
}

// world is a cluster in memory.
type world struct {
	t     *testing.T
	hub   *mem.Hub
	store *store
	nodes map[string]*Node
	doors map[string]*door
	stops map[string]chan struct{}
	ids   int
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{t: t, hub: mem.NewHub(seed), store: newStore(), nodes: map[string]*Node{}, doors: map[string]*door{}, stops: map[string]chan struct{}{}}
}

// add starts a node whose name begins with its roles: g, l or gl.
func (w *world) add(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.start(name, nil, nil, nil)
	}
	pass(2 * beatEvery) // everybody has heard everybody
}

// addWith is add for one node whose bus, log and metrics are given.
func (w *world) addWith(name string, open func(bus.Handler) (bus.Bus, error), log *slog.Logger, reg prometheus.Registerer) {
	w.t.Helper()
	w.start(name, open, log, reg)
	pass(2 * beatEvery)
}

func (w *world) start(name string, open func(bus.Handler) (bus.Bus, error), log *slog.Logger, reg prometheus.Registerer) {
	w.t.Helper()
	if open == nil {
		open = func(h bus.Handler) (bus.Bus, error) { return w.hub.Open(name, h), nil }
	}
	n, err := New(Options{Name: name, Open: open, Logger: log, Registerer: reg})
	if err != nil {
		w.t.Fatal(err)
	}
	w.nodes[name] = n
	w.stops[name] = make(chan struct{})
	var g Gateway
	if name[0] == 'g' {
		w.doors[name] = newDoor()
		g = w.doors[name]
	}
	if name[0] == 'l' || name[1] == 'l' {
		b := newBrain(name, w.store, n.Dispatch(), w.stops[name])
		err = n.Start(g, b, b)
	} else {
		err = n.Start(g, nil, nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// kill ends a node without a word.
func (w *world) kill(name string) {
	close(w.stops[name])
	if err := w.nodes[name].Close(); err != nil {
		w.t.Error(err)
	}
	delete(w.nodes, name)
}

func (w *world) close() {
	for name := range w.nodes {
		w.kill(name)
	}
}

func (w *world) message(c im.ConversationID) im.Message {
	w.ids++
	var r [10]byte
	binary.BigEndian.PutUint32(r[2:], uint32(w.ids))
	return im.Message{Conversation: c, ID: im.NewMessageID(time.UnixMilli(1), r), Kind: im.EntryMessage, Body: fmt.Append(nil, w.ids)}
}

// sent is a send under way.
type sent struct {
	m       im.Message
	mu      sync.Mutex
	replies int
	ack     im.Ack
	err     error
	at      time.Time
}

func (w *world) send(node string, u im.UserID, c im.ConversationID) *sent {
	s := &sent{m: w.message(c)}
	w.nodes[node].Logic().Send(context.Background(), im.Actor{User: u, Connection: im.ConnectionID("c-" + string(u))}, s.m, func(a im.Ack, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.replies++
		s.ack, s.err, s.at = a, err, time.Now()
	})
	return s
}

// stored requires that every send was answered once, with the seq under which
// it is stored, and that those of a conversation stand in their order.
func (w *world) stored(all []*sent) {
	w.t.Helper()
	last := map[im.ConversationID]uint64{}
	for i, s := range all {
		s.mu.Lock()
		replies, ack, err := s.replies, s.ack, s.err
		s.mu.Unlock()
		switch {
		case replies != 1 || err != nil:
			w.t.Fatalf("send %d: %d replies, %v", i, replies, err)
		case ack.Seq <= last[s.m.Conversation]:
			w.t.Fatalf("send %d of %s got seq %d after %d", i, s.m.Conversation, ack.Seq, last[s.m.Conversation])
		case w.store.entries[s.m.Conversation][ack.Seq-1].ID != s.m.ID:
			w.t.Fatalf("send %d: seq %d is another message", i, ack.Seq)
		}
		last[s.m.Conversation] = ack.Seq
	}
}

// fuzzed is a node with all roles and no others.
func fuzzed(t *testing.T) *Node {
	n, err := New(Options{Name: "gl", Open: func(h bus.Handler) (bus.Bus, error) { return mem.NewHub(1).Open("gl", h), nil }})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	b := newBrain("gl", newStore(), n.Dispatch(), stop)
	if err := n.Start(newDoor(), b, b); err != nil {
		t.Fatal(err)
	}
	n.instance = 1
	t.Cleanup(func() {
		_ = n.Close()
		close(stop)
	})
	return n
}
