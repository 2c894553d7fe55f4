package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skein-im/skein/wire"
)

// votes compares who chose what in a poll, and what its reader did.
func (w *walk) votes(ctx context.Context, u *user, c *conversation, seq uint64) error {
	p := c.at(seq).poll
	if p == nil {
		return nil
	}
	what := fmt.Sprintf("votes of %d of %s", seq, c.id)
	var page wire.ListEntriesResponse
	if err := w.post(ctx, u, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: c.id, From: seq, Limit: 1}, &page); err != nil {
		return err
	}
	var mine []string
	for _, e := range page.Entries {
		for _, o := range e.Poll.GetOptions() {
			if e.Seq == seq && o.Mine {
				mine = append(mine, o.Id)
			}
		}
	}
	if !p.chooses(u.id, mine) {
		return differ(what+", the reader's own", []string{fmt.Sprint(mine)}, []string{fmt.Sprint(p.chosen[u.id])})
	}
	var resp wire.ListVotesResponse
	err := w.post(ctx, u, "MessageService/ListVotes", &wire.ListVotesRequest{Conversation: c.id, Seq: seq, Limit: 500}, &resp)
	if p.anonymous {
		if err == nil {
			return &drift{what + " are told, and the poll is anonymous"}
		}
		return nil
	}
	if err != nil {
		return err
	}
	var got, want []string
	for _, v := range resp.Voted {
		got = append(got, fmt.Sprint(v.User, slices.Sorted(slices.Values(v.Options))))
	}
	for v, options := range p.chosen {
		want = append(want, fmt.Sprint(v, slices.Sorted(slices.Values(options))))
	}
	slices.Sort(got)
	slices.Sort(want)
	return differ(what, got, want)
}

// pins compares what is pinned in a conversation, page by page.
func (w *walk) pins(ctx context.Context, u *user, c *conversation) error {
	var got []string
	req := &wire.ListPinsRequest{Conversation: c.id, Limit: uint32(1 + w.looks.IntN(50))}
	for {
		var resp wire.ListPinsResponse
		if err := w.post(ctx, u, "MessageService/ListPins", req, &resp); err != nil {
			return err
		}
		for _, e := range resp.Entries {
			got = append(got, lineOf(e))
		}
		if req.Cursor = resp.Next; req.Cursor == "" {
			return differ("pins of "+c.id, got, c.pinnedFor(u.id))
		}
	}
}

// mentions compares the list of all messages that mention a user. Their order is checked
// by when they were stored.
func (w *walk) mentions(ctx context.Context, u *user) error {
	var got, want []string
	last := int64(1 << 62)
	req := &wire.ListMentionsRequest{Limit: uint32(1 + w.looks.IntN(200))}
	for {
		var resp wire.ListMentionsResponse
		if err := w.post(ctx, u, "MessageService/ListMentions", req, &resp); err != nil {
			return err
		}
		for _, e := range resp.Entries {
			if e.StoredAtMs > last {
				return &drift{fmt.Sprintf("mentions of %s: %d of %s is newer than the one before it", u.id, e.Seq, e.Conversation)}
			}
			last = e.StoredAtMs
			got = append(got, e.Conversation+" "+lineOf(e))
		}
		if req.Cursor = resp.Next; req.Cursor == "" {
			break
		}
	}
	for _, c := range w.model.of(u.id) {
		want = append(want, c.mentioning(u.id)...)
	}
	slices.Sort(got)
	slices.Sort(want)
	return differ("mentions of "+u.id, got, want)
}

// named compares who is found in a group by the beginning of a name.
func (w *walk) named(ctx context.Context, u *user, c *conversation) error {
	all := c.group.sorted()
	v := all[w.looks.IntN(len(all))]
	name := w.model.profiles[v].name
	if nick := c.group.members[v].nickname; nick != "" && w.looks.IntN(2) == 0 {
		name = nick
	}
	query := strings.ToUpper(name[:1+w.looks.IntN(len(name))])
	var resp wire.ListMembersResponse
	if err := w.post(ctx, u, "GroupService/ListMembers", &wire.ListMembersRequest{Conversation: c.id, Query: query}, &resp); err != nil {
		return err
	}
	var got, want []string
	for _, m := range resp.Members {
		got = append(got, m.User)
	}
	for _, v := range all {
		for _, name := range []string{w.model.profiles[v].name, c.group.members[v].nickname} {
			if strings.HasPrefix(strings.ToUpper(name), query) {
				want = append(want, v)
				break
			}
		}
	}
	slices.Sort(got)
	return differ(fmt.Sprintf("members of %s whose name begins with %s", c.id, query), got, want)
}

// scheduled compares what a user has scheduled.
func (w *walk) scheduled(ctx context.Context, u *user) error {
	var resp wire.ListScheduledResponse
	if err := w.post(ctx, u, "MessageService/ListScheduled", &wire.ListScheduledRequest{}, &resp); err != nil {
		return err
	}
	var got, want []string
	for _, s := range resp.Scheduled {
		got = append(got, fmt.Sprintf("%x to %s: %q below %d, as well %t, at %d %v", s.Message.Id, s.Message.Conversation, s.Message.Content.GetText(), s.Message.Thread, s.Message.AlsoInMain, s.AtMs, s.State))
	}
	all := slices.SortedFunc(slices.Values(w.model.later[u.id]), func(a, b *scheduled) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return strings.Compare(string(a.id), string(b.id))
	})
	for _, s := range all {
		want = append(want, fmt.Sprintf("%x to %s: %q below %d, as well %t, at %d %v", s.id, s.c.id, s.text, s.root, s.both, s.at, wire.ScheduledState_SCHEDULED_STATE_WAITING))
	}
	return differ("what "+u.id+" has scheduled", got, want)
}

// readers compares who has read a message of a group.
func (w *walk) readers(ctx context.Context, u *user, c *conversation, seq uint64) error {
	if c.group == nil || c.group.members[u.id] == nil {
		return nil
	}
	var resp wire.ListReadersResponse
	if err := w.post(ctx, u, "MessageService/ListReaders", &wire.ListReadersRequest{Conversation: c.id, Seq: seq}, &resp); err != nil {
		return err
	}
	var want []string
	for _, v := range c.group.sorted() {
		shown := v == u.id || !w.model.hidden(u.id, v)
		if p := c.places[v]; v != c.at(seq).sender && p.since <= seq && p.read >= seq && shown {
			want = append(want, v)
		}
	}
	return differ(fmt.Sprintf("who has read %d of %s", seq, c.id), resp.Read, want)
}
