package remote

import (
	"github.com/skein-im/skein/internal/im"
)

// What the gateway tells its Node: who is here, and whom somebody watches.
// All of it may be lost; Refresh brings it back.

// UserHere has parcels for a user come here, UserGone no more.
func (n *Node) UserHere(u im.UserID) { n.subscribe("u." + string(u)) }

// UserGone is called when a user's last session ended.
func (n *Node) UserGone(u im.UserID) { n.bus.Unsubscribe("u." + string(u)) }

// GroupHere has parcels for a group come here, GroupGone no more.
func (n *Node) GroupHere(c im.ConversationID) { n.subscribe("g." + string(c)) }

// GroupGone is called when a group's last session ended.
func (n *Node) GroupGone(c im.ConversationID) { n.bus.Unsubscribe("g." + string(c)) }

func (n *Node) subscribe(subject string) {
	if err := n.bus.Subscribe(subject); err != nil {
		n.o.Logger.Error("remote: subscribe", "subject", subject, "err", err)
	}
}

// Announce tells whoever watches that a user came here or went.
func (n *Node) Announce(u im.UserID, online bool) {
	n.bus.Publish("p."+string(u), putBool(putString([]byte{version}, n.o.Name), online))
	n.bus.Flush()
}

// Watch asks the other gateways about users, now and from now on; the answers
// come to Gateway.Elsewhere.
func (n *Node) Watch(users []im.UserID) {
	for _, u := range users {
		n.subscribe("p." + string(u))
	}
	n.bus.Publish("pq", putUsers(putString([]byte{version}, n.o.Name), users))
	n.bus.Flush()
}

// Unwatch ends it.
func (n *Node) Unwatch(users []im.UserID) {
	for _, u := range users {
		n.bus.Unsubscribe("p." + string(u))
	}
}

// presence takes news of a user (p) and questions about some (pq).
func (n *Node) presence(kind string, u im.UserID, data []byte) {
	in := opened(data)
	from := in.string()
	if kind == "p" {
		if online := in.bool(); in.err == nil {
			n.touched = true
			n.gateway().Elsewhere(from, []im.UserID{u}, online)
		}
		return
	}
	var here []im.UserID
	for _, u := range in.users() {
		if n.gateway().Online(u) {
			here = append(here, u)
		}
	}
	if in.err == nil && im.ValidID(from) && len(here) > 0 {
		n.bus.Publish("n."+from, putUsers(putString([]byte{version, downPresence}, n.o.Name), here))
		n.bus.Flush()
	}
}

// presenceAnswer takes the answer to a question.
func (n *Node) presenceAnswer(data []byte) {
	in := opened(data)
	in.byte() // downPresence
	from, users := in.string(), in.users()
	if g := n.gateway(); g != nil && in.err == nil {
		n.touched = true
		g.Elsewhere(from, users, true)
	}
}

// has tells whether a node is known as it says it is.
func (p *peers) has(name string, instance uint64, ready bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.nodes[name]
	return x != nil && x.instance == instance && x.ready == ready
}
