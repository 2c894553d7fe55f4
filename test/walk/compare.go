package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// recently is how many entries before the end of a conversation every comparison
// looks at; a full one looks at all.
const recently = 300

// until repeats a look until it finds no difference, for as long as patience lasts.
func (w *walk) until(ctx context.Context, look func() error) error {
	return w.within(ctx, patience/2, look)
}

// within is until with a time of its own.
func (w *walk) within(ctx context.Context, long time.Duration, look func() error) error {
	deadline := time.Now().Add(long)
	for {
		err := look()
		var d *drift
		if err == nil || !errors.As(err, &d) || time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, 3*time.Millisecond); err != nil {
			return err
		}
	}
}

// compare holds every view against the model: what each device has, and what the
// server tells who asks for everything.
func (w *walk) compare(ctx context.Context, full bool) error {
	for _, u := range w.users {
		w.report.Compared++
		if err := w.until(ctx, func() error { return w.coldList(ctx, u) }); err != nil {
			return fmt.Errorf("what %s is told cold: %w", u.id, err)
		}
		if err := w.coldRead(ctx, u, full); err != nil {
			return fmt.Errorf("what %s reads: %w", u.id, err)
		}
		if err := w.searches(ctx, u); err != nil {
			return fmt.Errorf("what %s finds: %w", u.id, err)
		}
		if err := w.people(ctx, u); err != nil {
			return fmt.Errorf("what %s is told of people: %w", u.id, err)
		}
		for _, d := range u.devices {
			if d.client == nil {
				continue
			}
			w.report.Compared++
			if err := w.until(ctx, func() error { return w.lookDevice(ctx, d, full) }); err != nil {
				return fmt.Errorf("device %s: %w", d.name, err)
			}
		}
	}
	return nil
}

// differ names the first difference of two lists.
func differ(what string, got, want []string) error {
	for i := range max(len(got), len(want)) {
		g, m := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			m = want[i]
		}
		if g != m {
			return &drift{fmt.Sprintf("%s: %s\nthe model has: %s", what, g, m)}
		}
	}
	return nil
}

// recordOf is what a device's store says of a conversation, for who looks why it differs.
func recordOf(ctx context.Context, d *device, id string) string {
	snap, err := d.store.Load(ctx)
	if err != nil {
		return err.Error()
	}
	for _, r := range snap.Conversations {
		if r.ID == id {
			return fmt.Sprintf("first %d until %d earlier %v, %d to %d of %d, read %d, lifetimes %v", r.First, r.Until, r.Earlier, r.Low, r.High, r.Head, r.Read, r.Lifetimes)
		}
	}
	return "nothing"
}

func mineText(s *wire.MyState) string {
	return fmt.Sprintf("pinned %t muted %d hidden %t draft %q cleared %d unread %t in %q", s.GetPinned(), s.GetMutedUntilMs(), s.GetHidden(), s.GetDraft(), s.GetClearedBelow(), s.GetUnread(), s.GetFolder())
}

// lookDevice compares a device's store.
func (w *walk) lookDevice(ctx context.Context, d *device, full bool) error {
	u := d.user.id
	list, err := d.client.Conversations(ctx)
	if err != nil {
		return err
	}
	have := map[string]skein.Summary{}
	for _, s := range list {
		have[s.ID] = s
	}
	for _, c := range w.model.of(u) {
		s, listed := have[c.id]
		delete(have, c.id)
		if !listed {
			if s, err = d.client.Conversation(c.id).Summary(ctx); err != nil {
				return &drift{fmt.Sprintf("%s is not there: %v", c.id, err)}
			}
		}
		if err := w.lookSummary(c, u, s); err != nil {
			return err
		}
		low := s.Low
		if !full && s.High > recently {
			low = max(low, s.High-recently)
		}
		// What is cleared is not shown, and may be there or not.
		low = max(low, c.places[u].mine.ClearedBelow)
		es, err := d.store.Entries(ctx, c.id, low, s.High, 1<<30)
		if err != nil {
			return err
		}
		if err := c.lookReplies(u, es); err != nil {
			return err
		}
		var got []string
		for _, e := range es {
			switch {
			case c.places[u].gone[e.Seq]: // what is deleted may be there or not
			case c.disappeared(e.Seq): // its place is kept
				if e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE && (!e.Deleted || e.Content != nil) {
					return &drift{fmt.Sprintf("%d of %s is gone, and kept: %s", e.Seq, c.id, lineOf(e))}
				}
			default:
				got = append(got, lineOf(e))
			}
		}
		want := c.shown(u, low, s.High)
		if !c.places[u].now() { // nobody tells them what was amended since they left (SPEC §4.3)
			got, want = authors(got), authors(want)
		}
		if err := differ(fmt.Sprintf("%s from %d (window %d to %d)", c.id, low, s.Low, s.High), got, want); err != nil {
			return &drift{err.Error() + "\nthe device knows: " + recordOf(ctx, d, c.id)}
		}
	}
	for id, s := range have {
		if s.Head > 0 {
			return &drift{id + " is there, and the model has none of it"}
		}
	}
	return nil
}

