package remote

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// A block that was answered must count at every logic node, so whoever changes
// two users' relation waits until all that are heard have forgotten what they
// knew of it. A node that is silent is waited for until it is judged gone.

const (
	// forgetAgain is when those who did not confirm are told once more.
	forgetAgain = beatEvery
	// forgetTime bounds the wait, whatever happens.
	forgetTime = 2 * deadAfter
)

// forgettings are the changes that some nodes did not confirm yet.
type forgettings struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*forgetting
}

// forgetting is one change. forgettings.mu guards it.
type forgetting struct {
	wait map[string]bool // the nodes that did not confirm
	done chan struct{}   // closed when there are none
}

// begin numbers a change that these nodes are to confirm.
func (f *forgettings) begin(nodes []peer) (uint64, *forgetting) {
	x := &forgetting{wait: map[string]bool{}, done: make(chan struct{})}
	for i := range nodes {
		x.wait[nodes[i].name] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[uint64]*forgetting{}
	}
	f.last++
	f.open[f.last] = x
	x.check()
	return f.last, x
}

// check closes done when nobody is waited for.
func (x *forgetting) check() {
	select {
	case <-x.done:
	default:
		if len(x.wait) == 0 {
			close(x.done)
		}
	}
}

func (f *forgettings) end(number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, number)
}

// confirmed takes the word of a node.
func (f *forgettings) confirmed(number uint64, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.open[number]; x != nil {
		delete(x.wait, node)
		x.check()
	}
}

// only ends the wait for all but these nodes: the others are gone.
func (f *forgettings) only(number uint64, nodes []peer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.open[number]
	here := map[string]bool{}
	for i := range nodes {
		here[nodes[i].name] = true
	}
	for name := range x.wait {
		if !here[name] {
			delete(x.wait, name)
		}
	}
	x.check()
}

// lists stands in the place of two users where what is to be forgotten are the lists of the
// deployment. A node of before forgets all that it knows of users, which is harmless.
const lists = im.UserID("lists")

// rereadTime bounds how long a node may take to read the lists.
const rereadTime = 5 * time.Second

// Reread has all logic nodes read the lists of the deployment again, and returns as Forget
// does. A node that could not be told looks again by itself, within seconds.
func (n *Node) Reread(ctx context.Context) { n.Forget(ctx, "", lists) }

// Forget has all logic nodes forget what they know of two users' relation (see
// Backend.Forget) and returns when those that are heard have, or after
// forgetTime, or with ctx. A node that could not be told looks again by itself,
// after contact.Options.OpenFor at the latest.
func (n *Node) Forget(ctx context.Context, a, b im.UserID) {
	number, x := n.forgets.begin(n.peers.list(roleLogic))
	defer n.forgets.end(number)
	msg := putString(putString(putString([]byte{version}, a), b), n.o.Name)
	msg = binary.AppendUvarint(msg, number)
	deadline := time.NewTimer(forgetTime)
	defer deadline.Stop()
	again := time.NewTicker(forgetAgain)
	defer again.Stop()
	for {
		n.bus.Publish("inv", msg)
		n.bus.Flush()
		select {
		case <-x.done:
			return
		case <-again.C:
			n.forgets.only(number, n.peers.list(roleLogic))
		case <-deadline.C:
			n.o.Logger.Warn("remote: a logic node did not confirm a changed contact in time")
			return
		case <-ctx.Done():
			return
		case <-n.done:
			return
		}
	}
}

// forget does what another node's Forget asks for, and says so.
func (n *Node) forget(data []byte) {
	in := opened(data)
	a, b, from, number := in.string(), in.string(), in.string(), in.uint()
	if in.err != nil {
		return
	}
	if a == "" && im.UserID(b) == lists { // a store is read: not on the bus's goroutine
		n.wg.Go(func() {
			ctx, cancel := context.WithTimeout(n.served.ctx, rereadTime)
			defer cancel()
			n.served.backend.Reread(ctx)
			n.confirm(from, number)
		})
		return
	}
	n.served.backend.Forget(im.UserID(a), im.UserID(b))
	n.confirm(from, number)
}

// confirm tells another node that what it asked for is done.
func (n *Node) confirm(from string, number uint64) {
	if im.ValidID(from) && from != n.o.Name {
		n.bus.Publish("n."+from, binary.AppendUvarint(putString([]byte{version, downForgot}, n.o.Name), number))
		n.bus.Flush()
	}
}

// forgot takes the confirmation.
func (n *Node) forgot(data []byte) {
	in := opened(data)
	in.byte() // downForgot
	if name, number := in.string(), in.uint(); in.err == nil {
		n.forgets.confirmed(number, name)
	}
}
