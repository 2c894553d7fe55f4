package remote

import (
	"slices"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// Nodes tells of this node and of all that it hears, itself first, then by name.
func (n *Node) Nodes() []im.NodeHealth {
	self := im.NodeHealth{Name: n.o.Name, Roles: rolesOf(n.roles), Ready: n.Ready(), Heard: n.now(), Self: true}
	if n.served != nil {
		self.Ready = n.ready.Load()
	}
	n.peers.mu.Lock()
	defer n.peers.mu.Unlock()
	var others []im.NodeHealth
	for _, p := range n.peers.nodes {
		if p.name == n.o.Name {
			continue
		}
		// A gateway or a door alone says nothing of a store: that it is heard is all.
		others = append(others, im.NodeHealth{Name: p.name, Roles: rolesOf(p.roles), Ready: p.ready || p.roles&roleLogic == 0, Heard: p.heard})
	}
	slices.SortFunc(others, func(a, b im.NodeHealth) int { return strings.Compare(a.Name, b.Name) })
	return append([]im.NodeHealth{self}, others...)
}

func rolesOf(bits uint64) (roles []string) {
	for _, r := range []struct {
		bit  uint64
		name string
	}{{roleGateway, "gateway"}, {roleLogic, "logic"}, {roleAPI, "api"}} {
		if bits&r.bit != 0 {
			roles = append(roles, r.name)
		}
	}
	return roles
}
