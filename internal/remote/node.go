package remote

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/im"
)

// Gateway is what the others ask of this process's gateway.
type Gateway interface {
	im.Dispatch
	// Online tells whether the user has a session here that is not in the background.
	Online(u im.UserID) bool
	// Elsewhere tells that users are online at another node, or not any more.
	Elsewhere(node string, users []im.UserID, online bool)
	// NodeGone tells that nobody is online at a node any more.
	NodeGone(node string)
	// Verify reads again what this gateway knows of its users: news may be lost.
	// With all, every session is told to compare what it has.
	Verify(all bool)
	// WentBack tells that the stores went back to what they were before.
	WentBack()
}

// Options of a Node.
type Options struct {
	// Name is this node's, unique among all: [A-Za-z0-9_-]. Another process of the
	// same name may follow when this one is gone.
	Name string
	// Open joins the bus.
	Open func(bus.Handler) (bus.Bus, error)
	// API: this node has the api role.
	API        bool
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Node is this process among the others.
type Node struct {
	o        Options
	bus      bus.Bus
	instance uint64
	peers    peers
	router   *router
	dispatch dispatch
	metrics  *metrics

	// Set by Start, before the first beat and the first message that needs them.
	served   *server
	gw       atomic.Pointer[Gateway]
	roles    uint64
	ready    atomic.Bool // this process's logic reaches its store
	position atomic.Uint64
	leaving  atomic.Bool
	beating  sync.Mutex
	number   uint64 // of heartbeats; beating's
	past     past
	started  chan struct{}

	strangers strangers

	repairs repairs
	forgets forgettings
	touched bool // something was queued for the gateway's sessions; the bus's goroutine
	done    chan struct{}
	closing sync.Once
	wg      sync.WaitGroup
}

// New joins the bus. Start says what this node does.
func New(o Options) (*Node, error) {
	if !im.ValidID(o.Name) {
		return nil, errors.New("remote: a node's name must match [A-Za-z0-9_-]{1,64}")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	n := &Node{o: o, instance: binary.BigEndian.Uint64(b[:]), started: make(chan struct{}), done: make(chan struct{})}
	n.strangers.nodes, n.strangers.told = map[string]stranger{}, map[string]bool{}
	n.peers.nodes, n.peers.lost = map[string]*peer{}, map[string]absent{}
	n.forgets.last = n.instance >> 16 // no earlier life's word counts
	n.dispatch.node = n
	n.router = newRouter(n)
	n.metrics = newMetrics(n, o.Registerer)
	n.repairs.init(n)
	var err error
	if n.bus, err = o.Open(handler{n}); err != nil {
		return nil, err
	}
	return n, nil
}

func (n *Node) now() time.Time { return n.o.Now() }

// Logic is the way to the logic role, wherever it is.
func (n *Node) Logic() im.Logic { return n.router }

// Dispatch is the way to the gateways, wherever they are.
func (n *Node) Dispatch() im.Dispatch { return &n.dispatch }

// Standing asks what a gateway needs to know of a user.
func (n *Node) Standing(ctx context.Context, u im.UserID) (im.Standing, error) {
	return n.router.standing(ctx, u)
}

// Timeline is the journal's, as the logic nodes tell it; "" when there is none yet.
func (n *Node) Timeline() string {
	if n.served != nil {
		return n.served.backend.Timeline()
	}
	return n.peers.timeline()
}

// Start begins to work: g is nil without the gateway role, logic and backend
// are without the logic role.
func (n *Node) Start(g Gateway, logic im.Logic, backend Backend) error {
	subjects := []string{"hb", "n." + n.o.Name}
	if g != nil {
		n.gw.Store(&g)
		n.roles |= roleGateway
		subjects = append(subjects, "ctl", "add", "pq")
	}
	if n.o.API {
		n.roles |= roleAPI
	}
	if logic != nil {
		n.roles |= roleLogic
		n.served = newServer(n, logic, backend)
		n.look(context.Background())
		subjects = append(subjects, "l."+n.o.Name, "inv")
	}
	for _, s := range subjects {
		if err := n.bus.Subscribe(s); err != nil {
			return err
		}
	}
	close(n.started)
	n.tick(n.now())
	n.wg.Go(n.run)
	if n.served != nil {
		n.wg.Go(n.watchStore)
	}
	n.wg.Go(n.repairs.run)
	return nil
}

func (n *Node) gateway() Gateway {
	if g := n.gw.Load(); g != nil {
		return *g
	}
	return nil
}

// flushLocal has this process's gateway write what was queued for its sessions.
func (n *Node) flushLocal() {
	if g := n.gateway(); g != nil {
		g.Flush()
	}
}

// Ready tells whether there is a logic node that takes requests.
func (n *Node) Ready() bool {
	n.router.mu.Lock()
	defer n.router.mu.Unlock()
	for _, l := range n.router.links {
		if l.ready {
			return true
		}
	}
	return false
}

// Leave tells the others that this node takes no further requests; what it has
// it finishes. It returns when they had the time to hear it.
func (n *Node) Leave(ctx context.Context) {
	n.leaving.Store(true)
	n.ready.Store(false)
	select {
	case <-ctx.Done():
	case <-n.done:
	case <-time.After(3 * beatEvery):
	}
}

// Close ends everything. Sends that are under way are answered as unknown.
func (n *Node) Close() error {
	var err error
	n.closing.Do(func() {
		n.ready.Store(false)
		close(n.done)
		if n.served != nil {
			n.served.close()
		}
		n.router.close()
		n.wg.Wait()
		n.bus.Flush()
		err = n.bus.Close()
	})
	return err
}

// run beats and judges.
func (n *Node) run() {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	last := n.now()
	for {
		select {
		case <-ticker.C:
		case <-n.done:
			return
		}
		now := n.now()
		if now.Sub(last) > 3*beatEvery {
			// This process stood still. What the others said meanwhile waits on the bus: it
			// is read before anybody is judged, and news may have been lost on the way.
			n.peers.pardon(now)
			n.metrics.stalls.Inc()
			n.missed(n.peers.lostAll())
		}
		last = now
		n.tick(now)
	}
}

func (n *Node) tick(now time.Time) {
	n.beat()
	n.missed(n.peers.judge(now))
	n.router.tick(now)
	n.compareStrangers(now)
}

// beat sends a heartbeat.
func (n *Node) beat() {
	n.beating.Lock()
	defer n.beating.Unlock()
	n.number++
	h := beat{
		name: n.o.Name, instance: n.instance, roles: n.roles, number: n.number,
		ready: n.ready.Load(), position: n.position.Load(),
	}
	if n.served != nil {
		h.timeline, h.eras = n.served.backend.Timeline(), n.served.backend.Eras()
	}
	n.bus.Publish("hb", h.append(nil))
	n.bus.Flush()
}

// watchStore asks the store where it stands: the answer is the position of the
// next heartbeats, and that there is one what makes this node ready.
func (n *Node) watchStore() {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-n.done:
			return
		}
		n.look(context.Background())
	}
}

