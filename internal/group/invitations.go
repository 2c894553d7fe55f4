package group

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// An invitation is what becomes of adding somebody who wants to be asked first (their
// profile says who need not ask). It stands in their me feed, is open for a time, and
// ends when they accept or refuse it, or become a member in another way. Whom they
// blocked can neither add nor invite them.

const (
	// InvitationTime is how long an invitation is open.
	InvitationTime = 30 * 24 * time.Hour
	// DefaultInvitations and MaxInvitations are the limits of a page of them.
	DefaultInvitations = 100
	MaxInvitations     = 200
)

// Invitation asks a user whether they want to be a member.
type Invitation = im.Invitation

// ways are users who may be added, and those who are asked, in their order.
type ways struct{ add, ask []im.UserID }

// strange are the users of one call who were counted as added, or asked (asksKey), by a
// stranger: one that is decided again is counted once.
type strange map[im.UserID]bool

// addable tells which of users may be added or asked; unasked: nobody is. It notes in
// counted whom it counted as added by a stranger.
func (s *Service) addable(ctx context.Context, actor im.UserID, users []im.UserID, unasked bool, counted strange) (w ways, err error) {
	if len(users) == 0 {
		return w, nil
	}
	may, err := s.people.Addable(ctx, actor, users)
	if err != nil {
		return w, fmt.Errorf("who may be added: %w", err)
	}
	of := make(map[im.UserID]*im.Addable, len(may))
	for i := range may {
		if may[i].Groups < s.limits.Load().MaxGroups {
			of[may[i].User] = &may[i]
		}
	}
	for _, u := range users {
		switch a := of[u]; {
		case a == nil:
		case unasked:
			w.add = append(w.add, u)
		case a.Ask, a.Stranger && !s.mayStranger(u, counted):
			if !a.Stranger || s.mayAsk(u, counted) {
				w.ask = append(w.ask, u)
			}
		default:
			w.add = append(w.add, u)
		}
	}
	return w, nil
}

// mayStranger counts that somebody who is none of a user's contacts adds them to a group.
// Of those who do, however many they are, so many a day do it; the others ask: nobody
// finds themselves in hundreds of groups of people whom they do not know.
func (s *Service) mayStranger(user im.UserID, counted strange) bool {
	if s.limits.Load().StrangersPerDay < 0 || counted[user] {
		return true
	}
	if s.strangers.Take(user, 1, s.o.Now()) != 0 {
		return false
	}
	counted[user] = true
	return true
}

// mayAsk counts that somebody who is none of a user's contacts invites them to a group: as
// many a day do it as may add. Further ones are passed over, as those are who blocked them,
// and nobody is told.
func (s *Service) mayAsk(user im.UserID, counted strange) bool {
	if s.limits.Load().StrangersPerDay < 0 || counted[asksKey(user)] {
		return true
	}
	if s.askers.Take(user, 1, s.o.Now()) != 0 {
		return false
	}
	counted[asksKey(user)] = true
	return true
}

// asksKey is a user in strange as one who was asked: no id has a space.
func asksKey(u im.UserID) im.UserID { return "asks " + u }

// uncount gives back what a call counted that found its work done before.
func (s *Service) uncount(actor im.UserID, w ways, unasked bool, counted strange) {
	for u := range counted {
		if asked, ok := strings.CutPrefix(string(u), "asks "); ok {
			s.askers.GiveBack(im.UserID(asked), 1)
			continue
		}
		s.strangers.GiveBack(u, 1)
	}
	if !unasked && s.limits.Load().AddsPerHour >= 0 {
		s.adds.GiveBack(actor, len(w.add)+len(w.ask))
	}
}

// mayJoinOneMore refuses who is in as many groups as they may be. Two at once may
// both be let through: the bound is against thousands.
func (s *Service) mayJoinOneMore(ctx context.Context, user im.UserID) error {
	n, err := s.people.GroupsOf(ctx, user)
	if err != nil {
		return fmt.Errorf("groups of a user: %w", err)
	}
	if n >= s.limits.Load().MaxGroups {
		return im.Errorf(im.CodeTooLarge, "you are in %d groups; at most %d are allowed", n, s.limits.Load().MaxGroups)
	}
	return nil
}

// mayMake counts that somebody makes a group: rate_limited.
func (s *Service) mayMake(user im.UserID) error {
	most := s.limits.Load().MadePerDay
	if most < 0 {
		return nil
	}
	if wait := s.made.Take(user, 1, s.o.Now()); wait > 0 {
		e := im.Errorf(im.CodeRateLimited, "you may make %d groups a day", most)
		e.RetryAfter = wait
		return e
	}
	return nil
}

