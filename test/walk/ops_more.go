package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// opSay sends a message that says more than words: it mentions, is silent, or asks.
func (w *walk) opSay(u *user) *op {
	c := w.someOf(u)
	if c == nil {
		return nil
	}
	text, a, want := w.word(), also{silent: w.rng.IntN(3) == 0}, w.model.maySend(c, u.id)
	if w.rng.IntN(3) == 0 {
		a.content = "poll"
		a.poll = &poll{options: []string{"a", "b", "c"}[:1+w.rng.IntN(3)], multiple: w.rng.IntN(2) == 0, anonymous: w.rng.IntN(3) == 0, chosen: map[string][]string{}}
	} else {
		a.mentions, a.group = w.mentioned(c)
	}
	if want == okay && a.group != 0 {
		want = w.model.mayMentionAll(c, u.id)
	}
	do, door := w.saying(u, c.id, text, &a)
	return &op{
		text: fmt.Sprintf("%s says %q to %s with %+v %s", u.id, text, c.id, a, door), want: want, do: do,
		done: func() error { w.model.sent(c, u.id, text, 0).also = a; return nil },
	}
}

// mentioned chooses whom a message mentions.
func (w *walk) mentioned(c *conversation) (users []string, group wire.GroupMention) {
	for _, v := range w.users {
		if w.rng.IntN(3) == 0 {
			users = append(users, v.id)
		}
	}
	if c.group != nil && w.rng.IntN(3) == 0 {
		group = wire.GroupMention(1 + w.rng.IntN(2))
	}
	return users, group
}

// saying is a send by one of the doors.
func (w *walk) saying(u *user, c, text string, a *also) (do func(context.Context) error, door string) {
	content, typed := textContent(text), (*wire.Poll)(nil)
	if p := a.poll; p != nil {
		content.Type = "poll"
		typed = &wire.Poll{Multiple: p.multiple, Anonymous: p.anonymous}
		for _, o := range p.options {
			typed.Options = append(typed.Options, &wire.PollOption{Id: o})
		}
	}
	if d := w.device(u); d != nil && w.rng.IntN(3) > 0 {
		all := func(s *wire.Send) {
			s.Content, s.Mentions, s.GroupMention, s.Silent, s.Poll, s.Streaming = content, a.mentions, a.group, a.silent, typed, a.streaming
		}
		return func(ctx context.Context) error {
			_, err := d.client.Conversation(c).Send(ctx, text, all)
			if err != nil {
				d.forget(ctx)
			}
			return err
		}, d.name
	}
	alone := w.device(u) == nil
	req := &wire.SendMessageRequest{Conversation: c, Id: w.newID(), Content: content, Mentions: a.mentions, GroupMention: a.group, Silent: a.silent, Poll: typed, Streaming: a.streaming}
	return func(ctx context.Context) error {
		var resp wire.SendMessageResponse
		err := w.post(ctx, u, "MessageService/SendMessage", req, &resp)
		if err == nil && alone {
			err = w.markRead(ctx, u, c, resp.Seq)
		}
		return err
	}, "over HTTP"
}

// markRead says what no device of the user's tells again, if the server loses it within
// a second (SPEC §6.3).
func (w *walk) markRead(ctx context.Context, u *user, c string, seq uint64) error {
	return w.post(ctx, u, "MessageService/MarkRead", &wire.MarkReadRequest{Conversation: c, Seq: seq}, &wire.MarkReadResponse{})
}

// opReword edits a message so that it mentions others.
func (w *walk) opReword(u *user) *op {
	c := w.someOf(u)
	if c == nil || c.head() == 0 {
		return nil
	}
	seq, text := w.target(c, u.id), w.word()
	users, group := w.mentioned(c)
	want := w.model.mayEdit(c, u.id, seq)
	if may := w.model.maySend(c, u.id); group != 0 && may == okay && w.model.mayMentionAll(c, u.id) != okay {
		want = denied // that is looked at before the message is
	}
	o := &op{
		text: fmt.Sprintf("%s edits %d of %s to %q for %v and %v", u.id, seq, c.id, text, users, group), want: want,
		done: func() error {
			e := w.model.edited(c, u.id, seq, text)
			e.mentions, e.group = users, group
			return nil
		},
	}
	if d := w.device(u); d != nil && w.rng.IntN(2) == 0 && !w.crashed {
		all := func(s *wire.Send) { s.Mentions, s.GroupMention = users, group }
		o.do = func(ctx context.Context) error { return d.client.Conversation(c.id).Edit(ctx, seq, text, all) }
		return o
	}
	req := &wire.EditMessageRequest{Conversation: c.id, Seq: seq, Id: w.newID(), Content: textContent(text), Mentions: users, GroupMention: group}
	o.do = func(ctx context.Context) error {
		return w.post(ctx, u, "MessageService/EditMessage", req, &wire.EditMessageResponse{})
	}
	return o
}

