package here

import (
	"maps"
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
// watches costs nothing. Of whom a session may not watch it is told that they are not
// there, as of somebody who is away and hides since when.
type Presence struct {
	out   *outgoing.Queues
	users *Users
	wheel *Wheel
	peers Peers
	now   func() time.Time

	mu      sync.Mutex
	watched map[im.UserID]*watched
	// asking is whom sessions ask to watch, while Logic is asked whether they may.
	// Who is hidden meanwhile is not watched, whatever Logic has read.
	asking map[*Member]*asking
	// looks are the pairs that Logic is asked about again.
	looks map[lookKey]looking
	look  uint64
	// left are those who went since TakeLeft, and when.
	left map[im.UserID]time.Time
}

// asking is whom a session asks to watch, and who was hidden from it since.
type asking struct {
	users []im.UserID
	gone  map[im.UserID]struct{}
}

type lookKey struct {
	s *Member
	u im.UserID
}

// looking is the last look of a pair, and the user it keeps watched until it ends: what
// happens meanwhile (the user goes, and since when) is told like to anybody.
type looking struct {
	number uint64
	keeps  *watched // nil: nobody watched the user
	online bool     // what the session was told last
}

// Look is a session that is not told of a user until Logic was asked again.
type Look struct {
	Member *Member
	user   im.UserID
	number uint64
}

// watched is a user somebody watches.
type watched struct {
	p      *Presence
	user   im.UserID
	online bool // as told
	// seen is when the user was there last, as far as it is known here.
	seen time.Time
	// nodes are the other gateways where the user is; nil if there are none.
	nodes   map[string]struct{}
	by      map[*Member]struct{}
	looks   int // how many looks keep it
	closing WheelNode
}

// NewPresence makes one in which nobody is watched.
func NewPresence(out *outgoing.Queues, u *Users, w *Wheel, peers Peers, now func() time.Time) *Presence {
	return &Presence{
		out: out, users: u, wheel: w, peers: peers, now: now,
		watched: map[im.UserID]*watched{}, asking: map[*Member]*asking{}, looks: map[lookKey]looking{}, left: map[im.UserID]time.Time{},
	}
}

// Ask notes whom s wants to watch. Logic is asked after, and watch or forgo
// follows.
func (p *Presence) Ask(s *Member, users []im.UserID) {
	p.mu.Lock()
	p.asking[s] = &asking{users: slices.Clone(users)}
	p.mu.Unlock()
}

// Forgo ends an ask without an answer: s watches whom it watched before.
func (p *Presence) Forgo(s *Member) {
	p.mu.Lock()
	delete(p.asking, s)
	p.mu.Unlock()
}

// Watch replaces whom s watches by those it asked for, and tells it how they are: those
// it may watch and who were not hidden since; of the others that they are not there.
// again are those who were hidden since: a look has to say whether s may watch them.
func (p *Presence) Watch(s *Member, may []im.Watched) (again []im.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear(s)
	a := p.asking[s]
	delete(p.asking, s)
	if a == nil {
		return nil // it has ended
	}
	shown := make(map[im.UserID]im.Watched, len(may))
	for _, w := range may {
		if _, gone := a.gone[w.User]; !gone {
			shown[w.User] = w
		}
	}
	var fresh []im.UserID
	told := make(map[im.UserID]struct{}, len(a.users))
	for _, u := range a.users {
		if _, twice := told[u]; twice {
			continue
		}
		told[u] = struct{}{}
		s.watching = append(s.watching, u)
		var w *watched
		if x, ok := shown[u]; ok {
			var first bool
			if w, first = p.add(s, x); first {
				fresh = append(fresh, u)
			}
		}
		if _, gone := a.gone[u]; gone {
			again = append(again, u)
		} else {
			p.looked(lookKey{s, u}) // begun before this was asked: may is as new as its answer
		}
		p.tellOne(s, u, w)
	}
	if len(fresh) > 0 {
		p.peers.Watch(fresh)
	}
	return again
}

// add has s watch a user. Caller holds presence.mu.
func (p *Presence) add(s *Member, x im.Watched) (w *watched, first bool) {
	if w = p.watched[x.User]; w == nil {
		w, first = &watched{p: p, user: x.User, online: p.users.Present(x.User), by: map[*Member]struct{}{}}, true
		p.watched[x.User] = w
	}
	if x.Seen.After(w.seen) {
		w.seen = x.Seen
	}
	w.by[s] = struct{}{}
	return w, first
}

// tellOne tells s how a user is; nil: it may not know. Caller holds presence.mu.
func (p *Presence) tellOne(s *Member, u im.UserID, w *watched) {
	if s.InBackground() {
		return
	}
	key := lookKey{s, u}
	if l, pending := p.looks[key]; pending {
		l.online = w != nil && w.online
		p.looks[key] = l
	}
	if w == nil {
		s.Send(presenceFrame(u, false, time.Time{}))
	} else {
		s.Send(presenceFrame(u, w.online, w.seen))
	}
}

// Watchers are the sessions that are told of a user, and those of which Logic is being
// asked whether they are: what it has read may be of before a change.
func (p *Presence) Watchers(u im.UserID) []*Member {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[*Member]struct{}{}
	if w := p.watched[u]; w != nil {
		maps.Copy(all, w.by)
	}
	for key := range p.looks {
		if key.u == u {
			all[key.s] = struct{}{}
		}
	}
	for s, a := range p.asking {
		if slices.Contains(a.users, u) {
			all[s] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(all))
}

// Hide has sessions told nothing of a user any more, and returns those that asked for
// them: Show follows when Logic was asked again.
func (p *Presence) Hide(sessions []*Member, u im.UserID) (looks []Look) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range sessions {
		if a := p.asking[s]; a != nil {
			if a.gone == nil {
				a.gone = map[im.UserID]struct{}{}
			}
			a.gone[u] = struct{}{}
		}
		if !slices.Contains(s.watching, u) {
			continue
		}
		looks = append(looks, p.hide(s, u))
	}
	return looks
}

// hide begins a look. Caller holds presence.mu.
func (p *Presence) hide(s *Member, u im.UserID) Look {
	p.look++
	l := Look{Member: s, user: u, number: p.look}
	key := lookKey{s, u}
	now := p.looks[key]
	now.number = l.number
	if w := p.watched[u]; w != nil {
		if _, by := w.by[s]; by {
			now.online = w.online // of one that is looked already it stays
		}
		if now.keeps == nil {
			now.keeps = w
			w.looks++
		}
	}
	p.looks[key] = now
	p.remove(s, u)
	return l
}

// looked ends the look of a pair, if there is one. Caller holds presence.mu.
func (p *Presence) looked(key lookKey) {
	w := p.looks[key].keeps
	delete(p.looks, key)
	if w != nil {
		w.looks--
		p.drop(w)
	}
}

// Show ends a Hide: may has the user, if the session may be told of them. A later Hide of
// the two decides instead.
func (p *Presence) Show(l Look, may []im.Watched) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := lookKey{l.Member, l.user}
	told := p.looks[key]
	if told.number != l.number {
		return
	}
	defer p.looked(key)
	if !slices.Contains(l.Member.watching, l.user) {
		return
	}
	var w *watched
	if len(may) > 0 && may[0].User == l.user {
		var first bool
		if w, first = p.add(l.Member, may[0]); first {
			p.peers.Watch([]im.UserID{l.user})
		}
	}
	if online := w != nil && w.online; online != told.online && !l.Member.InBackground() {
		frame := presenceFrame(l.user, online, time.Time{})
		if w != nil {
			frame = presenceFrame(l.user, online, w.seen)
		}
		f := p.out.Fanout(frame, 1) // it is not the session's own goroutine
		f.To(&l.Member.Queue)
		f.End()
	}
}

