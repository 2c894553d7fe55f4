package group

import (
	"context"
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// An invite link lets whoever has its code join a group whose settings say so
// (im.JoinOpen), or ask to (im.JoinApproval); with im.JoinInvitation it does nothing.
// It is the group's: it holds until it is over, used up or revoked, whatever becomes
// of who made it.

const (
	// MaxLinks is how many open links a group may have.
	MaxLinks = 100
	// MaxLinkUses is the greatest bound of the uses of a link.
	MaxLinkUses = 1_000_000
	// LinkPattern is of the codes: 130 bits, 128 of them random.
	LinkPattern = "^[a-z2-7]{26}$"
)

// Doors keeps the invite links and who asks to be a member.
type Doors interface {
	// CreateLink keeps a link, unless its group has most already (too_large).
	CreateLink(ctx context.Context, l im.InviteLink, most int) error
	// Link returns a link with its group, whether it holds or not, false if there is
	// none.
	Link(ctx context.Context, code string) (im.InviteLink, bool, error)
	// LinksPage returns at most limit links that are not over by code, after one.
	LinksPage(ctx context.Context, c im.ConversationID, now time.Time, after string, limit int) ([]im.InviteLink, error)
	// RemoveLink removes one; false: there was none.
	RemoveLink(ctx context.Context, c im.ConversationID, code string) (bool, error)
	// PromiseJoin is Store.PromiseRoster of an entry that adds one user, and uses up
	// what lets them in, in one transaction; not_found if that does not hold any more.
	PromiseJoin(ctx context.Context, p im.Promise, by im.JoinBy, now time.Time) (bool, error)
	// RequestJoin keeps a request with its notices and counts a use of the link, in one
	// transaction; false: they asked already. too_large beyond the bounds.
	RequestJoin(ctx context.Context, r im.JoinRequest, code string, ofGroup, ofUser int, notices []im.Promise) (bool, error)
	// RequestsPage returns at most limit open requests by user id, after one.
	RequestsPage(ctx context.Context, c im.ConversationID, now time.Time, after im.UserID, limit int) ([]im.JoinRequest, error)
	// EndRequest removes an open request with its notices; not_found if there is none.
	EndRequest(ctx context.Context, c im.ConversationID, user im.UserID, now time.Time, notices []im.Promise) error
}

// InviteLink is a link of a group.
type InviteLink = im.InviteLink

var linkCode = regexp.MustCompile(LinkPattern)

var errNoLink = im.Errorf(im.CodeNotFound, "no such invite link, or it does not hold any more")

func checkCode(code string) error {
	if !linkCode.MatchString(code) {
		return im.Wrong("code", "must match [a-z2-7]{26}")
	}
	return nil
}

// CreateLink makes an invite link, until a time (zero: for ever) and for so many uses
// (0: any number); guests may come by it as well.
func (s *Service) CreateLink(ctx context.Context, actor im.Actor, c im.ConversationID, until time.Time, uses int, guests bool) (InviteLink, error) {
	if !until.IsZero() {
		if until = until.Truncate(time.Millisecond); !until.After(s.o.Now()) {
			return InviteLink{}, im.Wrong("expiresAtMs", "must be in the future, or 0")
		}
	}
	if uses < 0 || uses > MaxLinkUses {
		return InviteLink{}, im.Wrong("maxUses", "must be at most %d", MaxLinkUses)
	}
	v, err := s.view(ctx, actor, c, nil)
	if err != nil {
		return InviteLink{}, err
	}
	if err := im.Authorize(v.Role, im.GroupInviteLinks, im.RoleNone); err != nil {
		return InviteLink{}, err
	}
	if v.Settings.Join == im.JoinInvitation {
		return InviteLink{}, im.Errorf(im.CodePermissionDenied, "nobody joins this group by a link: change its setting `join` first")
	}
	var random [16]byte
	s.o.Random(random[:])
	l := InviteLink{
		Code:         strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random[:])),
		Conversation: c, Creator: actor.User, Created: s.o.Now().Truncate(time.Millisecond), Expires: until, MaxUses: uses, Guests: guests, Group: v.Group,
	}
	if err := s.doors.CreateLink(ctx, l, MaxLinks); err != nil {
		return InviteLink{}, fmt.Errorf("create an invite link: %w", err)
	}
	return l, nil
}