// lines is what an entry says that its reader was told: nothing where they deleted it.
func (p *place) lines(e *wire.Entry) []string {
	if p.gone[e.Seq] && e.Deleted && e.Content == nil {
		return nil
	}
	return []string{lineOf(e)}
}

// authors leaves of lines what no amendment changes: seq, kind and sender.
func authors(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(strings.SplitN(l, " ", 4)[:3], " ")
	}
	return out
}

// lookSummary compares a device's line of a conversation.
func (w *walk) lookSummary(c *conversation, u string, s skein.Summary) error {
	p := c.places[u]
	if !p.now() { // nobody tells them what was recalled since they left (SPEC §4.3)
		s.Unread, s.UnreadMentions = c.unread(u), c.unreadMentions(u)
	}
	if last := p.last(c.head()); s.High < last && !c.seesAny(p, s.High+1, last) { // what is gone nobody tells
		s.High = last
	}
	get := fmt.Sprintf("%s: high %d unread %d mentions %d member %t %s", c.id, s.High, s.Unread, s.UnreadMentions, s.Member, mineText(s.Mine))
	want := fmt.Sprintf("%s: high %d unread %d mentions %d member %t %s", c.id, p.last(c.head()), c.unread(u), c.unreadMentions(u), p.now(), mineText(&p.mine))
	if c.group != nil && p.now() {
		get += " " + s.Title
		want += " " + c.group.name
	}
	if p.read >= p.spans[len(p.spans)-1].from {
		get += fmt.Sprint(" read ", s.Read)
		want += fmt.Sprint(" read ", p.read)
	}
	if c.group == nil && s.Peer != "" {
		q := c.places[s.Peer]
		if get += fmt.Sprint(" peer ", s.PeerRead); q.dark && s.PeerRead <= q.told {
			want += fmt.Sprint(" peer ", s.PeerRead)
		} else {
			want += fmt.Sprintf(" peer %d", min(q.read, q.told))
		}
	}
	return differ("a device's line", []string{get}, []string{want})
}

// coldList compares what a user is told who asks for the list of conversations.
func (w *walk) coldList(ctx context.Context, u *user) error {
	have := map[string]*wire.ConversationState{}
	req := &wire.ListConversationsRequest{Limit: 3}
	for {
		var resp wire.ListConversationsResponse
		if err := w.post(ctx, u, "MessageService/ListConversations", req, &resp); err != nil {
			return err
		}
		for _, s := range resp.Delta.Conversations {
			have[s.Conversation] = s
		}
		if req.Cursor = resp.Delta.Next; req.Cursor == "" {
			break
		}
	}
	for _, c := range w.model.of(u.id) {
		s, p := have[c.id], c.places[u.id]
		if s == nil {
			return &drift{c.id + " is not in the list"}
		}
		delete(have, c.id)
		last := p.spans[len(p.spans)-1]
		get := fmt.Sprintf("%s: seq %d unread %d mentions %d until %d %s", c.id, s.Seq, s.Unread, s.UnreadMentions, s.UntilSeq, mineText(s.Mine))
		want := fmt.Sprintf("%s: seq %d unread %d mentions %d until %d %s", c.id, p.last(c.head()), c.unread(u.id), c.unreadMentions(u.id), last.until, mineText(&p.mine))
		if p.read >= last.from {
			get += fmt.Sprint(" read ", s.ReadSeq)
			want += fmt.Sprint(" read ", p.read)
		}
		if v := w.model.peer(c, u.id); c.group == nil && v != "" {
			get += fmt.Sprint(" peer ", s.PeerRead)
			if w.model.hidden(u.id, v) {
				want += " peer 0"
			} else {
				want += fmt.Sprint(" peer ", c.places[v].read)
			}
		}
		if err := differ("the list", []string{get}, []string{want}); err != nil {
			return err
		}
		for _, e := range s.Entries {
			if err := differ(c.id+" in the list", p.lines(e), c.shown(u.id, e.Seq, e.Seq)); err != nil {
				return err
			}
		}
	}
	for id, s := range have {
		if s.Seq > 0 {
			return &drift{id + " is in the list, and the model has none of it"}
		}
	}
	return nil
}

