package group

import (
	"context"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Rename gives a group another name.
func (s *Service) Rename(ctx context.Context, actor im.Actor, c im.ConversationID, name string) (Group, error) {
	if err := im.CheckName("name", name, 1, MaxName); err != nil {
		return Group{}, err
	}
	err := s.change(ctx, actor, c, nil, func(v *view) (*im.Event, error) {
		if err := im.Authorize(v.Role, im.GroupRename, im.RoleNone); err != nil {
			return nil, err
		}
		if v.Name == name {
			return nil, nil
		}
		return &im.Event{Type: im.EventGroupRenamed, Text: name}, nil
	})
	if err != nil {
		return Group{}, err
	}
	return s.Get(ctx, actor, c)
}

// Add adds users and returns those who are new, and those who are asked instead.
// Those who are members, do not exist, are banned, have blocked the caller or are in
// as many groups as they may be are skipped. An error may come after a part was added: added
// tells which.
func (s *Service) Add(ctx context.Context, actor im.Actor, c im.ConversationID, users []im.UserID) (added, invited []im.UserID, err error) {
	users, err = checkUsers(users)
	if err != nil {
		return nil, nil, err
	}
	counted, strangers := false, strange{} // a part that is decided again is counted once
	added, err = s.changeUsers(ctx, actor, c, users, func(v *view, part []im.UserID) (*im.Event, error) {
		if err := v.Settings.Authorize(v.Role, im.GroupAdd, im.RoleNone); err != nil {
			return nil, err
		}
		fresh := slices.DeleteFunc(slices.Clone(part), func(u im.UserID) bool { return v.roleOf(u) != im.RoleNone })
		fresh, err := s.welcome(ctx, c, fresh)
		if err != nil {
			return nil, err
		}
		who, err := s.addable(ctx, actor.User, fresh, false, strangers)
		if err != nil {
			return nil, err
		}
		if v.Members+len(who.add) > s.limits.Load().MaxMembers {
			return nil, s.tooMany()
		}
		if err := s.count(actor.User, who, counted); err != nil {
			return nil, err
		}
		counted = true
		asked, err := s.invite(ctx, actor.User, &v.Group, who.ask)
		if err != nil {
			return nil, err
		}
		invited = append(invited, asked...)
		return joining(v, who.add), nil
	}, func() { counted = false })
	return added, invited, err
}

// Remove removes members of a lower role than the caller's and returns them.
// Users who are no members are skipped; one who may not be removed stops it. An
// error may come after a part was removed: removed tells which.
func (s *Service) Remove(ctx context.Context, actor im.Actor, c im.ConversationID, users []im.UserID) (removed []im.UserID, err error) {
	users, err = checkUsers(users)
	if err != nil {
		return nil, err
	}
	return s.changeUsers(ctx, actor, c, users, func(v *view, part []im.UserID) (*im.Event, error) {
		if err := im.Authorize(v.Role, im.GroupRemove, im.RoleNone); err != nil {
			return nil, err
		}
		var gone []im.UserID
		for _, u := range part {
			if v.roleOf(u) == im.RoleNone {
				continue
			}
			if err := im.Authorize(v.Role, im.GroupRemove, v.roleOf(u)); err != nil {
				return nil, err
			}
			gone = append(gone, u)
		}
		return &im.Event{Type: im.EventMemberRemoved, Users: gone}, nil
	}, func() {})
}

// changeUsers makes one change for every MaxPerEntry users and returns those it
// happened to. It decides at least once, so that the caller's power is checked
// for an empty list as well. next is called before each of them.
func (s *Service) changeUsers(ctx context.Context, actor im.Actor, c im.ConversationID, users []im.UserID, decide func(*view, []im.UserID) (*im.Event, error), next func()) (done []im.UserID, err error) {
	for first := true; first || len(users) > 0; first = false {
		part := users[:min(len(users), MaxPerEntry)]
		users = users[len(part):]
		var happened []im.UserID
		next()
		err := s.change(ctx, actor, c, part, func(v *view) (*im.Event, error) {
			happened = nil
			event, err := decide(v, part)
			if err != nil || len(event.Users) == 0 {
				return nil, err
			}
			happened = event.Users
			return event, nil
		})
		if err != nil {
			return done, err
		}
		done = append(done, happened...)
	}
	return done, nil
}

// Leave ends the caller's own membership. The owner hands the group over first.
func (s *Service) Leave(ctx context.Context, actor im.Actor, c im.ConversationID) error {
	return s.change(ctx, actor, c, nil, func(v *view) (*im.Event, error) {
		if err := im.Authorize(v.Role, im.GroupRead, im.RoleNone); err != nil {
			return nil, err
		}
		if v.Role == im.RoleOwner {
			return nil, im.Errorf(im.CodePermissionDenied, "the owner hands the group over, or dismisses it, before leaving")
		}
		return &im.Event{Type: im.EventMemberLeft, Users: []im.UserID{actor.User}}, nil
	})
}

// Dismiss ends a group: all members are out by one entry, and there is no way back.
// What was said stays theirs to read.
func (s *Service) Dismiss(ctx context.Context, actor im.Actor, c im.ConversationID) error {
	return s.change(ctx, actor, c, nil, func(v *view) (*im.Event, error) {
		if err := im.Authorize(v.Role, im.GroupDismiss, im.RoleNone); err != nil {
			return nil, err
		}
		// The promise names all, so that no position of theirs passes it before they are
		// out; the entry does not. If the roster is a later one than v's, the promise is
		// refused.
		users, err := s.Members(ctx, c)
		if err != nil {
			return nil, err
		}
		return &im.Event{Type: im.EventGroupDismissed, Users: users}, nil
	})
}

// SetRole makes a member an admin or an admin a member.
func (s *Service) SetRole(ctx context.Context, actor im.Actor, c im.ConversationID, user im.UserID, role im.Role) error {
	if role != im.RoleMember && role != im.RoleAdmin {
		return im.Wrong("role", "must be member or admin")
	}
	return s.changeOne(ctx, actor, c, user, im.GroupSetRole, func(_ *view, m Member) *im.Event {
		if m.Role == role {
			return nil
		}
		return &im.Event{Type: im.EventRoleChanged, Users: []im.UserID{user}, Role: role}
	})
}

// Transfer hands the group to another member; the caller becomes an admin.
func (s *Service) Transfer(ctx context.Context, actor im.Actor, c im.ConversationID, user im.UserID) error {
	return s.changeOne(ctx, actor, c, user, im.GroupTransfer, func(*view, Member) *im.Event {
		return &im.Event{Type: im.EventOwnerChanged, Users: []im.UserID{user}, Role: im.RoleOwner}
	})
}

// Mute keeps a member of a lower role from writing until a time; a time that is
// zero or over lets them write again.
func (s *Service) Mute(ctx context.Context, actor im.Actor, c im.ConversationID, user im.UserID, until time.Time) error {
	if until.IsZero() || !until.After(s.o.Now()) {
		until = time.Time{}
	} else {
		until = until.Truncate(time.Millisecond)
	}
	return s.changeOne(ctx, actor, c, user, im.GroupMute, func(_ *view, m Member) *im.Event {
		if m.MutedUntil.Equal(until) {
			return nil
		}
		return &im.Event{Type: im.EventMemberMuted, Users: []im.UserID{user}, Until: until}
	})
}

// changeOne makes a change to one member, if the caller's role may do it to
// theirs.
func (s *Service) changeOne(ctx context.Context, actor im.Actor, c im.ConversationID, user im.UserID, action im.GroupAction, decide func(*view, Member) *im.Event) error {
	if _, err := im.ParseUserID(string(user)); err != nil {
		return err
	}
	return s.change(ctx, actor, c, []im.UserID{user}, func(v *view) (*im.Event, error) {
		m := v.members[user]
		if err := im.Authorize(v.Role, action, m.Role); err != nil {
			return nil, err
		}
		if m.Role == im.RoleNone {
			return nil, im.Errorf(im.CodeNotFound, "this user is not a member")
		}
		return decide(v, m), nil
	})
}
