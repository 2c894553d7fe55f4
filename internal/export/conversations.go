package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// conversation is one whose entries are to be written.
type conversation struct {
	id      im.ConversationID
	from    uint64 // what is before it the user cleared
	head    uint64
	members bool
	threads []uint64 // messages that may have replies
}

// base is its name in the zip: ids have no dot.
func (c *conversation) base() string {
	return "conversations/" + strings.ReplaceAll(string(c.id), ":", ".")
}

// described is a line of conversations.jsonl.
type described struct {
	Conversation string          `json:"conversation"`
	Kind         string          `json:"kind"`
	Entries      string          `json:"entries"`
	Members      string          `json:"members,omitempty"`
	State        json.RawMessage `json:"state"`
	Group        json.RawMessage `json:"group,omitempty"`
	Peer         json.RawMessage `json:"peer,omitempty"`
}

// list writes the conversations, and notes which there are. What is written to while the
// list is read goes to its front, behind the reader's back: that is told by what changed
// since its first page.
func (e *export) list() error {
	return e.file("conversations.jsonl", func() error {
		first, err := e.pages(&wire.ListConversationsRequest{Limit: 100})
		if err != nil {
			return err
		}
		if _, err = e.pages(&wire.ListConversationsRequest{Position: first.GetPosition(), Timeline: first.GetTimeline()}); err != nil {
			return err
		}
		return e.unlisted()
	})
}

// unlisted tells which conversations of the user's no list has, because they are damaged.
func (e *export) unlisted() error {
	if e.s.o.Damaged == nil {
		return nil
	}
	for _, id := range e.s.o.Damaged() {
		if e.listed[id] {
			continue
		}
		theirs, err := e.theirs(id)
		if err != nil {
			return err
		}
		if theirs {
			e.leftOut = append(e.leftOut, leftOut{Conversation: string(id), Why: missing})
		}
	}
	return nil
}

// theirs tells whether the user is in a conversation.
func (e *export) theirs(id im.ConversationID) (bool, error) {
	if id.Kind() == im.KindGroup {
		err := e.call("GroupService/GetGroup", &wire.GetGroupRequest{Conversation: string(id)}, &wire.GetGroupResponse{})
		if hidden(err) {
			return false, nil
		}
		return err == nil, err
	}
	_, chat := id.Peer(e.t.User)
	notes, saved := id.SavedBy()
	return chat || saved && notes == e.t.User, nil
}

// pages describes what all pages of a list tell, and returns the first one.
func (e *export) pages(q *wire.ListConversationsRequest) (first *wire.SyncDelta, err error) {
	for {
		var page wire.ListConversationsResponse
		if err := e.call("MessageService/ListConversations", q, &page); err != nil {
			return nil, err
		}
		d := page.GetDelta()
		if d.GetReset_() {
			return nil, im.Errorf(im.CodeUnavailable, "the server's history became another one")
		}
		if first == nil {
			first = d
		}
		for _, state := range d.GetConversations() {
			if err := e.describe(state); err != nil {
				return nil, err
			}
		}
		if q.Cursor = d.GetNext(); q.Cursor == "" {
			return first, nil
		}
		if err := e.step(); err != nil {
			return nil, err
		}
	}
}

// describe writes a conversation, once.
func (e *export) describe(state *wire.ConversationState) error {
	id := im.ConversationID(state.GetConversation())
	if id.Kind() == im.KindMe || e.listed[id] {
		return nil
	}
	e.listed[id] = true
	// What it says is told with the entries.
	state.Entries, state.Touched, state.Last, state.FromSeq, state.RecalledSeqs, state.MentionSeqs = nil, nil, nil, 0, nil, nil
	c := conversation{id: id, from: max(state.GetMine().GetClearedBelow(), 1), head: state.GetSeq()}
	if until := state.GetUntilSeq(); until != 0 {
		c.head = min(c.head, until)
	}
	out := described{Conversation: string(id), Kind: "dm", Entries: c.base() + ".jsonl"}
	var err error
	if out.State, err = e.kept(state); err != nil {
		return err
	}
	if _, saved := id.SavedBy(); saved {
		out.Kind = "notes"
	}
	if peer, ok := id.Peer(e.t.User); ok {
		var users wire.GetUsersResponse
		if err := e.call("UserService/GetUsers", &wire.GetUsersRequest{Ids: []string{string(peer)}}, &users); err != nil {
			return err
		}
		for _, u := range users.GetUsers() {
			if out.Peer, err = e.kept(u); err != nil {
				return err
			}
		}
	}
	if id.Kind() == im.KindGroup {
		out.Kind = "group"
		var g wire.GetGroupResponse
		switch err := e.call("GroupService/GetGroup", &wire.GetGroupRequest{Conversation: string(id)}, &g); {
		case err == nil:
			c.members, out.Members = true, c.base()+".members.jsonl"
			if out.Group, err = e.kept(g.GetGroup()); err != nil {
				return err
			}
		case !hidden(err): // who was removed is told nothing of it
			return err
		}
	}
	raw, err := json.Marshal(&out)
	if err != nil {
		return err
	}
	e.conversations = append(e.conversations, c)
	e.stats.Conversations++
	return e.rawLine(raw)
}

// hidden tells whether an error says that the user may not see something, or not any more.
func hidden(err error) bool {
	code := im.CodeOf(err)
	return code == im.CodeNotFound || code == im.CodePermissionDenied
}