// coldRead compares what a user reads page by page, forward or backward.
func (w *walk) coldRead(ctx context.Context, u *user, full bool) error {
	for _, c := range w.model.of(u.id) {
		p := c.places[u.id]
		from, last := uint64(1), p.last(c.head())
		if !full && last > recently {
			from = last - recently
		}
		got, err := w.pages(ctx, u, c, from, last, w.looks.IntN(2) == 0)
		if err != nil {
			return err
		}
		if err := differ(c.id+" page by page", got, c.shown(u.id, from, last)); err != nil {
			return err
		}
		if seq := 1 + w.looks.Uint64N(max(c.head(), 1)); c.message(u.id, seq) == okay && !p.gone[seq] {
			if err := w.details(ctx, u, c, seq); err != nil {
				return err
			}
			if err := w.votes(ctx, u, c, seq); err != nil {
				return err
			}
			if err := w.until(ctx, func() error { return w.readers(ctx, u, c, seq) }); err != nil {
				return err
			}
		}
		if err := w.pins(ctx, u, c); err != nil {
			return err
		}
		if err := w.threads(ctx, u, c); err != nil {
			return err
		}
	}
	return w.mentions(ctx, u)
}

func (w *walk) pages(ctx context.Context, u *user, c *conversation, from, last uint64, backward bool) ([]string, error) {
	var out []string
	req := &wire.ListEntriesRequest{Conversation: c.id, From: from, Limit: uint32(1 + w.looks.IntN(500)), Backward: backward}
	if backward {
		req.From = last
	}
	for {
		var resp wire.ListEntriesResponse
		if err := w.post(ctx, u, "MessageService/ListEntries", req, &resp); err != nil {
			return nil, err
		}
		var page []string
		for _, e := range resp.Entries {
			if e.Seq >= from && e.Seq <= last {
				page = append(page, c.places[u.id].lines(e)...)
			}
		}
		if backward {
			out = append(page, out...)
		} else {
			out = append(out, page...)
		}
		switch {
		case resp.FirstSeq == 0, !backward && resp.LastSeq >= last, backward && resp.FirstSeq <= from:
			return out, nil
		case backward:
			req.From = resp.FirstSeq - 1
		default:
			req.From = resp.LastSeq + 1
		}
	}
}

