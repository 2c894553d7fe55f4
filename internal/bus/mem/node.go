package mem

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/bus"
)

// node is one Bus of a Hub. Hub.mu guards its fields.
type node struct {
	hub      *Hub
	name     string
	gate     *gate
	inbox    *bus.Inbox
	gathered []published
	closed   bool
}

type published struct {
	subject string
	data    []byte
}

func (n *node) Publish(subject string, data []byte) {
	if !bus.ValidSubject(subject) || len(data) > bus.MaxMessage {
		return
	}
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	if !n.closed {
		n.gathered = append(n.gathered, published{subject, bytes.Clone(data)})
	}
}

func (n *node) Flush() {
	h := n.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	n.flush()
}

// flush sends what was gathered. Hub.mu is held.
func (n *node) flush() {
	if len(n.gathered) == 0 {
		return
	}
	now := time.Now()
	n.hub.arriveUntil(now)
	for _, p := range n.gathered {
		n.hub.send(n, p.subject, p.data, now)
	}
	n.gathered = nil
}

func (n *node) Subscribe(subject string) error {
	if !bus.ValidSubject(subject) {
		return bus.ErrSubject
	}
	h := n.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.closed {
		return bus.ErrClosed
	}
	of := h.interest[subject]
	if of == nil {
		of = map[*node]time.Time{}
		h.interest[subject] = of
	}
	if _, ok := of[n]; !ok {
		of[n] = time.Now().Add(h.faults.Interest)
	}
	return nil
}

func (n *node) Unsubscribe(subject string) {
	h := n.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(n, subject)
}

// forget ends an interest. mu is held.
func (h *Hub) forget(n *node, subject string) {
	of := h.interest[subject]
	delete(of, n)
	if len(of) == 0 {
		delete(h.interest, subject)
	}
}

// Dropped is how many messages found the queue to the Handler full; none does on
// its way out.
func (n *node) Dropped() (in, out uint64) { return n.inbox.Dropped(), 0 }

func (n *node) Close() error {
	h := n.hub
	h.mu.Lock()
	if !n.closed {
		n.closed = true
		n.gathered = nil
		for subject := range h.interest {
			h.forget(n, subject)
		}
		delete(h.nodes, n.name)
		h.order = slices.DeleteFunc(h.order, func(o *node) bool { return o == n })
		n.gate.unblock()
	}
	h.mu.Unlock()
	n.inbox.Close()
	return nil
}

// gate stands before a Handler and can be shut.
type gate struct {
	handler bus.Handler
	mu      sync.Mutex
	open    sync.Cond
	shut    bool
}

func newGate(h bus.Handler) *gate {
	g := &gate{handler: h}
	g.open.L = &g.mu
	return g
}

func (g *gate) block() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

func (g *gate) unblock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
	g.open.Broadcast()
}

func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut {
		g.open.Wait()
	}
}

func (g *gate) Message(subject string, data []byte) {
	g.pass()
	g.handler.Message(subject, data)
}

func (g *gate) Idle() { g.handler.Idle() }

func (g *gate) Lost(reason string) {
	g.pass()
	g.handler.Lost(reason)
}
