package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// entry is what the model knows of an entry of a journal.
type entry struct {
	seq      uint64
	kind     wire.EntryKind
	sender   string
	text     string
	replyTo  uint64
	edits    uint32
	versions []string // what it said before, oldest first
	recalled bool
	amended  uint64
	// reactions in the order in which the kinds came.
	reactions []reaction
	event     string        // as eventText says
	at        time.Duration // model.passed then
	// root is the root of the thread that it is said in, replies is how many it has itself.
	root    uint64
	replies int
	also
}

type reaction struct {
	kind  string
	users map[string]bool
}

// amends tells that the entry says something of another one only.
func (e *entry) amends() bool {
	return e.kind != wire.EntryKind_ENTRY_KIND_MESSAGE && e.kind != wire.EntryKind_ENTRY_KIND_EVENT
}

func (e *entry) reacted(kind, user string) bool {
	return slices.ContainsFunc(e.reactions, func(r reaction) bool { return r.kind == kind && r.users[user] })
}

// react adds a reaction or takes it away.
func (e *entry) react(kind, user string, remove bool) {
	i := slices.IndexFunc(e.reactions, func(r reaction) bool { return r.kind == kind })
	switch {
	case remove && i >= 0:
		if delete(e.reactions[i].users, user); len(e.reactions[i].users) == 0 {
			e.reactions = slices.Delete(e.reactions, i, i+1)
		}
	case remove:
	case i >= 0:
		e.reactions[i].users[user] = true
	default:
		e.reactions = append(e.reactions, reaction{kind, map[string]bool{user: true}})
	}
}

// line is what a reader sees of the entry, as one of them.
func (e *entry) line(reader string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %v %q", e.seq, e.kind, e.sender)
	switch {
	case e.event != "":
		b.WriteString(" " + e.event)
	case e.recalled:
		fmt.Fprintf(&b, " recalled by %d", e.amended)
	default:
		fmt.Fprintf(&b, " %q to %d edits %d amended %d", e.text, e.replyTo, e.edits, e.amended)
		for _, r := range e.reactions {
			fmt.Fprintf(&b, " %s=%d,%t", r.kind, len(r.users), r.users[reader])
		}
		if e.root != 0 {
			fmt.Fprintf(&b, " below %d", e.root)
		}
		e.tell(&b, reader)
	}
	return b.String()
}

// lineOf is the same of what a device, or the server, has.
func lineOf(e *wire.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %v %q", e.Seq, e.Kind, e.Sender)
	switch {
	case e.Event != nil:
		b.WriteString(" " + eventText(e.Event.Type, e.Event.Users, e.Event.Text, e.Event.Conversation))
	case e.Recalled:
		fmt.Fprintf(&b, " recalled by %d", e.Amended)
		if e.Content != nil || len(e.Reactions) > 0 || e.ReplyTo != 0 || len(e.Mentions) > 0 || e.GroupMention != 0 || e.Poll != nil || e.Pinned != nil || e.Forward != nil {
			b.WriteString(" and still there")
		}
	default:
		fmt.Fprintf(&b, " %q to %d edits %d amended %d", contentText(e), e.ReplyTo, e.Edits, e.Amended)
		for _, r := range e.Reactions {
			fmt.Fprintf(&b, " %s=%d,%t", r.Reaction, r.Count, r.Mine)
		}
		if e.Thread != 0 {
			fmt.Fprintf(&b, " below %d", e.Thread)
		}
		alsoOf(e).tell(&b, "")
	}
	return b.String()
}

func eventText(t wire.EventType, users []string, text, conversation string) string {
	us := slices.Sorted(slices.Values(users))
	return fmt.Sprintf("%v %v %q %s", t, us, text, conversation)
}

// span is a time of membership; until 0: it is not over.
type span struct{ from, until uint64 }

// place is a user's in a conversation.
type place struct {
	spans []span
	read  uint64
	// told is how far the other of a dm may know of read, at most; dark: a device of
	// theirs may know less, as part of it was hidden from them when it came to be.
	told uint64
	dark bool
	// since is the seq of their joining a group.
	since uint64
	mine  wire.MyState    // neither Revision nor Deleted is predicted
	gone  map[uint64]bool // what they deleted for themselves
}

func (p *place) now() bool {
	return len(p.spans) > 0 && p.spans[len(p.spans)-1].until == 0
}

func (p *place) sees(seq uint64) bool {
	return slices.ContainsFunc(p.spans, func(s span) bool { return seq >= s.from && (s.until == 0 || seq <= s.until) })
}