// details compares who reacted to a message, and what it said before.
func (w *walk) details(ctx context.Context, u *user, c *conversation, seq uint64) error {
	e := c.at(seq)
	var reacted wire.ListReactionsResponse
	if err := w.post(ctx, u, "MessageService/ListReactions", &wire.ListReactionsRequest{Conversation: c.id, Seq: seq, Limit: 500}, &reacted); err != nil {
		return err
	}
	var got, want []string
	for _, r := range reacted.Reacted {
		got = append(got, r.User+r.Reaction)
	}
	for _, r := range e.reactions {
		for v := range r.users {
			want = append(want, v+r.kind)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if err := differ(fmt.Sprintf("who reacted to %d of %s", seq, c.id), got, want); err != nil {
		return err
	}
	var edits wire.ListEditsResponse
	if err := w.post(ctx, u, "MessageService/ListEdits", &wire.ListEditsRequest{Conversation: c.id, Seq: seq, Limit: 50}, &edits); err != nil {
		return err
	}
	got, want = nil, slices.Clone(e.versions)
	for _, v := range edits.Versions {
		got = append(got, v.Content.GetText())
	}
	slices.Reverse(want)
	return differ(fmt.Sprintf("earlier versions of %d of %s", seq, c.id), got, want)
}

// people compares rosters, bans, invitations and contacts.
func (w *walk) people(ctx context.Context, u *user) error {
	var open []string
	for _, id := range slices.Sorted(slices.Values(w.model.order)) {
		c := w.model.convs[id]
		if c.group == nil {
			continue
		}
		if by := c.group.invited[u.id]; by != "" {
			open = append(open, c.id+" by "+by)
		}
		if c.group.members[u.id] == nil {
			continue
		}
		if err := w.roster(ctx, u, c); err != nil {
			return err
		}
	}
	var invitations wire.ListInvitationsResponse
	if err := w.post(ctx, u, "GroupService/ListInvitations", &wire.ListInvitationsRequest{}, &invitations); err != nil {
		return err
	}
	var got []string
	for _, i := range invitations.Invitations {
		got = append(got, i.Conversation+" by "+i.Inviter)
	}
	if err := differ("invitations", got, open); err != nil {
		return err
	}
	if err := w.scheduled(ctx, u); err != nil {
		return err
	}
	var contacts wire.ListContactsResponse
	if err := w.post(ctx, u, "ContactService/ListContacts", &wire.ListContactsRequest{}, &contacts); err != nil {
		return err
	}
	got = nil
	var want []string
	for _, c := range contacts.Contacts {
		got = append(got, fmt.Sprintf("%s %v blocked %t", c.User.Id, c.State, c.Blocked))
	}
	states := map[contactState]wire.ContactState{stranger: wire.ContactState_CONTACT_STATE_NONE, asked: wire.ContactState_CONTACT_STATE_ASKED, asksMe: wire.ContactState_CONTACT_STATE_ASKS_ME, friend: wire.ContactState_CONTACT_STATE_CONTACT}
	for _, v := range w.model.users {
		if side := w.model.pairs[[2]string{u.id, v}]; side != nil && (side.state != stranger || side.blocked) {
			want = append(want, fmt.Sprintf("%s %v blocked %t", v, states[side.state], side.blocked))
		}
	}
	return differ("contacts", got, want)
}

func (w *walk) roster(ctx context.Context, u *user, c *conversation) error {
	var resp wire.ListMembersResponse
	if err := w.post(ctx, u, "GroupService/ListMembers", &wire.ListMembersRequest{Conversation: c.id}, &resp); err != nil {
		return err
	}
	var got, want []string
	for _, m := range resp.Members {
		got = append(got, fmt.Sprintf("%s %v muted %t called %q", m.User, m.Role, m.MutedUntilMs != 0, m.Nickname))
	}
	if !slices.IsSortedFunc(resp.Members, func(a, b *wire.Member) int { return int(b.Role - a.Role) }) {
		return fmt.Errorf("members of %s are not in the order of their roles: %q", c.id, got)
	}
	slices.Sort(got) // when each joined is not in the model
	for _, v := range c.group.sorted() {
		m := c.group.members[v]
		want = append(want, fmt.Sprintf("%s %v muted %t called %q", v, m.role, m.muted, m.nickname))
	}
	if err := differ("members of "+c.id, got, want); err != nil {
		return err
	}
	if err := w.named(ctx, u, c); err != nil {
		return err
	}
	if c.group.power(u.id, wire.Role_ROLE_ADMIN, "") != okay {
		return nil
	}
	var bans wire.ListBansResponse
	if err := w.post(ctx, u, "GroupService/ListBans", &wire.ListBansRequest{Conversation: c.id}, &bans); err != nil {
		return err
	}
	got, want = nil, nil
	for _, b := range bans.Bans {
		got = append(got, b.User+" for "+b.Reason)
	}
	for v, reason := range c.group.bans {
		want = append(want, v+" for "+reason)
	}
	slices.SortFunc(want, strings.Compare)
	return differ("bans of "+c.id, got, want)
}
