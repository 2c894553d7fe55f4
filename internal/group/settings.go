package group

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// Limits of settings.
const (
	// MaxPicture is the longest picture in bytes.
	MaxPicture = 500
	// MaxDescription and MaxAnnouncement are in characters.
	MaxDescription  = 500
	MaxAnnouncement = 2000
	// MaxExtraKeys is how many fields of its own the deployment may keep with a group,
	// MaxExtraBytes how long keys and values may be together.
	MaxExtraKeys  = 16
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
		if err := checkExtra(v.Settings.With(part).Extra); err != nil {
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
	case c.Picture != nil && !validPicture(*c.Picture):
		return im.Wrong("picture", "must be an https address of at most %d bytes, or an id [A-Za-z0-9_-]{1,64}", MaxPicture)
	case c.Add > im.GroupPowerAdmins:
		return im.Wrong("whoMayAdd", "is not known")
	case c.Post > im.GroupPowerAdmins:
		return im.Wrong("whoMayPost", "is not known")
	case c.MentionAll > im.GroupPowerAdmins:
		return im.Wrong("whoMayMentionAll", "is not known")
	case c.Join > im.JoinInvitation:
		return im.Wrong("join", "is not known")
	case c.History > im.HistoryAll:
		return im.Wrong("history", "is not known")
	case c.SlowMode != nil && *c.SlowMode > MaxSlowMode:
		return im.Wrong("slowModeS", "must be at most %d", MaxSlowMode)
	}
	for key, value := range c.Extra {
		if !im.ValidKey(key) {
			return im.Wrong("extra", "must have keys that match [a-z0-9._-]{1,64}")
		}
		if !utf8.ValidString(value) {
			return im.Wrong("extra", "must have values that are UTF-8")
		}
	}
	if err := checkLines("description", c.Description, MaxDescription); err != nil {
		return err
	}
	return checkLines("announcement", c.Announcement, MaxAnnouncement)
}

// checkExtra holds what a group would keep to its bounds.
func checkExtra(extra map[string]string) error {
	n := 0
	for key, value := range extra {
		n += len(key) + len(value)
	}
	switch {
	case len(extra) > MaxExtraKeys:
		return im.TooLarge("extra", "would have %d keys; at most %d are allowed", len(extra), MaxExtraKeys)
	case n > MaxExtraBytes:
		return im.TooLarge("extra", "would have %d bytes of keys and values; at most %d are allowed", n, MaxExtraBytes)
	}
	return nil
}

// checkLines accepts text of several lines.
func checkLines(field string, text *string, most int) error {
	if text == nil {
		return nil
	}
	if !utf8.ValidString(*text) || strings.ContainsFunc(*text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return im.Wrong(field, "must be text without control characters but tab and line feed")
	}
	if n := utf8.RuneCountInString(*text); n > most {
		return im.TooLarge(field, "has %d characters; at most %d are allowed", n, most)
	}
	return nil
}

// PicturePattern is of pictures: nothing, the id of an upload, or an https address as
// RFC 3986 writes it: in ASCII, without a user.
const PicturePattern = `^(https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?([/?#]([!-$&-~]|%[0-9A-Fa-f]{2})*)?|[A-Za-z0-9_-]{0,64})$`

var picture = regexp.MustCompile(PicturePattern)

func validPicture(s string) bool { return len(s) <= MaxPicture && picture.MatchString(s) }