// histories writes what each conversation says, its members, and the uploads that it names.
func (e *export) histories() error {
	for i := range e.conversations {
		c := &e.conversations[i]
		if c.members {
			if err := e.file(c.base()+".members.jsonl", func() error { return e.members(c) }); err != nil {
				return err
			}
		}
		if err := e.file(c.base()+".jsonl", func() error { return e.history(c) }); err != nil {
			return err
		}
		if len(c.threads) > 0 {
			if err := e.file(c.base()+".threads.jsonl", func() error { return e.threads(c) }); err != nil {
				return err
			}
		}
		c.threads = nil
		if err := e.uploads(); err != nil {
			return err
		}
	}
	return nil
}

// threads writes the replies of a conversation, thread by thread, the newest page of each
// first: as ListThread tells them.
func (e *export) threads(c *conversation) error {
	for _, root := range c.threads {
		for before := uint64(0); ; {
			if err := e.step(); err != nil {
				return err
			}
			var page wire.ListThreadResponse
			err := e.call("MessageService/ListThread", &wire.ListThreadRequest{Conversation: string(c.id), Seq: root, Before: before, Limit: 200}, &page)
			if why := threadEnds(err); why != "" {
				e.leftOut = append(e.leftOut, leftOut{Conversation: string(c.id), Seq: root, Why: why})
				break
			}
			if err != nil {
				return err
			}
			for _, entry := range page.GetEntries() {
				if err := e.entry(c, entry); err != nil {
					return err
				}
			}
			if before = page.GetNext(); before == 0 {
				break
			}
		}
	}
	return nil
}

// threadEnds is why the rest of a thread is left out, "" if it is not.
func threadEnds(err error) string {
	switch {
	case hidden(err): // it is gone meanwhile
		return gone
	case errors.Is(err, im.ErrJournalDamaged):
		return missing
	}
	return ""
}

// entry writes one, and notes the uploads that it names.
func (e *export) entry(c *conversation, entry *wire.Entry) error {
	if err := e.line(entry); err != nil {
		return err
	}
	e.stats.Entries++
	for _, m := range append(entry.GetMedia(), entry.GetPreview().GetImage()) {
		e.want(m.GetId(), place{Conversation: c.id, Seq: entry.GetSeq()})
	}
	return nil
}

func (e *export) members(c *conversation) error {
	for cursor := ""; ; {
		var page wire.ListMembersResponse
		err := e.call("GroupService/ListMembers", &wire.ListMembersRequest{Conversation: string(c.id), Limit: 1000, Cursor: cursor}, &page)
		if hidden(err) { // they left meanwhile
			e.leftOut = append(e.leftOut, leftOut{Conversation: string(c.id), Why: gone})
			return nil
		}
		if err != nil {
			return err
		}
		for _, m := range page.GetMembers() {
			if err := e.line(m); err != nil {
				return err
			}
		}
		if cursor = page.GetNext(); cursor == "" {
			return nil
		}
		if err := e.step(); err != nil {
			return err
		}
	}
}

// me writes the user's own feed.
func (e *export) me() error {
	feed := conversation{id: im.Me(e.t.User), from: 1}
	return e.file("me.jsonl", func() error {
		var first wire.ListEntriesResponse
		if err := e.call("MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: string(feed.id), From: 1, Limit: 1}, &first); err != nil {
			if hidden(err) {
				return nil
			}
			return err
		}
		feed.head = first.GetHead()
		return e.history(&feed)
	})
}

// mayHaveReplies tells of a message whether there may be replies to it: one that was taken
// back, or deleted by the user, does not say so any more.
func mayHaveReplies(entry *wire.Entry) bool {
	return entry.GetReplies() != nil || entry.GetRecalled() || entry.GetDeleted()
}

const (
	// entriesAtOnce is how many entries are asked for at a time.
	entriesAtOnce = 500
	// mostDamaged is behind how many damaged entries nothing more of a conversation is looked for.
	mostDamaged = 1000
)

// history writes the entries of a conversation that amend nothing, each as it is when it is
// read, up to what was its last when the list was. What is damaged in the store is left out:
// around it one entry is read after the other.
func (e *export) history(c *conversation) error {
	cleared := map[uint64]bool{} // the roots of which threads go on, though the user cleared them
	alone := uint64(0)           // up to where entries are read one by one
	lost := 0
	for from := c.from; from <= c.head; {
		if err := e.step(); err != nil {
			return err
		}
		limit := uint32(entriesAtOnce)
		if from <= alone {
			limit = 1
		}
		var page wire.ListEntriesResponse
		err := e.call("MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: string(c.id), From: from, Limit: limit}, &page)
		switch {
		case errors.Is(err, im.ErrJournalDamaged) && limit > 1:
			alone = from + entriesAtOnce - 1
			continue
		case errors.Is(err, im.ErrJournalDamaged):
			e.leftOut = append(e.leftOut, leftOut{Conversation: string(c.id), Seq: from, Why: missing})
			if lost++; lost == mostDamaged {
				return nil
			}
			from++
			continue
		case hidden(err):
			e.leftOut = append(e.leftOut, leftOut{Conversation: string(c.id), Seq: from, Why: gone})
			return nil
		case err != nil:
			return err
		}
		for _, entry := range page.GetTouched() {
			if seq := entry.GetSeq(); seq < c.from && mayHaveReplies(entry) && !cleared[seq] {
				cleared[seq] = true
				c.threads = append(c.threads, seq)
			}
		}
		for _, entry := range page.GetEntries() {
			if entry.GetSeq() > c.head {
				return nil
			}
			if err := e.entry(c, entry); err != nil {
				return err
			}
			if mayHaveReplies(entry) {
				c.threads = append(c.threads, entry.GetSeq())
			}
		}
		switch last := page.GetLastSeq(); {
		case last == 0: // nothing more of it is theirs
			return nil
		case last < from:
			return fmt.Errorf("a page of %s from %d ends at %d", c.id, from, last)
		default:
			from = last + 1
		}
	}
	return nil
}
