package here

import (
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// presenceGrace is how long a user may be gone before their watchers are told:
// a reconnect does not flicker.
const presenceGrace = 5 * time.Second

// Presence tells sessions when the users they watch come and go. A user nobody
// watches costs nothing.
type Presence struct {
	out   *outgoing.Queues
	users *Users
	wheel *Wheel
	peers Peers

	mu      sync.Mutex
	watched map[im.UserID]*watched
	// asking is whom sessions ask to watch, while Logic is asked whether they may.
	// Who is taken off meanwhile is not watched, whatever Logic has read.
	asking map[*Member][]im.UserID
}

// watched is a user somebody watches.
type watched struct {
	p      *Presence
	user   im.UserID
	online bool // as told
	// nodes are the other gateways where the user is; nil if there are none.
	nodes   map[string]struct{}
	by      map[*Member]struct{}
	closing WheelNode
}

// NewPresence makes one in which nobody is watched.
func NewPresence(out *outgoing.Queues, u *Users, w *Wheel, peers Peers) *Presence {
	return &Presence{out: out, users: u, wheel: w, peers: peers, watched: map[im.UserID]*watched{}, asking: map[*Member][]im.UserID{}}
}

// Ask notes whom s wants to watch. Logic is asked after, and watch or forgo
// follows.
func (p *Presence) Ask(s *Member, users []im.UserID) {
	p.mu.Lock()
	p.asking[s] = slices.Clone(users)
	p.mu.Unlock()
}

// Forgo ends an ask without an answer: s watches whom it watched before.
func (p *Presence) Forgo(s *Member) {
	p.mu.Lock()
	delete(p.asking, s)
	p.mu.Unlock()
}

// Watch replaces whom s watches by those it asked for and may watch, less those
// unwatched since, and tells it how they are.
func (p *Presence) Watch(s *Member, may []im.UserID) {
	p.mu.Lock()
	p.clear(s)
	left := make(map[im.UserID]struct{}, len(p.asking[s]))
	for _, u := range p.asking[s] {
		left[u] = struct{}{}
	}
	delete(p.asking, s)
	var fresh []im.UserID
	for _, u := range may {
		if _, ok := left[u]; !ok {
			continue
		}
		s.watching = append(s.watching, u)
		w := p.watched[u]
		if w == nil {
			w = &watched{p: p, user: u, online: p.users.Present(u), by: map[*Member]struct{}{}}
			p.watched[u] = w
			fresh = append(fresh, u)
		}
		w.by[s] = struct{}{}
		if !s.InBackground() {
			s.Send(presenceFrame(u, w.online))
		}
	}
	if len(fresh) > 0 {
		p.peers.Watch(fresh)
	}
	p.mu.Unlock()
}

// AskAgain asks the other gateways about everybody who is watched.
func (p *Presence) AskAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.watched) == 0 {
		return
	}
	users := make([]im.UserID, 0, len(p.watched))
	for u := range p.watched {
		users = append(users, u)
	}
	p.peers.Watch(users)
}

// Unwatch takes users off the list of s, and off the one it asks for.
func (p *Presence) Unwatch(s *Member, gone []im.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	isGone := func(u im.UserID) bool { return slices.Contains(gone, u) }
	if asked, ok := p.asking[s]; ok {
		p.asking[s] = slices.DeleteFunc(asked, isGone)
	}
	for _, u := range gone {
		if slices.Contains(s.watching, u) {
			p.remove(s, u)
		}
	}
	s.watching = slices.DeleteFunc(s.watching, isGone)
}

// Forget ends all watching of s.
func (p *Presence) Forget(s *Member) {
	p.mu.Lock()
	p.clear(s)
	delete(p.asking, s)
	p.mu.Unlock()
}

func (p *Presence) clear(s *Member) {
	for _, u := range s.watching {
		p.remove(s, u)
	}
	s.watching = nil
}

func (p *Presence) remove(s *Member, u im.UserID) {
	w := p.watched[u]
	if w == nil {
		return
	}
	delete(w.by, s)
	if len(w.by) == 0 {
		delete(p.watched, u)
		p.wheel.Cancel(w)
		p.peers.Unwatch([]im.UserID{u})
	}
}

// Background notes whether s is in the background. One that comes back is told how
// those are whom it watches.
func (p *Presence) Background(s *Member, on bool) {
	p.mu.Lock()
	if s.background.Swap(on) == on {
		p.mu.Unlock()
		return
	}
	if !on {
		for _, u := range s.watching {
			if w := p.watched[u]; w != nil {
				s.Send(presenceFrame(u, w.online))
			}
		}
	}
	p.mu.Unlock()
	if !on || !p.users.Present(s.Actor.User) {
		p.Changed(s.Actor.User)
	}
}

// Changed looks whether a user is here, after the first of their sessions came that
// makes them present, or the last one went: their watchers are told, at once of who
// came and after a grace of who went. What others are told last is how it is.
func (p *Presence) Changed(u im.UserID) {
	p.mu.Lock()
	online := p.users.Present(u)
	p.peers.Announce(u, online)
	w := p.watched[u]
	told := w != nil && online && !w.online
	switch {
	case told:
		w.tell(true)
	case w != nil && !online:
		w.gone()
	}
	p.mu.Unlock()
	if told {
		p.out.Flush()
	}
}

// gone begins the grace if the user is nowhere. Caller holds presence.mu.
func (w *watched) gone() {
	if w.online && !w.anywhere() {
		w.p.wheel.Schedule(w, w.p.wheel.Ticks(presenceGrace))
	}
}

// anywhere tells whether the user is online at any gateway.
func (w *watched) anywhere() bool { return len(w.nodes) > 0 || w.p.users.Present(w.user) }

func (w *watched) Node() *WheelNode { return &w.closing }

// Expire ends the grace. Nobody is told of a user who came back before it ended.
func (w *watched) Expire() int64 {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if w.online && len(w.by) > 0 && !w.anywhere() {
		w.tell(false) // written at the end of the tick
	}
	return 0
}

// tell queues the news for all watchers. Caller holds presence.mu.
func (w *watched) tell(online bool) {
	w.online = online
	frame := presenceFrame(w.user, online)
	f := w.p.out.Fanout(frame, len(w.by))
	for s := range w.by {
		if !s.InBackground() {
			f.To(&s.Queue)
		}
	}
	f.End()
}

func presenceFrame(u im.UserID, online bool) *wire.ServerFrame {
	return wire.NewServerFrame(&wire.Presence{User: string(u), Online: online})
}

// Elsewhere tells that users are online at another gateway, or not any more.
func (p *Presence) Elsewhere(node string, users []im.UserID, online bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range users {
		if w := p.watched[u]; w != nil {
			w.elsewhere(node, online)
		}
	}
}

// NodeGone tells that nobody is online at a gateway any more.
func (p *Presence) NodeGone(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watched {
		w.elsewhere(node, false)
	}
}

// elsewhere takes news of a watched user. Caller holds presence.mu.
func (w *watched) elsewhere(node string, online bool) {
	if !online {
		delete(w.nodes, node)
		w.gone()
		return
	}
	if w.nodes == nil {
		w.nodes = map[string]struct{}{}
	}
	w.nodes[node] = struct{}{}
	if !w.online {
		w.tell(true)
	}
}

// Count is how many users are watched, and how many sessions are asking to watch.
func (p *Presence) Count() (watched, asking int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.watched), len(p.asking)
}
