package push

import (
	"context"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

const (
	// oldest is how old a message is at most for which somebody is woken: what was stored
	// before the server began, or before anybody had a device, wakes nobody.
	oldest = time.Hour
	// queuedAtOnce is how much is noted in one step.
	queuedAtOnce = 500
	// gather is how much longer than Wait a message waits at most for those that were
	// stored soon after it: without it a busy server would look for each by itself.
	gather = 500 * time.Millisecond
)

// fresh is a message that may wake somebody.
type fresh struct {
	said
	seq uint64
}

// Handle takes what was stored, waits until it is old enough, and notes who is to be woken.
// It is the feed's handler; an error is the stores'. Twice is once.
func (s *Service) Handle(ctx context.Context, entries []im.Entry) error {
	for len(entries) > 0 {
		now := s.o.Now()
		n := 0 // how many are old enough
		for n < len(entries) && !entries[n].Stored.Add(s.o.Wait).After(now) {
			n++
		}
		if n == 0 {
			n = s.passable(entries, now)
		}
		if n == 0 {
			if !pause(ctx, min(together(entries).Add(s.o.Wait).Sub(now), s.o.Wait+gather)) {
				return ctx.Err()
			}
			continue
		}
		if err := s.queue(ctx, entries[:n], now); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// together is when that was stored for which is waited: all of the entries, unless that
// would keep the first one for longer than gather. It is never before the first one, which
// comes first whatever the clocks of the nodes that stored them say.
func together(entries []im.Entry) time.Time {
	first, last := entries[0].Stored, entries[len(entries)-1].Stored
	return first.Add(min(max(last.Sub(first), 0), gather))
}

// passable is how many of the first entries need not get older: no messages.
func (s *Service) passable(entries []im.Entry, now time.Time) int {
	n := slices.IndexFunc(entries, func(e im.Entry) bool { return wakes(&e, now) })
	if n < 0 {
		return len(entries)
	}
	return n
}

// wakes tells whether an entry is one that may wake somebody, as far as that costs nothing.
func wakes(e *im.Entry, now time.Time) bool {
	k := e.Conversation.Kind()
	return e.Kind == im.EntryMessage && !e.Recalled && (k == im.KindDM || k == im.KindGroup) && now.Sub(e.Stored) < oldest
}

// queue notes who is to be woken for entries.
func (s *Service) queue(ctx context.Context, entries []im.Entry, now time.Time) error {
	byConversation := map[im.ConversationID][]fresh{}
	for i := range entries {
		e := &entries[i]
		if !wakes(e, now) {
			continue
		}
		if what, ok := saidBy(e); ok {
			byConversation[e.Conversation] = append(byConversation[e.Conversation], fresh{what, e.Seq})
		}
	}
	if len(byConversation) == 0 {
		return nil
	}
	if some, err := s.anyPush(ctx); err != nil || !some {
		return err
	}
	targets, err := s.targets(ctx, byConversation, now)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(targets, queuedAtOnce) {
		jobs, err := s.jobs(ctx, part, byConversation, now)
		if err == nil && len(jobs) > 0 {
			err = s.o.Queue.QueuePushes(ctx, jobs, now)
		}
		if err != nil {
			return err
		}
		if len(jobs) > 0 {
			s.nudge()
		}
	}
	return nil
}

// targets are the users of conversations who have devices that can be woken.
func (s *Service) targets(ctx context.Context, in map[im.ConversationID][]fresh, now time.Time) ([]im.PushTarget, error) {
	var groups []im.ConversationID
	var users []im.UserID
	chats := map[im.UserID][]im.ConversationID{}
	for c, all := range in {
		if c.Kind() == im.KindGroup {
			groups = append(groups, c)
			continue
		}
		for _, u := range peers(c, all) {
			if chats[u] == nil {
				users = append(users, u)
			}
			chats[u] = append(chats[u], c)
		}
	}
	found, err := s.o.Subscriptions.PushTargets(ctx, groups, users, now)
	if err != nil {
		return nil, err
	}
	var out []im.PushTarget
	for _, t := range found {
		if t.Conversation != "" {
			out = append(out, t)
			continue
		}
		for _, c := range chats[t.User] {
			t.Conversation = c
			out = append(out, t)
		}
	}
	return out, nil
}

// peers are those to whom something was written in a direct chat.
func peers(c im.ConversationID, all []fresh) (us []im.UserID) {
	for i := range all {
		if u, ok := c.Peer(all[i].sender); ok && !slices.Contains(us, u) {
			us = append(us, u)
		}
	}
	return us
}

// jobs are those of targets who have not received what they want to be woken for.
func (s *Service) jobs(ctx context.Context, targets []im.PushTarget, in map[im.ConversationID][]fresh, now time.Time) ([]im.PushJob, error) {
	keys := make([]im.MarkKey, len(targets))
	for i, t := range targets {
		keys[i] = im.MarkKey{User: t.User, Conversation: t.Conversation}
	}
	marks, err := s.marks(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	var jobs []im.PushJob
	for i := range targets {
		t := &targets[i]
		if marks[i] == nil {
			continue // whoever reads it is told
		}
		mine, err := entrycodec.MyState(marks[i].Mine, t.Conversation)
		if err != nil {
			continue // whoever reads it is told
		}
		j := im.PushJob{Conversation: t.Conversation, User: t.User}
		for _, m := range in[t.Conversation] {
			if m.sender == t.User || m.seq <= max(marks[i].Received, marks[i].Read) || !wants(t.Conversation, &t.Settings, &mine, m.mentions(t.User), now) {
				continue
			}
			if j.First == 0 {
				j.First = m.seq
			}
			j.Seq = m.seq
		}
		if j.Seq > 0 {
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}
