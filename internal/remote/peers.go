package remote

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// beatEvery is the time between two heartbeats.
	beatEvery = 250 * time.Millisecond
	// deadAfter is how long a node may be silent. Judging one dead that lives costs
	// some repetition and nothing else.
	deadAfter = 5 * beatEvery
	// positionsKept is how many of a node's positions are remembered: what a node
	// stored before the oldest of them it had two seconds to hand on.
	positionsKept = 8
)

// The roles of a node, as bits.
const (
	roleGateway = 1 << iota
	roleLogic
	roleAPI
)

// beat is a heartbeat.
type beat struct {
	name     string
	instance uint64 // another one for every start
	roles    uint64
	number   uint64
	// ready: a logic node that reaches its store and takes requests.
	ready    bool
	position uint64
	timeline string
	eras     im.Eras // the newest few of the journal
}

func (h *beat) append(b []byte) []byte {
	return putRecord(append(b, version), func(b []byte) []byte {
		b = putString(b, h.name)
		b = binary.AppendUvarint(b, h.instance)
		b = binary.AppendUvarint(b, h.roles)
		b = binary.AppendUvarint(b, h.number)
		b = putBool(b, h.ready)
		b = binary.AppendUvarint(b, h.position)
		b = putString(b, h.timeline)
		return putEras(b, h.eras)
	})
}

func (h *beat) read(data []byte) error {
	r := opened(data)
	in := r.record()
	*h = beat{
		name: in.string(), instance: in.uint(), roles: in.uint(), number: in.uint(),
		ready: in.bool(), position: in.uint(), timeline: in.string(), eras: in.eras(),
	}
	r.also(in)
	return r.err
}

// peer is another node, as its heartbeats show it.
type peer struct {
	beat
	heard time.Time
	// positions are those of the last heartbeats that had one, the oldest first.
	positions []uint64
	seed      uint64 // of its name
}

// since is a position before which nothing of this node's is missing here.
func (n *peer) since() uint64 { return n.positions[0] }

// peers is who is there. It is changed by the bus's goroutine and the ticker.
type peers struct {
	mu    sync.Mutex
	nodes map[string]*peer
	// lost are the logic nodes that stopped being heard. Others may hear them all
	// the while: what they store until they are heard again is missing here.
	lost map[string]absent
}

// absent is a node that is not heard.
type absent struct {
	since uint64 // a position before which nothing of its is missing here
	at    time.Time
}

// absentFor is how long a node that is not heard is remembered.
const absentFor = time.Hour

// news is what a heartbeat, or its absence, means.
type news struct {
	// gone nodes take their links and their users with them.
	gone []*peer
	// lost: something of a logic node's may be missing since this position.
	lost  bool
	since uint64
}

func (n *news) missing(x *peer) {
	if x.roles&roleLogic == 0 || len(x.positions) == 0 {
		return
	}
	if !n.lost || x.since() < n.since {
		n.lost, n.since = true, x.since()
	}
}

// heard takes a heartbeat.
func (p *peers) heard(h beat, now time.Time) (n news) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.nodes[h.name]
	switch {
	case old == nil:
	case old.instance != h.instance:
		n.gone = append(n.gone, old)
		n.missing(old)
		old = nil
	case h.number <= old.number:
		return n // repeated, or overtaken
	case h.number > old.number+1:
		n.missing(old)
	}
	x := old
	if x == nil {
		x = &peer{seed: seedOf(h.name)}
		p.nodes[h.name] = x
		if gone, ok := p.lost[h.name]; ok {
			delete(p.lost, h.name)
			if !n.lost || gone.since < n.since {
				n.lost, n.since = true, gone.since
			}
		}
	}
	x.beat, x.heard = h, now
	if !h.ready {
		return n // it does not reach the store: it stores nothing either
	}
	if len(x.positions) >= positionsKept {
		x.positions = append(x.positions[:0], x.positions[1:]...)
	}
	x.positions = append(x.positions, h.position)
	return n
}

// judge takes out the nodes that are silent.
func (p *peers) judge(now time.Time) (n news) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, x := range p.nodes {
		if now.Sub(x.heard) > deadAfter {
			delete(p.nodes, name)
			n.gone = append(n.gone, x)
			n.missing(x)
			if x.roles&roleLogic != 0 && len(x.positions) > 0 {
				p.lost[name] = absent{x.since(), now}
			}
		}
	}
	for name, x := range p.lost {
		if now.Sub(x.at) > absentFor {
			delete(p.lost, name)
		}
	}
	return n
}

// pardon gives everybody new time: this node stood still itself.
func (p *peers) pardon(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.nodes {
		x.heard = now
	}
}

// lostAll is since when anything may be missing here.
func (p *peers) lostAll() (n news) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.nodes {
		n.missing(x)
	}
	return n
}

// timeline is the one that logic tells; "" when none was heard yet.
func (p *peers) timeline() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.nodes {
		if x.timeline != "" && x.ready {
			return x.timeline
		}
	}
	return ""
}

// list is everybody with a role, by name.
func (p *peers) list(role uint64) []peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []peer
	for _, x := range p.nodes {
		if x.roles&role != 0 {
			all = append(all, *x)
		}
	}
	slices.SortFunc(all, func(a, b peer) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return all
}

func seedOf[S ~string](s S) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // never fails
	return mix(h.Sum64())
}

// mix makes every bit of the result depend on every bit of x (splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// members are those who are told of an entry of c that is no group's.
func members(c im.ConversationID, to *[2]im.UserID) []im.UserID {
	if a, b, ok := c.DMMembers(); ok {
		to[0], to[1] = a, b
		if a == b {
			return to[:1]
		}
		return to[:]
	}
	if u, ok := c.MeUser(); ok {
		to[0] = u
		return to[:1]
	}
	return nil
}