// last is the last seq that is theirs to read.
func (p *place) last(head uint64) uint64 {
	if len(p.spans) == 0 {
		return 0
	}
	if u := p.spans[len(p.spans)-1].until; u != 0 {
		return u
	}
	return head
}

// conversation is a dm, a group or a feed.
type conversation struct {
	id      string
	entries []*entry
	group   *group
	places  map[string]*place
	periods []period
	m       *model
}

func (c *conversation) head() uint64 { return uint64(len(c.entries)) }

func (c *conversation) at(seq uint64) *entry {
	if seq == 0 || seq > c.head() {
		return nil
	}
	return c.entries[seq-1]
}

// unread is how many messages of others are the user's to read, after their mark, and
// were not recalled.
func (c *conversation) unread(user string) (n uint64) {
	p := c.places[user]
	for seq := c.head(); seq > p.read; seq-- {
		e := c.at(seq)
		if e.kind == wire.EntryKind_ENTRY_KIND_MESSAGE && e.sender != user && !e.recalled && !p.gone[seq] && c.sees(p, seq) {
			n++
		}
	}
	return n
}

// shown is what the user sees of the stretch from … to, newest state, without amendments
// and what they deleted for themselves.
func (c *conversation) shown(user string, from, to uint64) []string {
	var out []string
	p := c.places[user]
	for seq := max(from, 1); seq <= min(to, c.head()); seq++ {
		if e := c.at(seq); !e.amends() && !p.gone[seq] && c.sees(p, seq) {
			out = append(out, e.line(user))
		}
	}
	return out
}

// model is what everything must look like.
type model struct {
	users    []string
	convs    map[string]*conversation
	order    []string // of convs, as they came to be
	pairs    map[[2]string]*contact
	profiles map[string]*profile
	later    map[string][]*scheduled
	passed   time.Duration // since the walk began, but for what it takes itself
}

func newModel(users []string) *model {
	m := &model{users: users, convs: map[string]*conversation{}, pairs: map[[2]string]*contact{}, profiles: map[string]*profile{}, later: map[string][]*scheduled{}}
	for i, u := range users {
		m.profiles[u] = &profile{name: "name of " + u, groups: wire.GroupPolicy_GROUP_POLICY_ANYONE, everyone: true}
		for _, id := range []string{"me:" + u, skein.DM(u, u)} { // their feed, and their notes to themselves
			m.add(id).places[u] = &place{spans: []span{{from: 1}}}
		}
		for _, v := range users[:i] {
			c := m.add(skein.DM(u, v))
			c.places[u], c.places[v] = &place{spans: []span{{from: 1}}}, &place{spans: []span{{from: 1}}}
			m.pairs[[2]string{u, v}], m.pairs[[2]string{v, u}] = &contact{}, &contact{}
		}
	}
	return m
}

func (m *model) add(id string) *conversation {
	c := &conversation{id: id, places: map[string]*place{}, m: m}
	m.convs[id] = c
	m.order = append(m.order, id)
	return c
}

// of are the conversations that a user was ever in, dms with something in them only.
func (m *model) of(user string) (out []*conversation) {
	for _, id := range m.order {
		if c := m.convs[id]; c.places[user] != nil && c.head() > 0 {
			out = append(out, c)
		}
	}
	return out
}

func (m *model) append(c *conversation, e *entry) *entry {
	e.seq, e.at = c.head()+1, m.passed
	c.entries = append(c.entries, e)
	if e.kind == wire.EntryKind_ENTRY_KIND_MESSAGE || e.kind == wire.EntryKind_ENTRY_KIND_THREAD_REPLY {
		m.mayBeAnswered(c, e.sender)
	}
	return e
}

// mayBeAnswered: who writes to somebody who is no contact may be answered by them.
func (m *model) mayBeAnswered(c *conversation, user string) {
	if c.group != nil {
		return
	}
	if peer := m.peer(c, user); peer != "" && m.pairs[[2]string{peer, user}].state != friend {
		m.pairs[[2]string{user, peer}].wrote = true
	}
}

// sent is a message that was stored.
func (m *model) sent(c *conversation, user, text string, replyTo uint64) *entry {
	e := m.append(c, &entry{kind: wire.EntryKind_ENTRY_KIND_MESSAGE, sender: user, text: text, replyTo: replyTo})
	m.read(c, user, e.seq)
	c.places[user].told = max(c.places[user].told, e.seq) // the message tells it, whatever is hidden
	return e
}

