package gateway

import (
	"sync"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Control ends connections of a user (im.Dispatch). It is remembered for the
// handshakes in progress first and applied to the registered sessions second;
// a handshake registers first and asks for what is remembered second. So a
// Control that arrives while its user authenticates is applied by one of them,
// or by both, which is harmless.
func (g *Gateway) Control(c im.Control) {
	g.controls.remember(c)
	for _, s := range g.users.of(c.User) {
		g.users.apply(c, s)
	}
}

// apply ends s if the Control means it.
func (r *users) apply(c im.Control, s *session) {
	if c.Session != "" && c.Session != s.actor.Session {
		return
	}
	if !c.Yield {
		code := c.Code
		if code == "" {
			code = im.CodeSessionRevoked
		}
		s.kick(string(code), im.Errorf(code, "the session was ended"))
		return
	}
	if !r.yields(c, s) {
		return
	}
	if c.By.ID == s.actor.Device.ID { // it came back: nobody reads what we would say
		s.finish("replaced", wire.CodeReplaced, "replaced by the same device", nil, false, finishTime)
		return
	}
	kick := &wire.Kick{
		Error: fromError(im.Errorf(im.CodeReplaced, "another device took this one's place")),
		By:    fromDevice(c.By), AtMs: unixMilli(c.At),
	}
	s.finish("replaced", wire.CodeReplaced, "replaced", &wire.ServerFrame{Frame: &wire.ServerFrame_Kick{Kick: kick}}, false, finishTime)
}

// yields decides which of two logins stays: the greater (At, ByConnection). A
// session learns its own At from the Control its own login caused; until then
// the time its handshake began stands in, which is earlier.
func (r *users) yields(c im.Control, s *session) bool {
	sh := r.shard(s.actor.User)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if c.ByConnection == s.id {
		s.loginAt = c.At
		return false
	}
	if c.Class != im.DeviceUnspecified && c.Class != s.actor.Device.Class {
		return false
	}
	if !c.At.Equal(s.loginAt) {
		return c.At.After(s.loginAt)
	}
	return c.ByConnection > s.id
}

// controls remembers the Controls that arrived since the oldest handshake in
// progress began; none while there is no handshake.
type controls struct {
	mu     sync.Mutex
	seq    uint64
	marks  map[uint64]int // begin of each handshake in progress → how many
	order  []uint64       // the keys of marks, oldest first; ended ones only behind the first
	recent map[im.UserID][]remembered
	queue  []im.UserID // who each of recent belongs to, oldest first
	first  uint64      // seq of queue[0]
}

type remembered struct {
	seq uint64
	c   im.Control
}

func newControls() *controls {
	return &controls{marks: map[uint64]int{}, recent: map[im.UserID][]remembered{}, first: 1}
}

func (k *controls) remember(c im.Control) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.marks) == 0 {
		return
	}
	k.seq++
	k.recent[c.User] = append(k.recent[c.User], remembered{k.seq, c})
	k.queue = append(k.queue, c.User)
}

// mark begins a handshake; unmark ends it.
func (k *controls) mark() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.marks[k.seq]++
	if n := len(k.order); n == 0 || k.order[n-1] != k.seq {
		k.order = append(k.order, k.seq)
	}
	return k.seq
}

func (k *controls) unmark(since uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
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
		k.queue = nil
	}
}

// since returns the user's Controls after a mark, in their order. A Yield
// caused by the handshake's own login is among them.
func (k *controls) since(u im.UserID, mark uint64) (out []im.Control) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.recent[u] {
		if r.seq > mark {
			out = append(out, r.c)
		}
	}
	return out
}