// storeTime is how long the store may take to say where it stands.
const storeTime = 1500 * time.Millisecond

func (n *Node) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	pos, err := n.served.backend.Position(ctx)
	if err == nil {
		n.position.Store(pos)
	}
	ready := err == nil && !n.leaving.Load()
	if was := n.ready.Swap(ready); was != ready && !n.leaving.Load() {
		if ready {
			n.o.Logger.Info("remote: the store answers; taking requests")
		} else {
			n.o.Logger.Warn("remote: the store does not answer; others take the requests", "err", err)
		}
	}
}

// missed acts on nodes that went and on what may be lost.
func (n *Node) missed(x news) {
	for _, gone := range x.gone {
		n.o.Logger.Warn("remote: a node is gone", "node", gone.name)
		n.metrics.gone.Inc()
		if g := n.gateway(); g != nil && gone.roles&roleGateway != 0 {
			g.NodeGone(gone.name)
		}
	}
	if x.lost && n.gateway() != nil {
		n.repairs.since(x.since)
	}
	if x.lost && n.served != nil {
		n.served.backend.Forget("", "")
	}
}

// panicked notes what a panic was about, from the function that recovered it.
func (n *Node) panicked(what string, p any) {
	n.metrics.panics.Inc()
	n.o.Logger.Error("remote: panic", "in", what, "panic", p, "stack", string(debug.Stack()))
}

