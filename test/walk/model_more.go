package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skein-im/skein/wire"
)

// maxPinned is how many messages of a conversation may be pinned.
const maxPinned = 100

// also is what a message may say or have besides its words.
type also struct {
	mentions []string
	group    wire.GroupMention
	silent   bool
	poll     *poll
	pinned   string // who pinned it
	pinnedBy uint64 // the entry that did
	forward  string // who said it first
	merged   int
	// content is its type, empty for text.
	content string
	// streaming: it grows; cutOff: the server ended it.
	streaming, cutOff bool
}

// poll is what is asked in a message.
type poll struct {
	options             []string
	multiple, anonymous bool
	ended               bool
	chosen              map[string][]string // by user
}

// chooses tells whether that is what the user chose already.
func (p *poll) chooses(user string, options []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(p.chosen[user])), slices.Sorted(slices.Values(options)))
}

// tell writes what a reader sees of it. What they chose in an anonymous poll a device
// knows when it chose itself, or read the message again (SPEC §4.14): see votes.
func (a *also) tell(b *strings.Builder, reader string) {
	if len(a.mentions) > 0 || a.group != 0 {
		fmt.Fprintf(b, " mentions %v and %v", a.mentions, a.group)
	}
	if a.silent {
		b.WriteString(" silent")
	}
	if a.pinned != "" {
		b.WriteString(" pinned by " + a.pinned)
	}
	if a.forward != "" || a.merged > 0 {
		fmt.Fprintf(b, " said first by %q, %d merged", a.forward, a.merged)
	}
	if a.streaming || a.cutOff {
		fmt.Fprintf(b, " streaming %t cut off %t", a.streaming, a.cutOff)
	}
	if p := a.poll; p != nil {
		voters := 0
		votes, mine := map[string]int{}, map[string]bool{}
		for user, options := range p.chosen {
			voters++
			for _, o := range options {
				votes[o]++
				mine[o] = mine[o] || user == reader && !p.anonymous
			}
		}
		fmt.Fprintf(b, " poll multiple %t anonymous %t ended %t voters %d", p.multiple, p.anonymous, p.ended, voters)
		for _, o := range p.options {
			fmt.Fprintf(b, " %s=%d,%t", o, votes[o], mine[o])
		}
	}
}

// told is what a device, or the server, has of it, written as also.tell does.
type told struct{ e *wire.Entry }

func alsoOf(e *wire.Entry) told { return told{e} }

func (t told) tell(b *strings.Builder, _ string) {
	e := t.e
	a := also{mentions: e.Mentions, group: e.GroupMention, silent: e.Silent, pinned: e.Pinned.GetUser(), forward: e.Forward.GetSender(), merged: int(e.Forward.GetMerged()), streaming: e.Streaming, cutOff: e.CutOff}
	a.tell(b, "")
	if p := e.Poll; p != nil {
		fmt.Fprintf(b, " poll multiple %t anonymous %t ended %t voters %d", p.Multiple, p.Anonymous, p.EndedAtMs != 0, p.Voters)
		for _, o := range p.Options {
			fmt.Fprintf(b, " %s=%d,%t", o.Id, o.Votes, o.Mine && !p.Anonymous)
		}
	}
}

// contentText is what a message says; of merged ones what mergedText writes.
func contentText(e *wire.Entry) string {
	if e.Forward.GetMerged() == 0 || e.Content.GetType() != "merged" {
		return e.Content.GetText()
	}
	var m struct {
		Title   string
		Entries []struct{ Sender, Name, Type, Text string }
	}
	if err := json.Unmarshal([]byte(e.Content.GetText()), &m); err != nil {
		return err.Error()
	}
	var parts []string
	for _, p := range m.Entries {
		if p.Type != "text" {
			p.Text = p.Type
		}
		parts = append(parts, mergedPart(p.Sender, p.Name, p.Text))
	}
	return mergedText(m.Title, parts)
}

func mergedPart(sender, name, text string) string {
	return fmt.Sprintf("%s (%s): %s", sender, name, text)
}

func mergedText(title string, parts []string) string {
	return title + " | " + strings.Join(parts, " | ")
}

// mention tells that the message mentions a user.
func (e *entry) mention(user string) bool {
	return e.kind == wire.EntryKind_ENTRY_KIND_MESSAGE && e.sender != user && !e.recalled &&
		(e.group == wire.GroupMention_GROUP_MENTION_ALL || slices.Contains(e.mentions, user))
}

// unreadMentions is how many of what is unread mention the user.
func (c *conversation) unreadMentions(user string) (n uint64) {
	p := c.places[user]
	for seq := c.head(); seq > p.read; seq-- {
		if c.sees(p, seq) && !p.gone[seq] && c.at(seq).mention(user) {
			n++
		}
	}
	return n
}