// TakeLeft returns who left since the last call.
func (p *Presence) TakeLeft() (left []im.Watched) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for u, at := range p.left {
		left = append(left, im.Watched{User: u, Seen: at})
	}
	clear(p.left)
	return left
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

// Forget ends all watching of s.
func (p *Presence) Forget(s *Member) {
	p.mu.Lock()
	for _, u := range s.watching {
		p.looked(lookKey{s, u})
	}
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
	p.drop(w)
}

// drop ends the watching of a user whom nobody is told of any more. Caller holds
// presence.mu.
func (p *Presence) drop(w *watched) {
	if len(w.by) > 0 || w.looks > 0 {
		return
	}
	delete(p.watched, w.user)
	p.wheel.Cancel(w)
	p.peers.Unwatch([]im.UserID{w.user})
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
			w := p.watched[u]
			if w != nil {
				if _, may := w.by[s]; !may {
					w = nil
				}
			}
			p.tellOne(s, u, w)
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
	if !online {
		p.left[u] = p.now()
	}
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
		w.seen = w.p.now()
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
	if w.online && len(w.by)+w.looks > 0 && !w.anywhere() {
		w.tell(false) // written at the end of the tick
	}
	return 0
}

// tell queues the news for all watchers. Caller holds presence.mu.
func (w *watched) tell(online bool) {
	w.online = online
	frame := presenceFrame(w.user, online, w.seen)
	f := w.p.out.Fanout(frame, len(w.by))
	for s := range w.by {
		if !s.InBackground() {
			f.To(&s.Queue)
		}
	}
	f.End()
}

func presenceFrame(u im.UserID, online bool, seen time.Time) *wire.ServerFrame {
	f := &wire.Presence{User: string(u), Online: online}
	if !online && !seen.IsZero() {
		f.LastSeenAtMs = seen.UnixMilli()
	}
	return wire.NewServerFrame(f)
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
