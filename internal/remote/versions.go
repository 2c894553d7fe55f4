package remote

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Nodes that speak another version of the bus do not understand each other, and
// nothing of theirs is decoded here but who they are. Both halves use one database,
// so nothing is stored twice or out of order, and each half is told of what the
// other stored as of something that the bus lost: by comparing, every few seconds
// while the other half is heard. That is what an upgrade across versions of the bus
// is like while it lasts.

const (
	// compareEvery is how often it is compared what the other half stored.
	compareEvery = 5 * time.Second
	// maxStrangers bounds how many nodes of other versions are known.
	maxStrangers = 256
)

// strangers are the nodes that speak another version.
type strangers struct {
	mu    sync.Mutex
	nodes map[string]stranger
	// told names those that the log has, by name and version.
	told map[string]bool
	// compared is when it was last compared, since is the position of the next time.
	compared time.Time
	since    uint64
	due      bool // what the last one stored is still to be compared
	// own are the positions of this node, as peer.positions are of others.
	own []uint64
}

type stranger struct {
	version byte
	heard   time.Time
}

// strange takes a message of another version. In every version a heartbeat is the
// version's byte and a record that begins with the node's name.
func (n *Node) strange(kind string, data []byte) {
	n.metrics.strange.Inc()
	if kind != "hb" {
		return
	}
	r := &reader{b: data[1:]}
	in := r.record()
	name := in.string()
	if r.also(in); r.err != nil || !im.ValidID(name) {
		return
	}
	s := &n.strangers
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.nodes[name]; !known && len(s.nodes) >= maxStrangers {
		return
	}
	s.nodes[name] = stranger{data[0], n.now()}
	if key := fmt.Sprintf("%s %d", name, data[0]); !s.told[key] {
		if len(s.told) >= maxStrangers {
			clear(s.told)
		}
		s.told[key] = true
		n.o.Logger.Warn("remote: a node speaks another version of the bus: the two do not hear each other, and users of the one see what the other stores some seconds late. Bring all nodes to one version",
			"peer", name, "its_version", data[0], "our_version", version)
	}
}

// Warnings tell operators about nodes that speak another version of the bus.
func (n *Node) Warnings() (all []string) {
	s := &n.strangers
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, x := range s.nodes {
		all = append(all, fmt.Sprintf("node %s speaks version %d of the bus, this one %d: what the other stores is seen here some seconds late; bring all nodes to one version", name, x.version, version))
	}
	slices.Sort(all)
	return all
}

func (s *strangers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.nodes)
}

// compareStrangers looks for what nodes of another version stored, as long as some
// are heard and once after.
func (n *Node) compareStrangers(now time.Time) {
	lost := n.peers.lostAll()
	s := &n.strangers
	s.mu.Lock()
	if n.served != nil && n.ready.Load() {
		if len(s.own) >= positionsKept {
			s.own = append(s.own[:0], s.own[1:]...)
		}
		s.own = append(s.own, n.position.Load())
		if !lost.lost || s.own[0] < lost.since {
			lost.lost, lost.since = true, s.own[0]
		}
	}
	for name, x := range s.nodes {
		if now.Sub(x.heard) > deadAfter {
			delete(s.nodes, name)
		}
	}
	some := len(s.nodes) > 0
	first := some && !s.due
	if !some && !s.due || !first && some && now.Sub(s.compared) < compareEvery || !lost.lost {
		s.mu.Unlock()
		return
	}
	until := lost.since
	if !first {
		lost.since = min(lost.since, s.since)
	}
	s.compared, s.since, s.due = now, until, some
	s.mu.Unlock()
	n.missed(lost)
	if g := n.gateway(); g != nil {
		g.Verify(false)
	}
}
