package bench

import (
	"time"

	"github.com/skein-im/skein/wire"
)

// alive keeps a session alive as the SDKs do: a silent client pings, and says by a
// digest what it has; if that is not what the server has, it syncs. So what an idle
// client costs is what one of the SDKs costs.
type alive struct {
	idle       time.Duration
	sent, ping time.Time // when something, and a ping, was sent last
	timeline   string
	position   string // that the digest counts from; "": the server tells none
	pinging    bool   // with a digest, not answered yet
	syncing    bool
	again      bool // another sync is due
}

// live begins to keep alive.
func (u *user) live(l *login, now time.Time) {
	u.alive = alive{idle: l.idle, sent: now, ping: now, timeline: l.timeline, position: l.position}
	u.t.times.add(u, u.pingAt(), (*user).pingDue)
}

// pingAt is after silence of our own, and when heads were not compared for twice that.
func (u *user) pingAt() time.Time {
	a := &u.alive
	silent, unequal := a.sent.Add(a.idle), a.ping.Add(2*a.idle)
	if unequal.Before(silent) {
		return unequal
	}
	return silent
}

func (u *user) pingDue(now time.Time) {
	if u.over {
		return
	}
	if at := u.pingAt(); at.After(now) {
		u.t.times.add(u, at, (*user).pingDue)
		return
	}
	a := &u.alive
	p := &wire.Ping{}
	if a.position != "" && !a.syncing && !a.pinging {
		a.pinging = true
		digest := uint64(0)
		for name, s := range u.streams {
			if s.pinged = s.next - 1; s.pinged > s.base {
				digest += wire.HeadHash(name, s.pinged)
			}
		}
		p.Position, p.Digest = a.position, &digest
	}
	a.ping = now
	u.t.pings.Add(1)
	u.put(wire.NewClientFrame(p))
	u.write(now)
	u.t.times.add(u, u.pingAt(), (*user).pingDue)
}

func (u *user) onPong(p *wire.Pong) {
	a := &u.alive
	compared := a.pinging
	a.pinging = false
	switch {
	case p.Resync:
		u.t.resyncs.Add(1)
		u.resync()
	case compared && p.Position != "" && !a.syncing:
		a.position = p.Position
		for _, s := range u.streams {
			s.base = max(s.base, s.pinged)
		}
	}
}

// resync asks for what has changed since the position.
func (u *user) resync() {
	a := &u.alive
	switch {
	case a.syncing:
		a.again = true
	case a.position == "":
		for _, s := range u.streams {
			u.pull(s)
		}
	default:
		a.syncing, a.pinging = true, false
		u.put(wire.NewClientFrame(&wire.Sync{Timeline: a.timeline, Position: a.position, Limit: syncPage}))
	}
}

// onDelta takes a page of what has changed.
func (u *user) onDelta(d *wire.SyncDelta, now time.Time) {
	a := &u.alive
	if !a.syncing {
		return
	}
	if d.Error != nil { // the next digest differs again
		a.syncing, a.again = false, false
		return
	}
	for _, c := range d.Conversations {
		s := u.streams[c.Conversation]
		if s == nil {
			continue
		}
		for _, e := range c.Entries {
			if e.Seq >= s.next {
				x := arrivalOf(e)
				u.onEntry(&x, now, false)
			}
		}
		if s.base = max(s.base, c.Seq); c.Seq >= s.next {
			u.pull(s)
		}
	}
	a.timeline = d.Timeline
	if d.Next != "" {
		u.put(wire.NewClientFrame(&wire.Sync{Timeline: d.Timeline, Position: a.position, Limit: syncPage, Cursor: d.Next}))
		return
	}
	a.syncing, a.position = false, d.Position
	if a.again {
		a.again = false
		u.resync()
	}
}