// pollIn chooses a poll, or what is none now and then.
func (w *walk) pollIn(c *conversation) uint64 {
	if w.rng.IntN(10) > 0 {
		for seq := c.head(); seq > 0 && seq+400 > c.head(); seq-- {
			if c.at(seq).poll != nil && w.rng.IntN(2) == 0 {
				return seq
			}
		}
	}
	return w.target(c, "")
}

func (w *walk) opVote(u *user) *op {
	c := w.someOf(u)
	if c == nil || c.head() == 0 {
		return nil
	}
	seq := w.pollIn(c)
	var options []string
	for _, o := range []string{"a", "b", "c", "d"} {
		if w.rng.IntN(3) == 0 {
			options = append(options, o)
		}
	}
	o := &op{text: fmt.Sprintf("%s votes for %v in %d of %s", u.id, options, seq, c.id), want: w.model.mayVote(c, u.id, seq, options)}
	o.done = func() error {
		if e := c.at(seq); !e.poll.chooses(u.id, options) {
			if e.poll.chosen[u.id] = options; len(options) == 0 {
				delete(e.poll.chosen, u.id)
			}
			e.amended = w.model.append(c, &entry{kind: wire.EntryKind_ENTRY_KIND_VOTE}).seq
		}
		return nil
	}
	if d := w.device(u); d != nil && w.rng.IntN(2) == 0 && !w.crashed {
		o.do = func(ctx context.Context) error { return d.client.Conversation(c.id).Vote(ctx, seq, options...) }
		return o
	}
	req := &wire.VoteInPollRequest{Conversation: c.id, Seq: seq, Id: w.newID(), Options: options}
	o.do = func(ctx context.Context) error {
		return w.post(ctx, u, "MessageService/VoteInPoll", req, &wire.VoteInPollResponse{})
	}
	return o
}

func (w *walk) opEndPoll(u *user) *op {
	c := w.someOf(u)
	if c == nil || c.head() == 0 {
		return nil
	}
	seq := w.pollIn(c)
	o := &op{text: fmt.Sprintf("%s ends the poll %d of %s", u.id, seq, c.id), want: w.model.mayEndPoll(c, u.id, seq)}
	o.done = func() error {
		if e := c.at(seq); !e.poll.ended {
			e.poll.ended = true
			e.amended = w.model.append(c, &entry{kind: wire.EntryKind_ENTRY_KIND_POLL_END}).seq
		}
		return nil
	}
	if d := w.device(u); d != nil && w.rng.IntN(2) == 0 && !w.crashed {
		o.do = func(ctx context.Context) error { return d.client.Conversation(c.id).EndPoll(ctx, seq) }
		return o
	}
	req := &wire.EndPollRequest{Conversation: c.id, Seq: seq, Id: w.newID()}
	o.do = func(ctx context.Context) error {
		return w.post(ctx, u, "MessageService/EndPoll", req, &wire.EndPollResponse{})
	}
	return o
}