// ListLinks returns a page of a group's links to an admin, by code, and the cursor of
// the next one, "" after the last.
func (s *Service) ListLinks(ctx context.Context, actor im.Actor, c im.ConversationID, limit int, cursor string) (list []InviteLink, next string, err error) {
	if limit, err = im.PageSize(cursor == "" || linkCode.MatchString(cursor), limit, MaxLinks, MaxLinks); err != nil {
		return nil, "", err
	}
	if err := s.mayManage(ctx, actor, c, im.GroupInviteLinks); err != nil {
		return nil, "", err
	}
	list, err = s.doors.LinksPage(ctx, c, s.o.Now(), cursor, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("list invite links: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Code
	}
	return list, next, nil
}

// RevokeLink ends a link: nobody joins or asks by it from then on.
func (s *Service) RevokeLink(ctx context.Context, actor im.Actor, c im.ConversationID, code string) error {
	if err := checkCode(code); err != nil {
		return err
	}
	if err := s.mayManage(ctx, actor, c, im.GroupInviteLinks); err != nil {
		return err
	}
	done, err := s.doors.RemoveLink(ctx, c, code)
	if err != nil {
		return fmt.Errorf("revoke an invite link: %w", err)
	}
	if !done {
		return errNoLink
	}
	return nil
}

// mayManage decides whether the actor's role may do something to a group.
func (s *Service) mayManage(ctx context.Context, actor im.Actor, c im.ConversationID, action im.GroupAction) error {
	v, err := s.view(ctx, actor, c, nil)
	if err != nil {
		return err
	}
	return im.Authorize(v.Role, action, im.RoleNone)
}

// Look returns the link of a code to whoever has it, if it holds; of its group only
// what Group of it has. Who is banned is told so. Who has not said who they are (the zero
// Actor) is told it as well: a newcomer sees whom they would join.
func (s *Service) Look(ctx context.Context, actor im.Actor, code string) (InviteLink, error) {
	stranger := actor.User == "" && actor.Role == im.ServerUser
	if !stranger {
		if err := checkActor(actor); err != nil {
			return InviteLink{}, err
		}
	}
	l, err := s.linkOf(ctx, code)
	if err != nil {
		return l, err
	}
	if !s.holds(&l) {
		return InviteLink{}, errNoLink
	}
	if stranger {
		return l, nil
	}
	return l, s.checkBanned(ctx, l.Conversation, actor.User)
}

func (s *Service) link(ctx context.Context, actor im.Actor, code string) (InviteLink, error) {
	if err := checkActor(actor); err != nil {
		return InviteLink{}, err
	}
	return s.linkOf(ctx, code)
}

func (s *Service) linkOf(ctx context.Context, code string) (InviteLink, error) {
	if err := checkCode(code); err != nil {
		return InviteLink{}, err
	}
	l, found, err := s.doors.Link(ctx, code)
	if err != nil {
		return InviteLink{}, fmt.Errorf("read an invite link: %w", err)
	}
	if !found {
		return InviteLink{}, errNoLink
	}
	return l, nil
}

// LetsGuests tells whether guests may come by a link, whether it holds or not.
func (s *Service) LetsGuests(ctx context.Context, actor im.Actor, code string) (bool, error) {
	l, err := s.link(ctx, actor, code)
	return l.Guests, err
}

func (s *Service) holds(l *InviteLink) bool {
	return l.Holds(s.o.Now()) && l.Group.Settings.Join != im.JoinInvitation
}

func (s *Service) checkBanned(ctx context.Context, c im.ConversationID, user im.UserID) error {
	free, err := s.welcome(ctx, c, []im.UserID{user})
	if err == nil && len(free) == 0 {
		return im.Errorf(im.CodePermissionDenied, "banned from this group")
	}
	return err
}

// Join makes the caller a member by a link, if the group is open to who has one. A
// member stays one, and uses nothing up.
func (s *Service) Join(ctx context.Context, actor im.Actor, code string) (Group, error) {
	l, err := s.link(ctx, actor, code)
	if err != nil {
		return Group{}, err
	}
	c := l.Conversation
	holds := s.holds(&l)
	if holds {
		if err := s.mayJoinOneMore(ctx, actor.User); err != nil {
			if g, getErr := s.Get(ctx, actor, c); getErr == nil {
				return g, nil
			}
			return Group{}, err
		}
	}
	err = s.change(ctx, actor, c, nil, func(v *view) (*im.Event, error) {
		switch {
		case v.Role != im.RoleNone:
			return nil, nil
		case !holds || v.Members == 0 || v.Settings.Join == im.JoinInvitation:
			return nil, errNoLink
		}
		if err := s.checkBanned(ctx, c, actor.User); err != nil {
			return nil, err
		}
		switch {
		case v.Settings.Join == im.JoinApproval:
			return nil, im.Errorf(im.CodePermissionDenied, "an admin lets in who asks: RequestToJoin")
		case v.Members >= s.limits.Load().MaxMembers:
			return nil, s.tooMany()
		}
		v.by.Link = code
		return joining(v, []im.UserID{actor.User}), nil
	})
	if err != nil {
		return Group{}, err
	}
	return s.Get(ctx, actor, c)
}
