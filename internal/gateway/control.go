package gateway

import (
	"cmp"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Control ends connections of a user, or what they watch (im.Dispatch). A
// session watches nobody before it is registered, so an Unwatch is not
// remembered. Any other is remembered for the
// handshakes in progress first and applied to the registered sessions second;
// a handshake registers first and asks for what is remembered second. So a
// Control that arrives while its user authenticates is applied by one of them,
// or by both, which is harmless.
func (g *Gateway) Control(c im.Control) {
	if c.News {
		g.o.News()
		return
	}
	if c.Unwatch != "" {
		watchers := g.presence.Watchers(c.Unwatch)
		if c.User != "" {
			watchers = g.users.Of(c.User)
		}
		g.lookAgain(watchers, c.Unwatch)
		return
	}
	r := g.controls.remember(c)
	for _, s := range g.users.Of(c.User) {
		r.apply(g, s)
	}
}

// remembered is a Control as this gateway saw it.
type remembered struct {
	c   im.Control
	seq uint64 // place among this gateway's Controls
	// began is when the handshake that caused a Yield began, if it is one of this
	// gateway's (local).
	began uint64
	local bool
}

// apply ends s if the Control means it.
func (r *remembered) apply(g *Gateway, s *here.Member) {
	c := &r.c
	if c.Session != "" && c.Session != s.Actor.Session {
		return
	}
	if !c.Yield {
		code := c.Code
		if code == "" {
			code = im.CodeSessionRevoked
		}
		text := cmp.Or(c.Text, "the session was ended")
		// A Logout, or DeleteAccount, is answered before its connection ends (SPEC §3.7).
		g.kickAfter(s, string(code), im.Errorf(code, "%s", text), code == im.CodeSessionRevoked || code == im.CodeAccountDeleted)
		return
	}
	if !r.beats(g, s) {
		return
	}
	kick := &wire.Kick{
		Error: fromError(im.Errorf(im.CodeReplaced, "another device took this one's place")),
		By:    contract.Device(c.By), AtMs: contract.Millis(c.At),
	}
	s.Finish("replaced", wire.CodeReplaced, "replaced", &wire.ServerFrame{Frame: &wire.ServerFrame_Kick{Kick: kick}}, false, finishTime)
}

// olderFor is how long a session must be here to be older, for certain, than any
// login elsewhere that is heard of now.
const olderFor = 10 * time.Second

// beats tells whether s yields to the login that caused r: to any that began
// after its own was decided; of two that overlapped, or were decided elsewhere,
// the greater (At, ByConnection) stays. So of two on this gateway exactly one
// stays, whatever the clock does. A session learns its own At from the Control
// its own login caused; until then the time its handshake began stands in,
// which is earlier.
func (r *remembered) beats(g *Gateway, s *here.Member) bool {
	c := &r.c
	if c.By.ID == s.Actor.Device.ID { // connections of one device live side by side
		return false
	}
	if c.ByConnection == s.ID || (c.Class != im.DeviceUnspecified && c.Class != s.Actor.Device.Class) {
		return false
	}
	if r.local {
		if s.Began >= r.seq { // s began after r was decided: s is the later one
			return false
		}
		if s.LoginSeq != 0 && s.LoginSeq <= r.began {
			return true
		}
	}
	if since := s.Since.Load(); !r.local && since > 0 && int64(uint32(g.wheel.Now())+1-since) > g.wheel.Ticks(olderFor) {
		// It is here for longer than news travels, so it is the older one, whatever the
		// clocks of two nodes say.
		return true
	}
	if at := c.At.UnixNano(); at != s.LoginAt {
		return at > s.LoginAt
	}
	return c.ByConnection > s.ID
}

// controls remembers the Controls that arrived since the oldest handshake in
// progress began; none while there is no handshake.
type controls struct {
	mu     sync.Mutex
	seq    uint64
	marks  map[uint64]int // begin of each handshake in progress → how many
	order  []uint64       // the keys of marks, oldest first; ended ones only behind the first
	begun  map[im.ConnectionID]uint64
	recent map[im.UserID][]remembered
	queue  []im.UserID // who each of recent belongs to, oldest first
	first  uint64      // seq of queue[0]
}

func newControls() *controls {
	return &controls{marks: map[uint64]int{}, begun: map[im.ConnectionID]uint64{}, recent: map[im.UserID][]remembered{}, first: 1}
}

func (k *controls) remember(c im.Control) remembered {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := remembered{c: c}
	if len(k.marks) == 0 {
		return r
	}
	k.seq++
	r.seq = k.seq
	r.began, r.local = k.begun[c.ByConnection]
	k.recent[c.User] = append(k.recent[c.User], r)
	k.queue = append(k.queue, c.User)
	return r
}

// mark begins the handshake of a connection; unmark ends it.
func (k *controls) mark(id im.ConnectionID) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun[id] = k.seq
	k.marks[k.seq]++
	if n := len(k.order); n == 0 || k.order[n-1] != k.seq {
		k.order = append(k.order, k.seq)
	}
	return k.seq
}

func (k *controls) unmark(id im.ConnectionID, since uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.begun, id)
	if k.marks[since]--; k.marks[since] > 0 {
		return
	}
	delete(k.marks, since)
	for len(k.order) > 0 && k.marks[k.order[0]] == 0 {
		k.order = k.order[1:]
	}
	oldest := k.seq
	if len(k.order) > 0 {
		oldest = k.order[0]
	}
	for k.first <= oldest && len(k.queue) > 0 {
		u := k.queue[0]
		if rest := k.recent[u][1:]; len(rest) > 0 {
			k.recent[u] = rest
		} else {
			delete(k.recent, u)
		}
		k.queue = k.queue[1:]
		k.first++
	}
	if len(k.queue) == 0 {
		k.queue, k.first = nil, k.seq+1
	}
}

// since returns the user's Controls after a mark, in their order. A Yield
// caused by the handshake's own login is among them.
func (k *controls) since(u im.UserID, mark uint64) (out []remembered) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.recent[u] {
		if r.seq > mark {
			out = append(out, r)
		}
	}
	return out
}

// kick ends the session from outside, telling why (SPEC §3.6).
func (g *Gateway) kick(s *here.Member, cause string, err error) { g.kickAfter(s, cause, err, false) }

// kickAfter is kick, where answers says so after the Calls under way are answered.
func (g *Gateway) kickAfter(s *here.Member, cause string, err error, answers bool) {
	within := finishTime
	if answers = answers && s.Is(outgoing.CallsOpen); answers {
		within /= 2 // for the answers, and then for the rest
	}
	e := closing(err)
	s.Finish(cause, wire.Code(e.Code), e.Message,
		wire.NewServerFrame(&wire.Kick{Error: fromError(e), AtMs: g.o.Now().UnixMilli()}), answers, within)
}