func (w *walk) opPin(u *user) *op {
	c := w.someOf(u)
	if c == nil || c.head() == 0 {
		return nil
	}
	seq, remove := w.target(c, ""), w.rng.IntN(2) == 0
	o := &op{text: fmt.Sprintf("%s pins %d of %s (remove %t)", u.id, seq, c.id, remove), want: w.model.mayPin(c, u.id, seq, remove)}
	o.done = func() error {
		if e := c.at(seq); (e.pinned == "") != remove {
			e.amended = w.model.append(c, &entry{kind: wire.EntryKind_ENTRY_KIND_PIN}).seq
			if e.pinned, e.pinnedBy = u.id, e.amended; remove {
				e.pinned, e.pinnedBy = "", 0
			}
		}
		return nil
	}
	if d := w.device(u); d != nil && w.rng.IntN(2) == 0 && !w.crashed {
		o.do = func(ctx context.Context) error {
			if v := d.client.Conversation(c.id); remove {
				return v.Unpin(ctx, seq)
			} else {
				return v.Pin(ctx, seq)
			}
		}
		return o
	}
	req := &wire.PinMessageRequest{Conversation: c.id, Seq: seq, Id: w.newID(), Remove: remove}
	o.do = func(ctx context.Context) error {
		return w.post(ctx, u, "MessageService/PinMessage", req, &wire.PinMessageResponse{})
	}
	return o
}

// maxMergedText is the longest text of a message that is forwarded: copies of what was
// merged would grow and grow.
const maxMergedText = 500

// opForward forwards one message, several, or several in one.
func (w *walk) opForward(u *user) *op {
	to := w.someOf(u)
	if to == nil {
		return nil
	}
	want := okay
	var from []*entry
	var sources []*wire.ForwardSource
	for range 1 + w.rng.IntN(3) {
		c := w.someOf(u)
		if c == nil || c.head() == 0 {
			return nil
		}
		seq := w.target(c, "")
		e := c.at(seq)
		if len(e.text) > maxMergedText || c.places[u.id].gone[seq] {
			return nil
		}
		if code := c.message(u.id, seq); code != okay {
			want = first(want, code)
		} else if e.recalled {
			want = first(want, tooLate)
		}
		from = append(from, e)
		sources = append(sources, &wire.ForwardSource{Conversation: c.id, Seq: seq})
	}
	title, silent := "", w.rng.IntN(3) == 0
	if w.rng.IntN(3) == 0 {
		title = w.word()
	}
	return &op{
		text: fmt.Sprintf("%s forwards %v to %s, merged %q, silent %t", u.id, sources, to.id, title, silent), want: first(want, w.model.maySend(to, u.id)),
		do: w.forwarding(u, to.id, sources, title, silent),
		done: func() error {
			if title != "" {
				w.model.sent(to, u.id, w.model.mergedOf(title, from), 0).also = also{silent: silent, merged: len(from), content: "merged"}
				return nil
			}
			for _, e := range from {
				text, a := copied(e, silent)
				w.model.sent(to, u.id, text, 0).also = a
			}
			return nil
		},
	}
}

func (w *walk) forwarding(u *user, to string, sources []*wire.ForwardSource, title string, silent bool) func(context.Context) error {
	if d := w.device(u); d != nil && w.rng.IntN(2) == 0 && !w.crashed && !silent {
		return func(ctx context.Context) error {
			var refs []skein.EntryRef
			for _, s := range sources {
				refs = append(refs, skein.EntryRef{Conversation: s.Conversation, Seq: s.Seq})
			}
			var err error
			if v := d.client.Conversation(to); title != "" {
				_, err = v.ForwardMerged(ctx, title, refs...)
			} else {
				_, err = v.Forward(ctx, refs...)
			}
			return err
		}
	}
	alone := w.device(u) == nil
	req := &wire.ForwardMessagesRequest{Conversation: to, Silent: silent}
	for _, s := range sources {
		one := &wire.ForwardSource{Conversation: s.Conversation, Seq: s.Seq}
		if title == "" {
			one.Id = w.newID()
		}
		req.Messages = append(req.Messages, one)
	}
	if title != "" {
		req.Merge = &wire.ForwardMerge{Title: title, Id: w.newID()}
	}
	return func(ctx context.Context) error {
		for {
			var resp wire.ForwardMessagesResponse
			if err := w.post(ctx, u, "MessageService/ForwardMessages", req, &resp); err != nil {
				return err
			}
			if resp.Error != nil { // the server was killed in between: the rest, again
				if err := sleep(ctx, 2*time.Millisecond); err != nil {
					return fmt.Errorf("not all were forwarded: %v", resp.Error)
				}
				continue
			}
			if alone {
				return w.markRead(ctx, u, to, resp.Forwarded[len(resp.Forwarded)-1].Seq)
			}
			return nil
		}
	}
}