// count counts whom somebody adds or asks, unless that was done: rate_limited.
func (s *Service) count(actor im.UserID, w ways, done bool) error {
	n := len(w.add) + len(w.ask)
	if done || n == 0 || s.limits.Load().AddsPerHour < 0 {
		return nil
	}
	if wait := s.adds.Take(actor, n, s.o.Now()); wait > 0 {
		e := im.Errorf(im.CodeRateLimited, "you may add %d users an hour", s.limits.Load().AddsPerHour)
		e.RetryAfter = wait
		return e
	}
	return nil
}

// invite asks users whether they want to be members, and returns those who were not
// asked before.
func (s *Service) invite(ctx context.Context, by im.UserID, g *Group, users []im.UserID) ([]im.UserID, error) {
	if len(users) == 0 {
		return nil, nil
	}
	now := s.o.Now()
	expires := now.Add(InvitationTime).Truncate(time.Millisecond)
	all, notices := make([]im.Invitation, len(users)), make([]im.Promise, len(users))
	for i, u := range users {
		all[i] = im.Invitation{User: u, Conversation: g.Conversation, Inviter: by, Created: now, Expires: expires}
		notices[i] = s.notice(u, by, im.Event{Type: im.EventGroupInvited, Users: []im.UserID{u}, Text: g.Name, Until: expires, Conversation: g.Conversation})
	}
	made, err := s.people.Invite(ctx, all, notices)
	if err != nil {
		return nil, fmt.Errorf("invite: %w", err)
	}
	asked := make([]im.UserID, len(made))
	for i, p := range made {
		asked[i] = p.Event.Users[0]
		_ = s.outbox.Drive(ctx, p) // the outbox counts the failure and repeats it
	}
	return asked, nil
}

// notice is an entry of a user's own feed.
func (s *Service) notice(user, by im.UserID, e im.Event) im.Promise {
	p := s.promise(im.Me(user), by, 0, e)
	p.IfRoster, p.SetRoster = 0, 0
	return p
}

// Invitations returns a page of the caller's open invitations, by conversation, and
// the cursor of the next one, "" after the last.
func (s *Service) Invitations(ctx context.Context, actor im.Actor, limit int, cursor string) (list []Invitation, next string, err error) {
	if limit, err = im.PageSize(cursor == "" || im.ConversationID(cursor).Kind() == im.KindGroup, limit, MaxInvitations, DefaultInvitations); err != nil {
		return nil, "", err
	}
	if err := checkActor(actor); err != nil {
		return nil, "", err
	}
	list, err = s.people.Invitations(ctx, actor.User, s.o.Now(), im.ConversationID(cursor), limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("list invitations: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = string(list[limit-1].Conversation)
	}
	return list, next, nil
}

// Accept makes the caller a member of a group that they are invited to, if who
// invited them may still add members.
func (s *Service) Accept(ctx context.Context, actor im.Actor, c im.ConversationID) (Group, error) {
	if err := checkActor(actor); err != nil {
		return Group{}, err
	}
	inv, open, err := s.people.Invitation(ctx, actor.User, c, s.o.Now())
	if err != nil {
		return Group{}, fmt.Errorf("read an invitation: %w", err)
	}
	if !open {
		return s.Get(ctx, actor, c) // a member, perhaps by the same call before
	}
	if err := s.mayJoinOneMore(ctx, actor.User); err != nil {
		return Group{}, err
	}
	err = s.change(ctx, actor, c, []im.UserID{inv.Inviter}, func(v *view) (*im.Event, error) {
		if v.Role != im.RoleNone {
			return nil, nil
		}
		if v.Settings.Authorize(v.roleOf(inv.Inviter), im.GroupAdd, im.RoleNone) != nil {
			return nil, im.Errorf(im.CodePermissionDenied, "who invited you may not add members any more")
		}
		if v.Members >= s.limits.Load().MaxMembers {
			return nil, s.tooMany()
		}
		if err := s.checkBanned(ctx, c, actor.User); err != nil {
			return nil, err
		}
		return joining(v, []im.UserID{actor.User}), nil
	})
	if err != nil {
		return Group{}, err
	}
	return s.Get(ctx, actor, c)
}

// Refuse ends an invitation of the caller's. Their own devices are told, nobody else.
func (s *Service) Refuse(ctx context.Context, actor im.Actor, c im.ConversationID) error {
	if err := checkActor(actor); err != nil {
		return err
	}
	p := s.notice(actor.User, actor.User, im.Event{Type: im.EventGroupInvitationRefused, Users: []im.UserID{actor.User}, Conversation: c})
	done, err := s.people.Uninvite(ctx, actor.User, c, s.o.Now(), p)
	if err != nil {
		return fmt.Errorf("refuse an invitation: %w", err)
	}
	if !done {
		return im.Errorf(im.CodeNotFound, "no such invitation")
	}
	_ = s.outbox.Drive(ctx, p) // the outbox counts the failure and repeats it
	return nil
}
