package account

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// Users returns those of the users that exist, in any order.
func (s *Service) Users(ctx context.Context, ids []im.UserID) ([]User, error) {
	return s.store.Users(ctx, ids)
}

// FindUser returns the user with exactly this username, in any case, or not_found,
// also if the viewer may not find them. An empty viewer finds everybody.
func (s *Service) FindUser(ctx context.Context, viewer im.UserID, username string) (User, error) {
	name, err := normalUsername(username)
	if err != nil {
		return User{}, im.Errorf(im.CodeNotFound, "no such user")
	}
	found, err := s.store.SearchUsers(ctx, im.UserSearch{Viewer: viewer, Username: name, Limit: 1})
	switch {
	case err != nil:
		return User{}, fmt.Errorf("find a user: %w", err)
	case len(found) == 0:
		return User{}, im.Errorf(im.CodeNotFound, "no such user")
	}
	return found[0].User, nil
}

// ListUsers returns a page of users with what administrators see of them, in the order of
// their ids. The query's Limit is at most 500, 0 means 100; next is the cursor of the next
// page, "" after the last.
func (s *Service) ListUsers(ctx context.Context, q im.AccountQuery) (users []im.AccountInfo, next string, err error) {
	if q.After != "" && !im.ValidID(string(q.After)) {
		return nil, "", im.Wrong("cursor", "is not one of this list")
	}
	if n := utf8.RuneCountInString(q.Query); n > MaxPrefix || !printable(q.Query) {
		return nil, "", im.Wrong("query", "must have at most %d characters and no control characters", MaxPrefix)
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	limit := min(q.Limit, 500)
	q.Limit, q.Now = limit+1, s.o.Now()
	users, err = s.store.ListUsers(ctx, q)
	if err != nil {
		return nil, "", err
	}
	if len(users) > limit {
		users = users[:limit]
		next = string(users[limit-1].ID)
	}
	return users, next, nil
}

// MaxAbout is how long what users say about themselves may be, in characters.
const MaxAbout = 200

// MaxDisplayName is the longest display name in characters.
const MaxDisplayName = 64

// UpdateProfile changes the actor's profile and policies; nil and 0 keep what is
// there. Who sees the profile is told by contact.Service.TellProfiles.
func (s *Service) UpdateProfile(ctx context.Context, actor im.Actor, change im.ProfileChange) (User, error) {
	if actor.User == "" {
		return User{}, noSession()
	}
	if change.Find > im.FindNobody {
		return User{}, im.Wrong("findPolicy", "is not known")
	}
	if change.DM > im.DMNobody {
		return User{}, im.Wrong("dmPolicy", "is not known")
	}
	if change.Presence > im.PresenceNobody {
		return User{}, im.Wrong("presencePolicy", "is not known")
	}
	if change.Groups > im.GroupsNobody {
		return User{}, im.Wrong("groupPolicy", "is not known")
	}
	if change.DisplayName != nil {
		name, err := normalDisplayName(*change.DisplayName)
		if err != nil {
			return User{}, err
		}
		if actor.Role == im.ServerUser {
			if err := s.mayCall("displayName", name); err != nil {
				return User{}, err
			}
		}
		change.DisplayName = &name
	}
	if err := cmp.Or(im.CheckPicture(change.Picture), im.CheckLines("about", change.About, MaxAbout), im.CheckExtraChange(change.Extra)); err != nil {
		return User{}, err
	}
	if s.o.Drive == nil {
		return s.store.UpdateUser(ctx, actor.User, change)
	}
	notice, err := s.profileNotice(actor.User, change.DisplayName)
	if err != nil {
		return User{}, err
	}
	u, err := s.store.UpdateUser(ctx, actor.User, change, notice)
	if err == nil {
		_ = s.o.Drive(ctx, im.Me(actor.User)) // the outbox counts the failure and repeats it
	}
	return u, err
}

// profileNotice tells the user's own devices, in their feed, to read the profile anew.
func (s *Service) profileNotice(user im.UserID, displayName *string) (im.Promise, error) {
	e := im.Event{Type: im.EventProfileChanged, Users: []im.UserID{user}}
	if displayName != nil {
		e.Text = *displayName
	}
	return s.notice(user, e)
}

// validNewUser checks what a new user chose and brings it into its normal form.
func validNewUser(username, displayName *string, password string) (err error) {
	if *username, err = normalUsername(*username); err != nil {
		return err
	}
	if *displayName == "" {
		*displayName = *username
	}
	if *displayName, err = normalDisplayName(*displayName); err != nil {
		return err
	}
	return validPassword("password", password)
}

// normalUsername is a username in lower case.
func normalUsername(s string) (string, error) {
	bad := len(s) < 3 || len(s) > 32
	lower := []byte(s)
	for i, c := range lower {
		switch {
		case c >= 'A' && c <= 'Z':
			lower[i] = c + 'a' - 'A'
		case (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-':
			bad = true
		}
	}
	if bad {
		return "", im.Wrong("username", "must match [a-z0-9_.-]{3,32}")
	}
	return string(lower), nil
}

// normalDisplayName is a display name without space around it.
func normalDisplayName(s string) (string, error) {
	s = strings.TrimSpace(s)
	return s, im.CheckName("displayName", s, 1, MaxDisplayName)
}

// printable reports whether s is UTF-8 on one line: no control characters, no
// separators of lines.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
}

func validPassword(field, s string) error {
	if n := utf8.RuneCountInString(s); n < 8 || n > 200 {
		return im.Wrong(field, "must have 8 to 200 characters")
	}
	return nil
}

// validOptionalDevice checks a device that may be absent altogether.
func validOptionalDevice(d *im.Device) error {
	if *d == (im.Device{}) {
		return nil
	}
	return validDevice(d)
}