// opNickname names a member of a group.
func (w *walk) opNickname(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	g, v, name := c.group, u.id, w.word()
	if w.rng.IntN(4) == 0 {
		name = ""
	}
	me := g.members[u.id]
	want := okay
	if w.rng.IntN(3) == 0 {
		v = w.other(u)
		if want = g.power(u.id, wire.Role_ROLE_ADMIN, v); want == okay && me.muted {
			want = muted
		} else if want == okay && g.members[v] == nil {
			want = notFound
		}
	} else {
		switch {
		case me == nil:
			want = notFound
		case me.role == wire.Role_ROLE_MEMBER && g.mutedAll:
			want = muted
		case me.role == wire.Role_ROLE_MEMBER && g.postAdmins:
			want = denied
		case me.muted:
			want = muted
		}
	}
	return &op{
		text: fmt.Sprintf("%s calls %s %q in %s", u.id, v, name, c.id), want: want,
		do: w.either(u, "GroupService/SetNickname", &wire.SetNicknameRequest{Conversation: c.id, User: v, Nickname: name}, &wire.SetNicknameResponse{}),
		done: func() error {
			if m := g.members[v]; m.nickname != name {
				m.nickname = name
				w.model.event(c, u.id, wire.EventType_EVENT_TYPE_MEMBER_NICKNAMED, []string{v}, name, "")
			}
			return nil
		},
	}
}

// opPowers says who may mention everybody, and who may pin.
func (w *walk) opPowers(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	g, all := c.group, w.rng.IntN(3) > 0
	req, is := &wire.UpdateGroupRequest{Conversation: c.id, WhoMayPin: power(all)}, &g.pinAll
	if w.rng.IntN(2) == 0 {
		req, is = &wire.UpdateGroupRequest{Conversation: c.id, WhoMayMentionAll: power(all)}, &g.mentionAll
	}
	return &op{
		text: fmt.Sprintf("%s sets %v", u.id, req), want: g.power(u.id, wire.Role_ROLE_ADMIN, ""),
		do: w.either(u, "GroupService/UpdateGroup", req, &wire.UpdateGroupResponse{}),
		done: func() error {
			if *is != all {
				*is = all
				w.model.event(c, u.id, wire.EventType_EVENT_TYPE_GROUP_CHANGED, nil, "", "")
			}
			return nil
		},
	}
}

const maxScheduled = 10

// opLater schedules a message: for a day that does not come, or for now; it changes one,
// or takes it back.
func (w *walk) opLater(u *user) *op {
	m := w.model
	all := m.later[u.id]
	told := func(c string) {
		m.event(m.feed(u.id), u.id, wire.EventType_EVENT_TYPE_SCHEDULED_CHANGED, nil, "", c)
	}
	if i := w.rng.IntN(maxScheduled); i < len(all) {
		s := all[i]
		if w.rng.IntN(2) == 0 {
			return &op{
				text: fmt.Sprintf("%s does not send %q later", u.id, s.text),
				do:   w.either(u, "MessageService/CancelScheduled", &wire.CancelScheduledRequest{Id: s.id}, &wire.CancelScheduledResponse{}),
				done: func() error { m.later[u.id] = slices.Delete(all, i, i+1); told(""); return nil },
			}
		}
		if w.crashed {
			return nil // done twice it is told twice
		}
		text := w.word()
		req := &wire.ChangeScheduledRequest{Id: s.id, Message: &wire.SendMessageRequest{Conversation: s.c.id, Content: textContent(text), Thread: s.root, AlsoInMain: s.both}}
		return &op{
			text: fmt.Sprintf("%s sends %q later, not %q", u.id, text, s.text), want: m.mayReplyLater(s, u.id),
			do:   w.either(u, "MessageService/ChangeScheduled", req, &wire.ChangeScheduledResponse{}),
			done: func() error { s.text = text; told(""); return nil },
		}
	}
	c := w.someOf(u)
	if c == nil {
		return nil
	}
	s := &scheduled{id: w.newID(), c: c, text: w.word()}
	if root := c.rootOf(w.target(c, "")); root != nil && !w.o.disappear && w.rng.IntN(3) == 0 {
		if s.root, s.both = root.seq, w.rng.IntN(3) == 0; !s.both {
			s.text = w.replyWord()
		}
	}
	req := &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: c.id, Id: s.id, Content: textContent(s.text), Thread: s.root, AlsoInMain: s.both}}
	o := &op{text: fmt.Sprintf("%s sends %q to %s later, below %d, in the line as well %t", u.id, s.text, c.id, s.root, s.both), want: m.maySend(c, u.id)}
	if below := m.mayReplyLater(s, u.id); below != okay {
		o.want = below
	}
	if o.want == okay && !w.crashed && w.rng.IntN(10) == 0 { // done twice it is told twice
		return w.overdue(u, s, o, req)
	}
	if o.want == muted {
		o.want = okay // that ends
	}
	s.at = w.server.clock.Now().Add(300 * 24 * time.Hour).UnixMilli()
	req.AtMs = s.at
	o.do = w.either(u, "MessageService/ScheduleMessage", req, &wire.ScheduleMessageResponse{})
	o.done = func() error { m.later[u.id] = append(all, s); told(c.id); return nil }
	return o
}

