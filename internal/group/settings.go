package group

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

// Limits of settings.
const (
	// MaxPicture is the longest picture in bytes.
	MaxPicture = im.MaxPicture
	// MaxDescription and MaxAnnouncement are in characters.
	MaxDescription  = 500
	MaxAnnouncement = 2000
	// MaxExtraKeys is how many fields of its own the deployment may keep with a group,
	// MaxExtraBytes how long keys and values may be together.
	MaxExtraKeys  = im.MaxExtraKeys
	MaxExtraBytes = 4096
	// MaxSlowMode is in seconds.
	MaxSlowMode = 86_400
)

// Update changes settings of a group. What is not another value by it makes no
// entry.
func (s *Service) Update(ctx context.Context, actor im.Actor, c im.ConversationID, change *im.GroupChange) (Group, error) {
	if err := checkChange(change); err != nil {
		return Group{}, err
	}
	err := s.change(ctx, actor, c, nil, func(v *view) (*im.Event, error) {
		if err := im.Authorize(v.Role, im.GroupChangeSettings, im.RoleNone); err != nil {
			return nil, err
		}
		part := change.Of(&v.Settings)
		if part == nil {
			return nil, nil
		}
		if err := im.CheckExtra(v.Settings.With(part).Extra, MaxExtraBytes); err != nil {
			return nil, err
		}
		return &im.Event{Type: im.EventGroupChanged, Group: part}, nil
	})
	if err != nil {
		return Group{}, err
	}
	return s.Get(ctx, actor, c)
}

// joining is the entry by which users become members.
func joining(v *view, users []im.UserID) *im.Event {
	e := &im.Event{Type: im.EventMemberAdded, Users: users, Role: im.RoleMember}
	if v.Settings.History == im.HistoryAll {
		e.Group = &im.GroupChange{History: im.HistoryAll}
	}
	return e
}

// checkChange accepts a change from outside.
func checkChange(c *im.GroupChange) error {
	switch {
	case c.Add > im.GroupPowerAdmins:
		return im.Wrong("whoMayAdd", "is not known")
	case c.Post > im.GroupPowerAdmins:
		return im.Wrong("whoMayPost", "is not known")
	case c.MentionAll > im.GroupPowerAdmins:
		return im.Wrong("whoMayMentionAll", "is not known")
	case c.Pin > im.GroupPowerAdmins:
		return im.Wrong("whoMayPin", "is not known")
	case c.Join > im.JoinInvitation:
		return im.Wrong("join", "is not known")
	case c.History > im.HistoryAll:
		return im.Wrong("history", "is not known")
	case c.SlowMode != nil && *c.SlowMode > MaxSlowMode:
		return im.Wrong("slowModeS", "must be at most %d", MaxSlowMode)
	}
	if err := im.CheckPicture(c.Picture); err != nil {
		return err
	}
	if err := im.CheckExtraChange(c.Extra); err != nil {
		return err
	}
	if err := im.CheckLines("description", c.Description, MaxDescription); err != nil {
		return err
	}
	return im.CheckLines("announcement", c.Announcement, MaxAnnouncement)
}
