package group

import (
	"context"
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

// NewGroup is a group that is to be made.
type NewGroup struct {
	Name    string
	Members []im.UserID
	// RequestID, if it is not "", makes a repeat by the same owner give the same group.
	RequestID string
	// Conversation is "" for one that nobody can guess.
	Conversation im.ConversationID
	// Settings is what is not as in new groups, nil if nothing is.
	Settings *im.GroupChange
	// Unasked: all are added, also those who would be asked.
	Unasked bool
}

// Create makes a group owned by the caller with its first members. Users who do
// not exist or have blocked the caller are left out. The same owner and request
// id give the same group; without a request id each call makes one.
func (s *Service) Create(ctx context.Context, actor im.Actor, name string, members []im.UserID, requestID string) (Group, error) {
	g, _, err := s.CreateNew(ctx, actor, NewGroup{Name: name, Members: members, RequestID: requestID})
	return g, err
}

// CreateNew is Create with all that may be chosen, for the owner or on their
// behalf: already_exists where there is a group with the conversation. invited are
// those who are asked before they are members.
func (s *Service) CreateNew(ctx context.Context, actor im.Actor, n NewGroup) (g Group, invited []im.UserID, err error) {
	settings, err := n.check(actor)
	if err != nil {
		return Group{}, nil, err
	}
	others, err := checkUsers(n.Members)
	if err != nil {
		return Group{}, nil, err
	}
	if n.RequestID != "" {
		c, err := s.store.Requested(ctx, actor.User, n.RequestID)
		if err != nil {
			return Group{}, nil, fmt.Errorf("made before: %w", err)
		}
		if c != "" {
			return s.madeBefore(ctx, actor, c, without(others, actor.User))
		}
	}
	strangers := strange{}
	who, err := s.addable(ctx, actor.User, without(others, actor.User), n.Unasked, strangers)
	if err != nil {
		return Group{}, nil, err
	}
	if len(who.add)+1 > s.limits.Load().MaxMembers {
		return Group{}, nil, s.tooMany()
	}
	if err := s.mayJoinOneMore(ctx, actor.User); err != nil {
		return Group{}, nil, err
	}
	if !n.Unasked {
		if err := s.mayMake(actor.User); err != nil {
			return Group{}, nil, err
		}
	}
	if err := s.count(actor.User, who, n.Unasked); err != nil {
		s.unmake(actor.User, n)
		return Group{}, nil, err
	}
	named := n.Conversation != ""
	if !named {
		n.Conversation = s.newConversation()
	}
	g = Group{Conversation: n.Conversation, Name: n.Name, Owner: actor.User, Created: s.o.Now(), Settings: settings}
	p := s.promise(g.Conversation, actor.User, 0, im.Event{
		Type: im.EventGroupCreated, Users: append([]im.UserID{actor.User}, who.add...), Text: n.Name, Group: n.Settings,
	})
	c, err := s.store.CreateGroup(ctx, g, n.RequestID, p)
	if err != nil {
		s.unmake(actor.User, n)
		return Group{}, nil, fmt.Errorf("create group: %w", err)
	}
	if c == g.Conversation && !named {
		err = s.drive(ctx, p)
	} else { // it may be the one that was made before
		if c != g.Conversation {
			s.uncount(actor.User, who, n.Unasked, strangers)
			s.unmake(actor.User, n)
		}
		err = s.settle(ctx, c)
	}
	if err != nil {
		return Group{}, nil, unknown(err)
	}
	if g, err = s.Get(ctx, actor, c); err != nil {
		return Group{}, nil, err
	}
	invited, err = s.invite(ctx, actor.User, &g, who.ask)
	return g, invited, err
}

// unmake gives back what mayMake counted for a group that was not made.
func (s *Service) unmake(user im.UserID, n NewGroup) {
	if !n.Unasked {
		s.made.GiveBack(user, 1)
	}
}

// madeBefore is the answer to a repeat: the group that is there, and who is asked now
// because the first time ended before they were. Nothing is counted.
func (s *Service) madeBefore(ctx context.Context, actor im.Actor, c im.ConversationID, others []im.UserID) (g Group, invited []im.UserID, err error) {
	if err := s.settle(ctx, c); err != nil {
		return Group{}, nil, unknown(err)
	}
	if g, err = s.Get(ctx, actor, c); err != nil {
		return Group{}, nil, err
	}
	counted := strange{} // a stranger who could not be added was asked, or is not
	for _, u := range others {
		counted[u], counted[asksKey(u)] = true, true
	}
	who, err := s.addable(ctx, actor.User, others, false, counted)
	if err != nil {
		return Group{}, nil, err
	}
	invited, err = s.invite(ctx, actor.User, &g, who.ask)
	return g, invited, err
}

// check accepts a group from outside, and returns its settings.
func (n *NewGroup) check(actor im.Actor) (im.GroupSettings, error) {
	settings := im.NewGroupSettings()
	if err := checkActor(actor); err != nil {
		return settings, err
	}
	if err := im.CheckName("name", n.Name, 1, MaxName); err != nil {
		return settings, err
	}
	if n.RequestID != "" && !im.ValidID(n.RequestID) {
		return settings, im.Wrong("requestId", "must match [A-Za-z0-9_-]{1,64}")
	}
	if n.Settings == nil {
		return settings, nil
	}
	if err := checkChange(n.Settings); err != nil {
		return settings, im.In("settings", err)
	}
	n.Settings = n.Settings.Of(&settings)
	settings = settings.With(n.Settings)
	return settings, im.In("settings", im.CheckExtra(settings.Extra, MaxExtraBytes))
}

// CreateFor makes a group on behalf of its owner, who must exist. Its members are
// not asked.
func (s *Service) CreateFor(ctx context.Context, owner im.UserID, n NewGroup) (Group, error) {
	there, err := s.people.Addable(ctx, owner, []im.UserID{owner})
	if err != nil {
		return Group{}, fmt.Errorf("who may be added: %w", err)
	}
	if len(there) == 0 {
		return Group{}, im.Errorf(im.CodeNotFound, "no such user")
	}
	n.Unasked = true
	g, _, err := s.CreateNew(ctx, im.Actor{User: owner}, n)
	g.Role = im.RoleNone
	return g, err
}