// overdue schedules a message for a time that is over, and waits until it is sent.
func (w *walk) overdue(u *user, s *scheduled, o *op, req *wire.ScheduleMessageRequest) *op {
	o.text += ", which is now"
	req.AtMs = 1
	c := s.c
	next, reply := c.head()+1, s.root != 0 && !s.both
	schedule := w.either(u, "MessageService/ScheduleMessage", req, &wire.ScheduleMessageResponse{})
	o.do = func(ctx context.Context) error {
		if err := schedule(ctx); err != nil {
			return err
		}
		if err := w.stored(ctx, u, c.id, next); err != nil || reply {
			return err
		}
		return w.markRead(ctx, u, c.id, next)
	}
	o.done = func() error {
		w.model.event(w.model.feed(u.id), u.id, wire.EventType_EVENT_TYPE_SCHEDULED_CHANGED, nil, "", c.id)
		if s.root != 0 {
			w.model.replied(c, u.id, s.root, s.text, s.both)
		} else {
			w.model.sent(c, u.id, s.text, 0)
		}
		return nil
	}
	return o
}

// stored waits until an entry is there.
func (w *walk) stored(ctx context.Context, u *user, c string, seq uint64) error {
	for {
		var resp wire.ListEntriesResponse
		err := w.post(ctx, u, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: c, From: seq, Limit: 1}, &resp)
		if err == nil && resp.LastSeq >= seq {
			return nil
		}
		if err == nil {
			err = sleep(ctx, 5*time.Millisecond)
		}
		if err != nil {
			return fmt.Errorf("entry %d of %s does not come: %w", seq, c, err)
		}
	}
}

// profileChange changes a profile and waits until all contacts were told, which is done
// behind the answer: what the feeds say next comes behind that.
func (w *walk) profileChange(u *user, next profile, req *wire.UpdateProfileRequest) *op {
	p, m := w.model.profiles[u.id], w.model
	change := w.either(u, "UserService/UpdateProfile", req, &wire.UpdateProfileResponse{})
	var friends []*user
	for _, v := range w.users {
		side, back := m.pairs[[2]string{v.id, u.id}], m.pairs[[2]string{u.id, v.id}]
		if v != u && req.DisplayName != nil && side.state == friend && !side.blocked && !back.blocked {
			friends = append(friends, v)
		}
	}
	return &op{
		text: fmt.Sprintf("%s's profile: %v", u.id, req),
		do: func(ctx context.Context) error {
			err := change(ctx)
			for _, v := range friends {
				if err == nil {
					err = w.stored(ctx, v, "me:"+v.id, m.feed(v.id).head()+1)
				}
			}
			return err
		},
		done: func() error {
			if next == *p {
				return nil
			}
			*p = next
			m.sight(u.id)
			m.event(m.feed(u.id), u.id, wire.EventType_EVENT_TYPE_PROFILE_CHANGED, []string{u.id}, req.GetDisplayName(), "")
			for _, v := range friends {
				m.event(m.feed(v.id), u.id, wire.EventType_EVENT_TYPE_CONTACT_PROFILE_CHANGED, []string{u.id}, "", "")
			}
			return nil
		},
	}
}