// edited, reacted and recalled are amendments that were stored.
func (m *model) edited(c *conversation, user string, target uint64, text string) *entry {
	e := m.append(c, &entry{kind: wire.EntryKind_ENTRY_KIND_EDIT, sender: user})
	t := c.at(target)
	t.versions = append(t.versions, t.text)
	t.text, t.amended, t.edits = text, e.seq, t.edits+1
	t.mentions, t.group = nil, 0
	return t
}

func (m *model) reacted(c *conversation, user string, target uint64, kind string, remove bool) {
	e := m.append(c, &entry{kind: wire.EntryKind_ENTRY_KIND_REACTION, sender: user})
	t := c.at(target)
	t.react(kind, user, remove)
	t.amended = e.seq
}

func (m *model) recalled(c *conversation, user string, target uint64) {
	e := m.append(c, &entry{kind: wire.EntryKind_ENTRY_KIND_RECALL, sender: user})
	t := c.at(target)
	c.withdrawn(t, e.seq)
	t.recalled, t.amended, t.text, t.replyTo, t.versions, t.reactions, t.replies = true, e.seq, "", 0, nil, nil, 0
	t.also = also{}
}

func (m *model) event(c *conversation, by string, t wire.EventType, users []string, text, conversation string) *entry {
	return m.append(c, &entry{kind: wire.EntryKind_ENTRY_KIND_EVENT, sender: by, event: eventText(t, users, text, conversation)})
}

// The codes that the model predicts; "" is success.
const (
	okay      = ""
	notFound  = "not_found"
	denied    = "permission_denied"
	muted     = "muted"
	noContact = "not_contact"
	tooLate   = "too_late"
	limited   = "rate_limited"
	wrong     = "invalid_argument"
	tooLarge  = "too_large"
)

// maySend predicts whether a user may write.
func (m *model) maySend(c *conversation, user string) string {
	if c.group == nil {
		peer := m.peer(c, user)
		if peer == "" { // of notes to oneself there is no other side
			return okay
		}
		if side := m.pairs[[2]string{peer, user}]; side.blocked || !m.profiles[peer].everyone && side.state != friend && !side.wrote {
			return noContact
		}
		return okay
	}
	g := c.group
	me := g.members[user]
	switch {
	case me == nil:
		return notFound
	case g.postAdmins && me.role < wire.Role_ROLE_ADMIN:
		return denied
	case g.mutedAll && me.role < wire.Role_ROLE_ADMIN, me.muted:
		return muted
	}
	return okay
}

func (m *model) peer(c *conversation, user string) string {
	for u := range c.places {
		if u != user {
			return u
		}
	}
	return ""
}

// message predicts what looking for a message to amend says.
func (c *conversation) message(user string, seq uint64) string {
	e := c.at(seq)
	if p := c.places[user]; e == nil || p == nil || !c.sees(p, seq) || e.kind != wire.EntryKind_ENTRY_KIND_MESSAGE {
		return notFound
	}
	return okay
}

func (m *model) mayEdit(c *conversation, user string, seq uint64) string {
	switch code, e := first(m.maySend(c, user), c.message(user, seq)), c.at(seq); {
	case code != okay:
		return code
	case e.sender != user:
		return denied
	case e.recalled:
		return tooLate
	case e.poll != nil, e.forward != "", e.merged > 0, e.streaming:
		return denied
	}
	return okay
}

func (m *model) mayReact(c *conversation, user string, seq uint64) string {
	may := m.maySend(c, user)
	if c.group != nil && may == denied { // where admins alone write, members react
		g := *c.group
		g.postAdmins = false
		may = m.maySend(&conversation{id: c.id, group: &g, places: c.places}, user)
	}
	code := first(may, c.message(user, seq))
	if code == okay && c.at(seq).recalled {
		return tooLate
	}
	return code
}

func (m *model) mayRecall(c *conversation, user string, seq uint64, done bool) string {
	if e, p := c.at(seq), c.places[user]; e == nil || p == nil || !c.sees(p, seq) || e.amends() {
		return notFound
	}
	if done { // a repeat is told so, whatever they may now
		return okay
	}
	if c.group != nil && c.group.members[user] == nil || c.message(user, seq) != okay {
		return notFound
	}
	author := c.at(seq).sender
	if author == user {
		return okay
	}
	if c.group == nil {
		return denied
	}
	return c.group.power(user, wire.Role_ROLE_ADMIN, author)
}

func first(codes ...string) string {
	for _, c := range codes {
		if c != okay {
			return c
		}
	}
	return okay
}
