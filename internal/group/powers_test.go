package group_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// Who is in the group of TestPowers, and who is not.
const (
	owner, admin, admin2 = im.UserID("owner"), im.UserID("admin"), im.UserID("admin2")
	member, member2      = im.UserID("member"), im.UserID("member2")
	former, stranger     = im.UserID("former"), im.UserID("stranger")
)

// call is an action of somebody on a group.
type call func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error

// power is a row of the matrix: what an action gives the owner, an admin, a
// member, a former member, a stranger. `+` is done, `P` permission_denied, `N`
// not_found.
type power struct {
	name string
	want string
	do   call
}

// groupPowers are the actions on the group and on its list of members.
func groupPowers() []power {
	remove := func(u im.UserID) call {
		return func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			_, err := s.Remove(ctx, by, c, []im.UserID{u})
			return err
		}
	}
	return []power{
		{"get", "+++NN", func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			_, err := s.Get(ctx, by, c)
			return err
		}},
		{"list", "+++NN", func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			_, _, err := s.List(ctx, by, c, im.RoleNone, "", 0, "")
			return err
		}},
		{"send", "+++NN", func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			_, err := s.MaySend(ctx, by.User, c)
			return err
		}},
		{"rename", "++PNN", func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			_, err := s.Rename(ctx, by, c, "other")
			return err
		}},
		{"add", "++PNN", func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			_, _, err := s.Add(ctx, by, c, []im.UserID{"newcomer"})
			return err
		}},
		{"add nobody", "++PNN", func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			_, _, err := s.Add(ctx, by, c, nil)
			return err
		}},
		{"remove a member", "++PNN", remove(member2)},
		{"remove an admin", "+PPNN", remove(admin2)},
		{"remove the owner", "PPPNN", remove(owner)},
		{"remove a stranger", "++PNN", remove("newcomer")},
		{"leave", "P++NN", func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			return s.Leave(ctx, by, c)
		}},
	}
}

// memberPowers are the actions on one member or on a message.
func memberPowers() []power {
	role := func(u im.UserID, r im.Role) call {
		return func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			return s.SetRole(ctx, by, c, u, r)
		}
	}
	transfer := func(u im.UserID) call {
		return func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			return s.Transfer(ctx, by, c, u)
		}
	}
	mute := func(u im.UserID) call {
		return func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			return s.Mute(ctx, by, c, u, time.UnixMilli(1_800_000_000_000))
		}
	}
	recall := func(author im.UserID) call {
		return func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			return s.MayRecall(ctx, by.User, c, author)
		}
	}
	return []power{
		{"make a member admin", "+PPNN", role(member2, im.RoleAdmin)},
		{"make an admin member", "+PPNN", role(admin2, im.RoleMember)},
		{"make the owner member", "PPPNN", role(owner, im.RoleMember)},
		{"make a stranger admin", "NPPNN", role("newcomer", im.RoleAdmin)},
		{"transfer to a member", "+PPNN", transfer(member2)},
		{"transfer to an admin", "+PPNN", transfer(admin2)},
		{"transfer to the owner", "PPPNN", transfer(owner)},
		{"transfer to a former member", "NPPNN", transfer(former)},
		{"mute a member", "++PNN", mute(member2)},
		{"mute an admin", "+PPNN", mute(admin2)},
		{"mute the owner", "PPPNN", mute(owner)},
		{"mute a stranger", "NNPNN", mute("newcomer")},
		{"recall a member's", "++PNN", recall(member2)},
		{"recall an admin's", "+PPNN", recall(admin2)},
		{"recall the owner's", "+PPNN", recall(owner)},
		{"recall a former member's", "++PNN", func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			if by.User == former {
				return s.MayRecall(ctx, by.User, c, member2)
			}
			return s.MayRecall(ctx, by.User, c, former)
		}},
		{"recall one's own", "+++NN", func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
			return s.MayRecall(ctx, by.User, c, by.User)
		}},
	}
}

// TestPowers is the matrix of every action by everyone. What is denied changes
// nothing.
func TestPowers(t *testing.T) {
	actors := []im.UserID{owner, admin, member, former, stranger}
	w := newWorld(t, group.Options{}, owner, admin, admin2, member, member2, former, stranger, "newcomer")
	for _, row := range append(groupPowers(), memberPowers()...) {
		var c im.ConversationID
		for i, by := range actors {
			t.Run(fmt.Sprintf("%s/%s", row.name, by), func(t *testing.T) {
				w := *w
				w.t = t
				const fresh = 4 // the revision of a group that is as it should be
				if c == "" || w.rev(c) != fresh {
					c = w.create(owner, admin, admin2, member, member2, former)
					w.ok(w.SetRole(t.Context(), actor(owner), c, admin, im.RoleAdmin))
					w.ok(w.SetRole(t.Context(), actor(owner), c, admin2, im.RoleAdmin))
					_, err := w.Remove(t.Context(), actor(admin), c, []im.UserID{former})
					w.ok(err)
				}
				err := row.do(t.Context(), w.Service, actor(by), c)
				want := map[byte]im.Code{'+': "", 'P': im.CodePermissionDenied, 'N': im.CodeNotFound}[row.want[i]]
				w.wantCode(err, want)
				if want != "" && w.rev(c) != fresh {
					t.Fatal("it was denied, and done")
				}
				w.agrees(c)
			})
		}
	}
}

// Somebody without a user, such as the admin key, has no group.
func TestNobodyActs(t *testing.T) {
	w := newWorld(t, group.Options{}, "o")
	c := w.create("o")
	nobody := im.Actor{Role: im.ServerOwner}
	_, err := w.Create(t.Context(), nobody, "x", nil, "")
	w.wantCode(err, im.CodePermissionDenied)
	_, err = w.Get(t.Context(), nobody, c)
	w.wantCode(err, im.CodePermissionDenied)
	w.wantCode(w.Leave(t.Context(), nobody, c), im.CodePermissionDenied)
	_, err = w.MaySend(t.Context(), "", c)
	w.wantCode(err, im.CodeNotFound)
}
