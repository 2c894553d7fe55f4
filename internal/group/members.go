package group

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// MaxNickname is the longest nickname in characters.
const MaxNickname = 64

// List returns a page of the members, of one role or, with RoleNone, of all: the
// owner, then admins, then the others, each as they joined. With a query those alone
// whose nickname, display name or username begins with it. next is the cursor of the
// next page, "" after the last; with a query a page may be short, or empty, before it.
// Who joins or leaves meanwhile moves nobody else; who gets another role may be in two
// pages, or in none.
func (s *Service) List(ctx context.Context, actor im.Actor, c im.ConversationID, role im.Role, query string, limit int, cursor string) (list []Member, next string, err error) {
	after, ok := parsePlace(cursor)
	if limit, err = im.PageSize(ok, limit, MaxPage, DefaultPage); err != nil {
		return nil, "", err
	}
	if role > im.RoleOwner {
		return nil, "", im.Wrong("role", "is not known")
	}
	if err := checkLine("query", query, MaxQuery); err != nil {
		return nil, "", err
	}
	if _, err := s.Get(ctx, actor, c); err != nil {
		return nil, "", err
	}
	list, looked, err := s.store.MembersPage(ctx, c, im.MemberQuery{Role: role, Prefix: query, After: after, Limit: limit + 1, Looks: maxLooks})
	if err != nil {
		return nil, "", fmt.Errorf("list members: %w", err)
	}
	switch {
	case len(list) > limit:
		list = list[:limit]
		next = formatPlace(list[limit-1].Place())
	case looked.Role != im.RoleNone:
		next = formatPlace(looked)
	}
	return list, next, nil
}

// CursorPattern is of cursors of List: a role, when its member joined (Unix
// milliseconds), and who it is.
const CursorPattern = `^([123]\.[0-9]{1,15}\.[A-Za-z0-9_-]{1,64})?$`

func formatPlace(p im.MemberPlace) string {
	return fmt.Sprintf("%d.%d.%s", p.Role, p.Joined.UnixMilli(), p.User)
}

func parsePlace(cursor string) (p im.MemberPlace, ok bool) {
	if cursor == "" {
		return p, true
	}
	role, rest, _ := strings.Cut(cursor, ".")
	joined, user, _ := strings.Cut(rest, ".")
	ms, err := strconv.ParseUint(joined, 10, 52)
	if len(role) != 1 || role < "1" || role > "3" || err != nil || len(joined) > 15 || !im.ValidID(user) {
		return p, false
	}
	return im.MemberPlace{Role: im.Role(role[0] - '0'), Joined: time.UnixMilli(int64(ms)), User: im.UserID(user)}, true
}

// Nickname sets what a member is called in the group, "": by their own name. Admins
// do it to members of a lower role, too. Who is muted does not, whatever their role, for it
// is told to all.
func (s *Service) Nickname(ctx context.Context, actor im.Actor, c im.ConversationID, user im.UserID, nickname string) error {
	if err := im.CheckName("nickname", nickname, 0, MaxNickname); err != nil {
		return err
	}
	if strings.TrimSpace(nickname) == "" { // space is none
		nickname = ""
	}
	if user == "" {
		user = actor.User
	}
	if user == actor.User {
		return s.change(ctx, actor, c, nil, func(v *view) (*im.Event, error) {
			if err := v.Settings.Authorize(v.Role, im.GroupNickname, im.RoleNone); err != nil {
				return nil, err
			}
			if err := v.Settings.Authorize(v.Role, im.GroupSend, im.RoleNone); err != nil { // a name is told to all
				return nil, err
			}
			if err := s.muted(v, user); err != nil {
				return nil, err
			}
			return s.named(ctx, c, user, nickname)
		})
	}
	if _, err := im.ParseUserID(string(user)); err != nil {
		return err
	}
	return s.change(ctx, actor, c, []im.UserID{user}, func(v *view) (*im.Event, error) {
		if err := im.Authorize(v.Role, im.GroupNicknameOthers, v.roleOf(user)); err != nil {
			return nil, err
		}
		if err := s.muted(v, actor.User); err != nil {
			return nil, err
		}
		if v.roleOf(user) == im.RoleNone {
			return nil, im.Errorf(im.CodeNotFound, "this user is not a member")
		}
		return s.named(ctx, c, user, nickname)
	})
}

// muted refuses what says something to all to a member who is muted.
func (s *Service) muted(v *view, by im.UserID) error {
	if v.members[by].MutedUntil.After(s.o.Now()) {
		return im.Errorf(im.CodeMuted, "you are muted here")
	}
	return nil
}

// named is the event by which a member is called so, nil if they are already. The
// roster in RAM has no nicknames: they decide nothing.
func (s *Service) named(ctx context.Context, c im.ConversationID, user im.UserID, nickname string) (*im.Event, error) {
	_, now, err := s.store.Group(ctx, c, []im.UserID{user})
	if err != nil {
		return nil, fmt.Errorf("read member: %w", err)
	}
	if len(now) > 0 && now[0].Nickname == nickname {
		return nil, nil
	}
	return &im.Event{Type: im.EventMemberNicknamed, Users: []im.UserID{user}, Text: nickname}, nil
}

func checkLine(field, text string, most int) error {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return im.Wrong(field, "must be text without control characters")
	case utf8.RuneCountInString(text) > most:
		return im.TooLarge(field, "may have at most %d characters", most)
	}
	return nil
}
