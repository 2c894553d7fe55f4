package main

import (
	"maps"
	"slices"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// group is a roster with what it allows.
type group struct {
	name               string
	members            map[string]*member
	bans               map[string]string // reason by user
	invited            map[string]string // who invited a user
	invitedAt          map[string]time.Duration
	addAll, postAdmins bool
	mutedAll, shareAll bool
	mentionAll, pinAll bool // every member may
	description        string
}

type member struct {
	role     wire.Role
	muted    bool
	nickname string
}

// profile are a user's settings.
type profile struct {
	name     string
	groups   wire.GroupPolicy
	everyone bool // may write to them
	hides    bool // how far they have read
}

// contact is a user's side of a pair.
type contact struct {
	state   contactState
	blocked bool
	remark  string
	// wrote: they wrote to the other, who may answer by that (SPEC §5.7).
	wrote bool
	// refused counts refusals in a row, refusedAt is when the last one was: they may not
	// ask again for a while.
	refused   int
	refusedAt time.Duration
}

// coolsDown tells that who was refused may not ask again yet: for a day, twice as long
// after each further refusal, at most 16 days.
func (m *model) coolsDown(side *contact) bool {
	return side.refused > 0 && m.passed-side.refusedAt < 24*time.Hour<<min(side.refused-1, 4)
}

type contactState int

const (
	stranger contactState = iota
	asked
	asksMe
	friend
)

func (m *model) feed(user string) *conversation { return m.convs["me:"+user] }

// created is a group that was made.
func (m *model) created(id, owner, name string, members []string) {
	c := m.add(id)
	c.group = &group{name: name, members: map[string]*member{}, bans: map[string]string{}, invited: map[string]string{}, invitedAt: map[string]time.Duration{}}
	joined, asked := m.split(c, owner, members)
	m.event(c, owner, wire.EventType_EVENT_TYPE_GROUP_CREATED, append([]string{owner}, joined...), name, "")
	for _, u := range append([]string{owner}, joined...) {
		c.group.members[u] = &member{role: wire.Role_ROLE_MEMBER}
		c.places[u] = &place{spans: []span{{from: 1}}, since: 1}
	}
	c.group.members[owner].role = wire.Role_ROLE_OWNER
	m.invited(c, owner, asked)
}

// invitationTime is how long an invitation may be answered.
const invitationTime = 30 * 24 * time.Hour

// pass lets time pass: invitations end that nobody answered.
func (m *model) pass(d time.Duration) {
	m.passed += d
	for _, c := range m.convs {
		if c.group != nil {
			maps.DeleteFunc(c.group.invited, func(u, _ string) bool { return m.passed-c.group.invitedAt[u] >= invitationTime })
		}
	}
}

// split predicts who of the users is added by an actor, and who is asked.
func (m *model) split(c *conversation, by string, users []string) (added, ask []string) {
	for _, u := range users {
		if c.group.members[u] != nil || c.group.bans[u] != "" || u == by {
			continue
		}
		side := m.pairs[[2]string{u, by}]
		policy := m.profiles[u].groups
		switch {
		case side.blocked:
		case policy == wire.GroupPolicy_GROUP_POLICY_ANYONE, policy == wire.GroupPolicy_GROUP_POLICY_CONTACTS && side.state == friend:
			added = append(added, u)
		default:
			ask = append(ask, u)
		}
	}
	return added, ask
}

func (m *model) invited(c *conversation, by string, users []string) {
	for _, u := range users {
		if c.group.invited[u] == "" {
			c.group.invited[u], c.group.invitedAt[u] = by, m.passed
			m.event(m.feed(u), by, wire.EventType_EVENT_TYPE_GROUP_INVITED, []string{u}, c.group.name, c.id)
		}
	}
}

func (m *model) joined(c *conversation, by string, users []string) {
	if len(users) == 0 {
		return
	}
	e := m.event(c, by, wire.EventType_EVENT_TYPE_MEMBER_ADDED, users, "", "")
	for _, u := range users {
		c.group.members[u] = &member{role: wire.Role_ROLE_MEMBER}
		delete(c.group.invited, u)
		p := c.places[u]
		if p == nil {
			p = &place{}
			c.places[u] = p
		}
		p.since = e.seq
		if c.group.shareAll {
			p.spans = []span{{from: 1}}
			p.read = max(p.read, e.seq-1)
		} else {
			p.spans = append(p.spans, span{from: e.seq})
		}
	}
}

func (m *model) gone(c *conversation, by string, t wire.EventType, users []string, text string) {
	e := m.event(c, by, t, users, text, "")
	for _, u := range users {
		delete(c.group.members, u)
		p := c.places[u]
		p.spans[len(p.spans)-1].until = e.seq
	}
}

// power predicts whether a user's role allows something to another one's: target "" is
// none.
func (g *group) power(user string, least wire.Role, target string) string {
	me := g.members[user]
	switch {
	case me == nil:
		return notFound
	case me.role < least:
		return denied
	case target != "" && g.members[target] != nil && g.members[target].role >= me.role:
		return denied
	}
	return okay
}

func (g *group) mayAdd(user string) string {
	if g.addAll && g.members[user] != nil {
		return okay
	}
	return g.power(user, wire.Role_ROLE_ADMIN, "")
}

func (g *group) sorted() []string { return slices.Sorted(maps.Keys(g.members)) }

// notices writes what both sides of a pair are told.
func (m *model) notices(user, peer string, t wire.EventType, text string, mine, theirs bool) {
	if mine {
		m.event(m.feed(user), user, t, []string{peer}, text, "")
	}
	if theirs {
		m.event(m.feed(peer), user, t, []string{peer}, text, "")
	}
}

func (m *model) sides(user, peer string) (mine, theirs *contact) {
	return m.pairs[[2]string{user, peer}], m.pairs[[2]string{peer, user}]
}

// befriend, part: what a contact change makes of both sides.
func (m *model) befriend(user, peer string) {
	a, b := m.sides(user, peer)
	was, wasB := a.state, b.state
	a.state, b.state = friend, friend
	a.refused, b.refused = 0, 0
	m.notices(user, peer, wire.EventType_EVENT_TYPE_CONTACT_ACCEPTED, "", was != friend, wasB != friend)
}

func (m *model) part(user, peer string, t wire.EventType) {
	a, b := m.sides(user, peer)
	was, wasB := a.state, b.state
	a.state, b.state = stranger, stranger
	m.notices(user, peer, t, "", was != stranger, wasB != stranger)
}

// hidden tells whether neither of two is told how far the other has read (SPEC §4.25).
func (m *model) hidden(u, v string) bool {
	if v == "" { // of notes to oneself there is no other side
		return false
	}
	a, b := m.sides(u, v)
	return a.blocked || b.blocked || m.profiles[u].hides || m.profiles[v].hides
}

// read moves a user's mark.
func (m *model) read(c *conversation, user string, seq uint64) {
	p := c.places[user]
	if seq <= p.read {
		return
	}
	p.read = seq
	if c.group == nil && !m.hidden(user, m.peer(c, user)) {
		p.told, p.dark = seq, false
	}
}

// sight is what a block, its end, or another policy makes of the dms of a user: what
// moved while it was hidden is told cold, and with the next mark.
func (m *model) sight(user string) {
	for _, v := range m.users {
		if v == user {
			continue
		}
		for _, p := range m.convs[skein.DM(user, v)].places {
			if m.hidden(user, v) {
				p.dark = true
			} else {
				p.told = p.read
			}
		}
	}
}
