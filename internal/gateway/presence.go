package gateway

import (
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// presenceGrace is how long a user may be gone before their watchers are told:
// a reconnect does not flicker.
const presenceGrace = 5 * time.Second

// presence tells sessions when the users they watch come and go. A user nobody
// watches costs nothing.
type presence struct {
	g       *Gateway
	mu      sync.Mutex
	watched map[im.UserID]*watched
}

// watched is a user somebody watches.
type watched struct {
	p       *presence
	user    im.UserID
	online  bool // as told
	by      map[*session]struct{}
	closing wheelNode
}

func newPresence(g *Gateway) *presence {
	return &presence{g: g, watched: map[im.UserID]*watched{}}
}

// watch replaces whom s watches and tells it how they are.
func (p *presence) watch(s *session, to []im.UserID) {
	p.mu.Lock()
	p.clear(s)
	s.watching = to
	for _, u := range to {
		w := p.watched[u]
		if w == nil {
			w = &watched{p: p, user: u, online: p.g.users.online(u), by: map[*session]struct{}{}}
			p.watched[u] = w
		}
		w.by[s] = struct{}{}
		s.send(presenceFrame(u, w.online))
	}
	p.mu.Unlock()
}

// unwatch takes users off the list of s.
func (p *presence) unwatch(s *session, gone []im.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range gone {
		for i, o := range s.watching {
			if o == u {
				s.watching = append(s.watching[:i:i], s.watching[i+1:]...)
				p.remove(s, u)
				break
			}
		}
	}
}

// forget ends all watching of s.
func (p *presence) forget(s *session) {
	p.mu.Lock()
	p.clear(s)
	p.mu.Unlock()
}

func (p *presence) clear(s *session) {
	for _, u := range s.watching {
		p.remove(s, u)
	}
	s.watching = nil
}

func (p *presence) remove(s *session, u im.UserID) {
	w := p.watched[u]
	if w == nil {
		return
	}
	delete(w.by, s)
	if len(w.by) == 0 {
		delete(p.watched, u)
		p.g.wheel.cancel(w)
	}
}

// up tells the watchers that a user has come.
func (p *presence) up(u im.UserID) {
	p.mu.Lock()
	w := p.watched[u]
	told := w != nil && !w.online
	if told {
		w.tell(true)
	}
	p.mu.Unlock()
	if told {
		p.g.Flush()
	}
}

// down begins the grace of a user whose last session went.
func (p *presence) down(u im.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.watched[u]; w != nil && w.online {
		p.g.wheel.schedule(w, p.g.wheel.ticks(presenceGrace))
	}
}

func (w *watched) node() *wheelNode { return &w.closing }

// expire ends the grace. Who came back meanwhile was never gone.
func (w *watched) expire() int64 {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if w.online && len(w.by) > 0 && !w.p.g.users.online(w.user) {
		w.tell(false) // written at the end of the tick
	}
	return 0
}

// tell queues the news for all watchers. Caller holds presence.mu.
func (w *watched) tell(online bool) {
	w.online = online
	frame := presenceFrame(w.user, online)
	f := fanout{frame: frame, typ: framePresence, share: len(w.by) >= shareFrom}
	for s := range w.by {
		f.to(s)
	}
	f.end(&w.p.g.pools)
}

func presenceFrame(u im.UserID, online bool) *wire.ServerFrame {
	return wire.NewServerFrame(&wire.Presence{User: string(u), Online: online})
}