// send passes a send to a logic of this process. A panic ends the send: it is
// answered, so that no other node is given it.
func (n *Node) send(logic im.Logic, ctx context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	defer func() {
		if p := recover(); p != nil {
			reference := rand.Text()[:8]
			n.panicked("send "+reference, p)
			reply(im.Ack{}, im.Errorf(im.CodeUnprocessable, "the server failed (reference %s)", reference))
		}
	}()
	logic.Send(ctx, from, m, reply)
}

// handler is the bus's side of a Node.
type handler struct{ n *Node }

// Message is the one door for everything from other nodes.
func (h handler) Message(subject string, data []byte) {
	n := h.n
	select {
	case <-n.started:
	default:
		return // what comes before Start is lost, as it may be
	}
	kind, name, _ := strings.Cut(subject, ".")
	if len(data) == 0 || data[0] != version {
		if len(data) > 0 {
			n.strange(kind, data)
		}
		return
	}
	g := n.gateway()
	switch {
	case kind == "hb":
		n.heard(data)
	case kind == "l" && n.served != nil:
		n.served.up(data)
	case kind == "n":
		n.fromNode(data)
	case kind == "inv" && n.served != nil:
		n.forget(data)
	case g == nil:
	case kind == "u" || kind == "g":
		if p, ok := readParcel(data); ok {
			n.touched = true
			if kind == "u" {
				g.ToUsers([]im.UserID{im.UserID(name)}, p)
			} else {
				g.ToGroup(im.ConversationID(name), p)
			}
		}
	case kind == "add":
		if p, ok := readParcel(data); ok {
			n.touched = true
			switch {
			case len(p.Entries) > 0:
				g.ToGroup(p.Entries[0].Conversation, p)
			case p.Head != nil:
				g.ToGroup(p.Head.Conversation, p)
			}
		}
	case kind == "ctl":
		if c, err := readControl(data); err == nil {
			g.Control(c)
			n.touched = true
		}
	case kind == "p" || kind == "pq":
		n.presence(kind, im.UserID(name), data)
	}
}

// Idle is called when nothing more waits: what was queued is written.
func (h handler) Idle() {
	if h.n.touched {
		h.n.touched = false
		h.n.flushLocal()
	}
}

// Lost is called when the bus may have lost messages to this node.
func (h handler) Lost(reason string) {
	select {
	case <-h.n.started:
	default:
		return
	}
	h.n.metrics.lost.Inc()
	h.n.o.Logger.Warn("remote: the bus lost something; comparing", "reason", reason)
	h.n.missed(h.n.peers.lostAll())
	if g := h.n.gateway(); g != nil {
		g.Verify(false)
	}
}

func (n *Node) heard(data []byte) {
	var h beat
	if h.read(data) != nil || h.name == n.o.Name || !im.ValidID(h.name) {
		return
	}
	now := n.now()
	fresh := !n.peers.has(h.name, h.instance, h.ready)
	n.missed(n.peers.heard(h, now))
	if n.past.heard(&h) {
		n.wentBack()
	}
	if fresh {
		n.router.follow(now)
	}
}

func (n *Node) fromNode(data []byte) {
	if len(data) < 2 || data[0] != version {
		return
	}
	switch data[1] {
	case downAnswers:
		n.router.answers(data)
	case downPresence:
		n.presenceAnswer(data)
	case downForgot:
		n.forgot(data)
	}
}
