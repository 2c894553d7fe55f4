package group_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

var update = flag.Bool("update", false, "write docs/permissions.md anew")

const permissionsFile = "../../docs/permissions.md"

// who plays whom in the table, in the order of its columns.
var who = []struct {
	name  string
	actor im.Actor
}{
	{"owner", actor("owner")}, {"admin", actor("admin")}, {"member", actor("member")}, {"muted", actor("muted")},
	{"non-member", actor("stranger")}, {"blocked", actor("blocked")}, {"banned", actor("banned")}, {"integrator", im.Actor{Role: im.ServerOwner}},
}

// permission is a row: what is done, in a group whose settings are changed first.
type permission struct {
	name   string
	change *im.GroupChange
	do     func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error
}

// on makes a row of something that returns nothing but an error.
func on(name string, do func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error) permission {
	return permission{name: name, do: func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
		return do(ctx, w.Service, by, c)
	}}
}

var errPassedOver = errors.New("passed over")

func adding(u im.UserID) func(context.Context, *world, im.Actor, im.ConversationID) error {
	return func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
		added, _, err := w.Add(ctx, by, c, []im.UserID{u})
		if err == nil && len(added) == 0 {
			return errPassedOver
		}
		return err
	}
}

func sending(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
	if by.User == "" {
		return im.Errorf(im.CodePermissionDenied, "not a user") // as the methods say that need one
	}
	_, err := w.MaySend(ctx, by.User, c)
	return err
}

// doing is something that who may write may do besides, or not.
func doing(action im.GroupAction) func(context.Context, *world, im.Actor, im.ConversationID) error {
	return func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
		if err := sending(ctx, w, by, c); err != nil {
			return err
		}
		return w.May(ctx, by.User, c, action)
	}
}

func reacting(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
	if by.User == "" {
		return im.Errorf(im.CodePermissionDenied, "not a user")
	}
	rev, err := w.MayReact(ctx, by.User, c)
	now, known, errNow := w.MayReactNow(by.User, c)
	if !known || im.CodeOf(errNow) != im.CodeOf(err) || now != rev {
		return errors.New("RAM says something else")
	}
	return err
}

func pinning(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
	if by.User == "" {
		return im.Errorf(im.CodePermissionDenied, "not a user")
	}
	rev, err := w.MayPin(ctx, by.User, c)
	now, known, errNow := w.MayPinNow(by.User, c)
	if !known || im.CodeOf(errNow) != im.CodeOf(err) || now != rev {
		return errors.New("RAM says something else")
	}
	return err
}

func recalling(author im.UserID) func(context.Context, *group.Service, im.Actor, im.ConversationID) error {
	return func(ctx context.Context, s *group.Service, by im.Actor, c im.ConversationID) error {
		if by.User == "" {
			return im.Errorf(im.CodePermissionDenied, "not a user")
		}
		if author == "" {
			return s.MayRecall(ctx, by.User, c, by.User)
		}
		return s.MayRecall(ctx, by.User, c, author)
	}
}

// byLink does something with a new link of the group.
func byLink(do func(context.Context, *group.Service, im.Actor, string) error) func(context.Context, *world, im.Actor, im.ConversationID) error {
	return func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
		l, err := w.CreateLink(ctx, actor("owner"), c, time.Time{}, 0, false)
		w.ok(err)
		return do(ctx, w.Service, by, l.Code)
	}
}

// asking answers a new request to join.
func asking(do func(*group.Service, context.Context, im.Actor, im.ConversationID, im.UserID) error) func(context.Context, *world, im.Actor, im.ConversationID) error {
	return func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
		l, err := w.CreateLink(ctx, actor("owner"), c, time.Time{}, 0, false)
		w.ok(err)
		_, err = w.Request(ctx, actor("new"), l.Code, "")
		w.ok(err)
		return do(w.Service, ctx, by, c, "new")
	}
}