// mentioning are the messages that mention a user and are theirs to read.
func (c *conversation) mentioning(user string) (lines []string) {
	p := c.places[user]
	for _, e := range c.entries {
		if c.sees(p, e.seq) && !p.gone[e.seq] && e.seq >= p.mine.ClearedBelow && e.mention(user) {
			lines = append(lines, c.id+" "+e.line(user))
		}
	}
	return lines
}

// pinnedFor are the pinned messages that a user may read, the last one first.
func (c *conversation) pinnedFor(user string) (lines []string) {
	p := c.places[user]
	var all []*entry
	for _, e := range c.entries {
		if e.pinned != "" && c.sees(p, e.seq) && !p.gone[e.seq] && e.seq >= p.mine.ClearedBelow {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return int(b.pinnedBy) - int(a.pinnedBy) })
	for _, e := range all {
		lines = append(lines, e.line(user))
	}
	return lines
}

func (c *conversation) pinnedCount() (n int) {
	for _, e := range c.entries {
		if e.pinned != "" && !c.disappeared(e.seq) {
			n++
		}
	}
	return n
}

// mayAmend predicts what concerns who may write and what the message is.
func (m *model) mayAmend(c *conversation, user string, seq uint64, may string) string {
	code := first(may, c.message(user, seq))
	if code == okay && c.at(seq).recalled {
		return tooLate
	}
	return code
}

func (m *model) mayVote(c *conversation, user string, seq uint64, options []string) string {
	if code := m.mayAmend(c, user, seq, m.maySend(c, user)); code != okay {
		return code
	}
	switch p := c.at(seq).poll; {
	case p == nil:
		return notFound
	case slices.ContainsFunc(options, func(o string) bool { return !slices.Contains(p.options, o) }):
		return notFound
	case len(options) > 1 && !p.multiple:
		return wrong
	case p.ended:
		return tooLate
	}
	return okay
}

func (m *model) mayEndPoll(c *conversation, user string, seq uint64) string {
	if code := m.mayAmend(c, user, seq, m.maySend(c, user)); code != okay {
		return code
	}
	switch e := c.at(seq); {
	case e.poll == nil:
		return notFound
	case e.sender == user:
		return okay
	case c.group == nil:
		return denied
	default:
		return c.group.power(user, wire.Role_ROLE_ADMIN, e.sender)
	}
}

func (m *model) mayPin(c *conversation, user string, seq uint64, remove bool) string {
	may := m.maySend(c, user)
	if g := c.group; g != nil {
		switch me := g.members[user]; {
		case me == nil:
			may = notFound
		case !g.pinAll && me.role < wire.Role_ROLE_ADMIN:
			may = denied
		case g.mutedAll && me.role < wire.Role_ROLE_ADMIN:
			may = muted
		case g.postAdmins && me.role < wire.Role_ROLE_ADMIN:
			may = denied
		case me.muted:
			may = muted
		default:
			may = okay
		}
	}
	code := m.mayAmend(c, user, seq, may)
	if code == okay && !remove && c.at(seq).pinned == "" && c.pinnedCount() >= maxPinned {
		return tooLarge
	}
	return code
}

// mayMentionAll predicts whether a message may mention everybody.
func (m *model) mayMentionAll(c *conversation, user string) string {
	if me := c.group.members[user]; !c.group.mentionAll && me != nil && me.role < wire.Role_ROLE_ADMIN {
		return denied
	}
	return okay
}

// copied is what a copy of a message says.
func copied(e *entry, silent bool) (text string, a also) {
	a = also{silent: silent, forward: e.sender, merged: e.merged, content: e.content}
	if e.forward != "" {
		a.forward = e.forward
	}
	if p := e.poll; p != nil {
		a.poll = &poll{options: p.options, multiple: p.multiple, anonymous: p.anonymous, chosen: map[string][]string{}}
	}
	return e.text, a
}

// mergedOf is what a message says that holds several.
func (m *model) mergedOf(title string, from []*entry) string {
	var parts []string
	for _, e := range from {
		text, who := e.text, e.sender
		if e.forward != "" {
			who = e.forward
		}
		if e.content != "" {
			text = e.content
		}
		parts = append(parts, mergedPart(who, m.profiles[who].name, text))
	}
	return mergedText(title, parts)
}

// scheduled is a message that is to be sent.
type scheduled struct {
	id   []byte
	c    *conversation
	text string
	at   int64
	// root is the thread in which it is to be said, 0: in none; both: in the
	// conversation's line as well.
	root uint64
	both bool
}
