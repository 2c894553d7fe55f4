package group

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// A request to join is made by an invite link of a group, and uses it once. It is open
// until an admin lets the user in or refuses them, they withdraw it, become a member
// in another way, or are banned; or until its time is over. The user's devices and the
// group's admins hear of it, and how it ended, in their me feeds; that they were let
// in the entry tells that adds them.

const (
	// RequestTime is how long a request is open.
	RequestTime = 30 * 24 * time.Hour
	// MaxRequests is how many open ones a group may have, MaxRequestsOfUser a user.
	MaxRequests       = 500
	MaxRequestsOfUser = 50
	// MaxRequestText is in characters.
	MaxRequestText = 200
	// toldAdmins is how many admins, the owner among them, are told of a request; all
	// may list them.
	toldAdmins = 50
)

// JoinRequest is a user who asks to be a member.
type JoinRequest = im.JoinRequest

// Request asks the admins of a link's group to let the caller in. Who asked already
// has asked: nothing changes.
func (s *Service) Request(ctx context.Context, actor im.Actor, code, text string) (JoinRequest, error) {
	if err := im.CheckLines("text", &text, MaxRequestText); err != nil {
		return JoinRequest{}, err
	}
	l, err := s.link(ctx, actor, code)
	if err != nil {
		return JoinRequest{}, err
	}
	c := l.Conversation
	v, err := s.view(ctx, actor, c, nil)
	switch {
	case err != nil:
		return JoinRequest{}, err
	case v.Role != im.RoleNone:
		return JoinRequest{}, im.Errorf(im.CodeAlreadyExists, "you are a member")
	}
	// By a link that their own request used up they may ask again.
	if old, open, err := s.asked(ctx, c, actor.User); err != nil || open {
		return old, err
	}
	if !s.holds(&l) {
		return JoinRequest{}, errNoLink
	}
	if err := s.checkBanned(ctx, c, actor.User); err != nil {
		return JoinRequest{}, err
	}
	if err := s.mayJoinOneMore(ctx, actor.User); err != nil {
		return JoinRequest{}, err
	}
	now := s.o.Now().Truncate(time.Millisecond)
	r := JoinRequest{Conversation: c, User: actor.User, Text: text, Created: now, Expires: now.Add(RequestTime)}
	event := im.Event{Type: im.EventJoinRequested, Users: []im.UserID{actor.User}, Text: text, Until: r.Expires, Conversation: c}
	notices, err := s.notices(ctx, c, actor.User, actor.User, event)
	if err != nil {
		return JoinRequest{}, err
	}
	made, err := s.doors.RequestJoin(ctx, r, code, MaxRequests, MaxRequestsOfUser, notices)
	if err != nil {
		return JoinRequest{}, fmt.Errorf("request to join: %w", err)
	}
	if made {
		s.tell(ctx, notices)
	}
	return r, nil
}

// asked returns a user's open request, false if there is none.
func (s *Service) asked(ctx context.Context, c im.ConversationID, user im.UserID) (JoinRequest, bool, error) {
	all, err := s.doors.RequestsPage(ctx, c, s.o.Now(), "", MaxRequests) // all that a group may have
	if err != nil {
		return JoinRequest{}, false, fmt.Errorf("list requests to join: %w", err)
	}
	i := slices.IndexFunc(all, func(r im.JoinRequest) bool { return r.User == user })
	if i < 0 {
		return JoinRequest{}, false, nil
	}
	return all[i], true, nil
}

// notices are the entries of an event in the feeds of who asks and of the admins.
func (s *Service) notices(ctx context.Context, c im.ConversationID, asker, by im.UserID, e im.Event) ([]im.Promise, error) {
	r, err := s.roster(ctx, c)
	if err != nil {
		return nil, err
	}
	all := []im.Promise{s.notice(asker, by, e)}
	for _, u := range r.admins(toldAdmins) {
		all = append(all, s.notice(u, by, e))
	}
	return all, nil
}

// tell drives notices that are promised; the outbox counts a failure and repeats it.
func (s *Service) tell(ctx context.Context, notices []im.Promise) {
	for _, p := range notices {
		_ = s.outbox.Drive(ctx, p)
	}
}

// ListRequests returns a page of the open requests to an admin, by user id, and the
// cursor of the next one, "" after the last.
func (s *Service) ListRequests(ctx context.Context, actor im.Actor, c im.ConversationID, limit int, cursor string) (list []JoinRequest, next string, err error) {
	if limit, err = im.PageSize(cursor == "" || im.ValidID(cursor), limit, MaxRequests, DefaultPage); err != nil {
		return nil, "", err
	}
	if err := s.mayManage(ctx, actor, c, im.GroupLetIn); err != nil {
		return nil, "", err
	}
	list, err = s.doors.RequestsPage(ctx, c, s.o.Now(), im.UserID(cursor), limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("list requests to join: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = string(list[limit-1].User)
	}
	return list, next, nil
}

// Approve makes who asks a member. Who is one already stays one.
func (s *Service) Approve(ctx context.Context, actor im.Actor, c im.ConversationID, user im.UserID) error {
	if _, err := im.ParseUserID(string(user)); err != nil {
		return err
	}
	return s.change(ctx, actor, c, []im.UserID{user}, func(v *view) (*im.Event, error) {
		if err := im.Authorize(v.Role, im.GroupLetIn, im.RoleNone); err != nil {
			return nil, err
		}
		if v.roleOf(user) != im.RoleNone {
			return nil, nil
		}
		if err := s.checkBanned(ctx, c, user); err != nil {
			return nil, err
		}
		if v.Members >= s.limits.Load().MaxMembers {
			return nil, s.tooMany()
		}
		n, err := s.people.GroupsOf(ctx, user)
		if err != nil {
			return nil, fmt.Errorf("groups of a user: %w", err)
		}
		if n >= s.limits.Load().MaxGroups {
			return nil, im.Errorf(im.CodeTooLarge, "this user is in %d groups; at most %d are allowed", n, s.limits.Load().MaxGroups)
		}
		v.by.Asked = true
		return joining(v, []im.UserID{user}), nil
	})
}

// RefuseRequest ends a request; who asked and the admins are told.
func (s *Service) RefuseRequest(ctx context.Context, actor im.Actor, c im.ConversationID, user im.UserID) error {
	if _, err := im.ParseUserID(string(user)); err != nil {
		return err
	}
	if err := s.mayManage(ctx, actor, c, im.GroupLetIn); err != nil {
		return err
	}
	return s.endRequest(ctx, actor.User, c, user, im.EventJoinRefused)
}

// Withdraw ends a request of the caller's; the admins are told.
func (s *Service) Withdraw(ctx context.Context, actor im.Actor, c im.ConversationID) error {
	if err := checkActor(actor); err != nil {
		return err
	}
	return s.endRequest(ctx, actor.User, c, actor.User, im.EventJoinWithdrawn)
}

func (s *Service) endRequest(ctx context.Context, by im.UserID, c im.ConversationID, asker im.UserID, t im.EventType) error {
	notices, err := s.notices(ctx, c, asker, by, im.Event{Type: t, Users: []im.UserID{asker}, Conversation: c})
	if err != nil {
		return err
	}
	if err := s.doors.EndRequest(ctx, c, asker, s.o.Now(), notices); err != nil {
		return fmt.Errorf("end a request to join: %w", err)
	}
	s.tell(ctx, notices)
	return nil
}