// joiningPermissions are those of links and requests.
func joiningPermissions() []permission {
	type service = *group.Service
	open, approval := &im.GroupChange{Join: im.JoinOpen}, &im.GroupChange{Join: im.JoinApproval}
	return []permission{
		{"look at an invite link", open, byLink(func(ctx context.Context, s service, by im.Actor, code string) error {
			_, err := s.Look(ctx, by, code)
			return err
		})},
		{"join by an invite link", open, byLink(func(ctx context.Context, s service, by im.Actor, code string) error {
			_, err := s.Join(ctx, by, code)
			return err
		})},
		{"join by an invite link, where admins let in (`join`)", approval, byLink(func(ctx context.Context, s service, by im.Actor, code string) error {
			_, err := s.Join(ctx, by, code)
			return err
		})},
		{"ask to join by an invite link, where admins let in", approval, byLink(func(ctx context.Context, s service, by im.Actor, code string) error {
			_, err := s.Request(ctx, by, code, "")
			return err
		})},
		{"make an invite link", open, func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
			_, err := w.CreateLink(ctx, by, c, time.Time{}, 0, false)
			return err
		}},
		{"make an invite link, where nobody joins by one", nil, func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
			_, err := w.CreateLink(ctx, by, c, time.Time{}, 0, false)
			return err
		}},
		on("see the invite links", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			_, _, err := s.ListLinks(ctx, by, c, 0, "")
			return err
		}),
		{"revoke an invite link", open, func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
			l, err := w.CreateLink(ctx, actor("owner"), c, time.Time{}, 0, false)
			w.ok(err)
			return w.RevokeLink(ctx, by, c, l.Code)
		}},
		on("see who asks to join", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			_, _, err := s.ListRequests(ctx, by, c, 0, "")
			return err
		}),
		{"let in who asks", approval, asking((*group.Service).Approve)},
		{"refuse who asks", approval, asking((*group.Service).RefuseRequest)},
	}
}

// nicknamePermissions are those of what members are called.
func nicknamePermissions() []permission {
	type service = *group.Service
	return []permission{
		on("say what one is called in the group", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.Nickname(ctx, by, c, "", "Tea")
		}),
		{"say what one is called in the group, while all are muted", &im.GroupChange{MutedAll: ptr(true)}, func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
			return w.Nickname(ctx, by, c, "", "Tea")
		}},
		{"say what one is called in the group, where admins alone may write", &im.GroupChange{Post: im.GroupPowerAdmins}, func(ctx context.Context, w *world, by im.Actor, c im.ConversationID) error {
			return w.Nickname(ctx, by, c, "", "Tea")
		}},
		on("say what a member is called", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.Nickname(ctx, by, c, "other", "Cake")
		}),
		on("say what an admin is called", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.Nickname(ctx, by, c, "admin2", "Cake")
		}),
	}
}

func permissions() []permission {
	type service = *group.Service
	remove := func(u im.UserID) func(context.Context, service, im.Actor, im.ConversationID) error {
		return func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			_, err := s.Remove(ctx, by, c, []im.UserID{u})
			return err
		}
	}
	return []permission{
		on("see the group and its members", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			_, err := s.Get(ctx, by, c)
			return err
		}),
		{"write", nil, sending},
		{"write, where admins alone may (`who_may_post`)", &im.GroupChange{Post: im.GroupPowerAdmins}, sending},
		{"write, while all are muted (`muted_all`)", &im.GroupChange{MutedAll: ptr(true)}, sending},
		{"mention all, or those who are there", nil, doing(im.GroupMentionAll)},
		{"mention all, where all members may (`who_may_mention_all`)", &im.GroupChange{MentionAll: im.GroupPowerAll}, doing(im.GroupMentionAll)},
		{"react to a message", nil, reacting},
		{"react to a message, where admins alone may write", &im.GroupChange{Post: im.GroupPowerAdmins}, reacting},
		{"react to a message, while all are muted", &im.GroupChange{MutedAll: ptr(true)}, reacting},
		{"pin a message", nil, pinning},
		{"pin a message, where all members may (`who_may_pin`)", &im.GroupChange{Pin: im.GroupPowerAll}, pinning},
		{"pin a message, where all members may, while all are muted", &im.GroupChange{Pin: im.GroupPowerAll, MutedAll: ptr(true)}, pinning},
		{"pin a message, where all members may, and admins alone may write", &im.GroupChange{Pin: im.GroupPowerAll, Post: im.GroupPowerAdmins}, pinning},
		on("take back one's own message", recalling("")),
		on("take back a member's message", recalling("other")),
		on("take back an admin's message", recalling("admin2")),
		{"add a user", nil, adding("new")},
		{"add a user, where all members may (`who_may_add`)", &im.GroupChange{Add: im.GroupPowerAll}, adding("new")},
		{"add a user who blocked the caller", nil, adding("blocks")},
		{"add a user who is banned", nil, adding("banned2")},
		on("accept an invitation", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			_, err := s.Accept(ctx, by, c)
			return err
		}),
		on("remove a member", remove("other")),
		on("remove an admin", remove("admin2")),
		on("remove the owner", remove("owner")),
		on("ban a member", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.Ban(ctx, by, c, "other", "", time.Time{})
		}),
		on("end a ban", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.Unban(ctx, by, c, "banned2")
		}),
		on("see who is banned", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			_, _, err := s.ListBans(ctx, by, c, 0, "")
			return err
		}),
		on("mute a member", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.Mute(ctx, by, c, "other", time.UnixMilli(1_800_000_000_000))
		}),
		on("rename the group", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			_, err := s.Rename(ctx, by, c, "another")
			return err
		}),
		on("change settings", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			_, err := s.Update(ctx, by, c, &im.GroupChange{Description: ptr("tea")})
			return err
		}),
		on("set after how long messages disappear", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.SetLifetime(ctx, by, c, time.Hour)
		}),
		on("make a member an admin", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.SetRole(ctx, by, c, "other", im.RoleAdmin)
		}),
		on("hand the group over", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.Transfer(ctx, by, c, "other")
		}),
		on("dismiss the group", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.Dismiss(ctx, by, c)
		}),
		on("leave", func(ctx context.Context, s service, by im.Actor, c im.ConversationID) error {
			return s.Leave(ctx, by, c)
		}),
	}
}

// TestPermissions: docs/permissions.md is what the calls say. Who is blocked is
// blocked by the owner; the one who is muted and the one who is banned are so for an
// hour; the invited are the non-member, and the banned one before they were.
func TestPermissions(t *testing.T) {
	w := newWorld(t, group.Options{}, "owner", "admin", "admin2", "member", "muted", "other", "stranger", "blocked", "banned", "banned2", "new", "blocks")
	w.block("owner", "blocked")
	for _, u := range []im.UserID{"owner", "admin", "member"} {
		w.block("blocks", u)
	}
	w.ask(im.GroupsNobody, "stranger", "banned")
	var b strings.Builder
	b.WriteString("# Who may do what in a group\n\nMade by calling the server's code for each cell (`go test ./internal/group -run TestPermissions -update`); a test fails while this page says something else.\n" +
		"✓: it is done. Otherwise the code of the refusal ([CODES.md](../proto/CODES.md)), or *passed over*: the call succeeds, and this user is not added.\n" +
		"Roles act on lesser roles only. *muted* is a member who may not write for a time; *non-member* is invited; *blocked* is a stranger whom the owner blocked; *banned* was invited and banned then. *integrator* is an administrator's key, which is no user: it makes groups (`AdminService.CreateGroupFor`) and acts in them by tokens of their members (`MintToken`).\n\n| |")
	for _, a := range who {
		b.WriteString(" " + a.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(who)) + "\n")
	for _, row := range slices.Concat(permissions(), nicknamePermissions(), joiningPermissions()) {
		b.WriteString("| " + row.name + " |")
		var c im.ConversationID
		var fresh uint64
		for _, a := range who {
			if c == "" || w.rev(c) != fresh {
				c, fresh = w.permissionsGroup(row.change)
			}
			b.WriteString(" " + outcomeOf(row.do(t.Context(), w, a.actor, c)) + " |")
			w.agrees(c)
		}
		b.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(permissionsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	had, err := os.ReadFile(permissionsFile)
	if err != nil || string(had) != b.String() {
		t.Errorf("docs/permissions.md is not what the calls say (%v); look at the difference, then run with -update:\n%s", err, b.String())
	}
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "✓"
	case errors.Is(err, errPassedOver):
		return "passed over"
	}
	return string(im.CodeOf(err))
}

// permissionsGroup is a group in which everybody has their part.
func (w *world) permissionsGroup(change *im.GroupChange) (im.ConversationID, uint64) {
	w.t.Helper()
	ctx := w.t.Context()
	c := w.create("owner", "admin", "admin2", "member", "muted", "other", "stranger")
	for _, u := range []im.UserID{"admin", "admin2"} {
		w.ok(w.SetRole(ctx, actor("owner"), c, u, im.RoleAdmin))
	}
	w.ok(w.Mute(ctx, actor("owner"), c, "muted", w.now.Add(time.Hour)))
	for _, u := range []im.UserID{"banned", "banned2"} {
		w.ok(w.Ban(ctx, actor("owner"), c, u, "", w.now.Add(time.Hour)))
	}
	if change != nil {
		w.update("owner", c, *change)
	}
	return c, w.rev(c)
}
