package api

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// roleCells are the rows of the matrix about roles, and about who may not come in.
var roleCells = []cell{
	{"AccountService/GetMe", "", known, func(*scene) proto.Message { return &wire.GetMeRequest{} }},
	{"AdminService/ListUsers", "who are banned", admins, func(*scene) proto.Message {
		return &wire.ListUsersRequest{Query: "b", State: wire.AccountState_ACCOUNT_STATE_BANNED, WithRole: true}
	}},
	{"AdminService/BanUser", "", admins, func(s *scene) proto.Message {
		return &wire.BanUserRequest{User: s.bob.id, UntilMs: inAnHour(), Reason: "spam"}
	}},
	{"AdminService/BanUser", "nobody", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message { return &wire.BanUserRequest{User: "nobody-there"} }},
	{"AdminService/UnbanUser", "", admins, func(s *scene) proto.Message { return &wire.UnbanUserRequest{User: s.bob.id} }},
	{"AdminService/UnbanUser", "nobody", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message { return &wire.UnbanUserRequest{User: "nobody-there"} }},
	{"AdminService/SetDisabled", "", admins, func(s *scene) proto.Message { return &wire.SetDisabledRequest{User: s.bob.id, Disabled: true} }},
	{"AdminService/SetDisabled", "nobody", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message { return &wire.SetDisabledRequest{User: "nobody-there"} }},
	{"AdminService/SetServerRole", "", admins, func(s *scene) proto.Message {
		return &wire.SetServerRoleRequest{User: s.bob.id, Role: wire.ServerRole_SERVER_ROLE_AUDITOR}
	}},
	{"AdminService/ListAuditLog", "", admins, func(*scene) proto.Message { return &wire.ListAuditLogRequest{Limit: 3} }},
	{"AdminService/SetServerRole", "nobody", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message {
		return &wire.SetServerRoleRequest{User: "nobody-there", Role: wire.ServerRole_SERVER_ROLE_ADMIN}
	}},
}

// leastRole says, by hand, which roles may call what administrators may: a for auditors, m
// for moderators, A for admins, O for owners.
var leastRole = map[string]string{
	"ListUsers": "amAO", "ListUserSessions": "amAO", "GetRetention": "amAO", "ListRegistrationLinks": "amAO",
	"KickUser": "mAO", "BanUser": "mAO", "UnbanUser": "mAO",
	"MintToken": "AO", "CreateUser": "AO", "EraseUser": "AO", "ExportUser": "AO", "CreateGroupFor": "AO", "SetRetention": "AO", "SetStickerPack": "AO", "SetCustomEmoji": "AO",
	"CreateRegistrationLink": "AO", "RevokeRegistrationLink": "AO", "CreateResetLink": "AO", "SetUsername": "AO", "SetDisabled": "AO",
	"SetServerRole": "O", "ListAuditLog": "aAO",
	"ListGroups": "amAO", "InspectGroup": "amAO", "SetGroupOwner": "mAO", "CloseGroup": "mAO",
	"ListReports": "mAO", "GetReport": "mAO", "DecideReport": "mAO", "TakeBackMessage": "mAO", "SetServerSettings": "AO",
	"GetHealth": "amAO", "ListFilterRules": "amAO", "TestFilter": "amAO", "Announce": "AO", "WithdrawAnnouncement": "AO", "AddFilterRule": "AO", "RemoveFilterRule": "AO",
}

var roleLetters = map[im.ServerRole]string{im.ServerAuditor: "a", im.ServerModerator: "m", im.ServerAdmin: "A", im.ServerOwner: "O"}

// TestRoleMatrix: the authorisation matrix once more, as users with each role who have
// nothing to do with bob. What is for administrators is answered as to one if the role may,
// and otherwise refused and changes nothing; in all else they are strangers.
func TestRoleMatrix(t *testing.T) {
	w := newWorld(t)
	stranger, owner := column(asStranger), column(asRoot)
	cells := 0
	for role, letter := range roleLetters {
		var s *scene
		for _, c := range matrix {
			name := strings.TrimSpace(c.method + " " + c.about)
			m := methodOf(t, c.method)
			method, administrators := strings.CutPrefix(c.method, "AdminService/")
			administrators = administrators && m.Who != Anyone
			want := outcomes[strings.Fields(c.want)[stranger]]
			if may, known := leastRole[method]; administrators && !known {
				t.Fatalf("%s: say who may", name)
			} else if administrators && strings.Contains(may, letter) {
				want = outcomes[strings.Fields(c.want)[owner]]
			}
			if s == nil {
				s = w.scene(asStranger)
				w.must(adminKey, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: s.me.id, Role: wire.ServerRole(role)}, nil)
			}
			in := c.in(s)
			before := s.trace()
			called, _ := wire.LookupMethod("skein.v1." + c.method)
			if got := w.call(s.me.token, c.method, in, called.NewResponse()); got != want {
				t.Errorf("%s as %s: %q, want %q", name, role, got, want)
			}
			if after := s.trace(); want != "" && after != before {
				t.Errorf("%s as %s was denied, and changed something: %+v, then %+v", name, role, before, after)
			}
			if want == "" && m.Class != ClassRead {
				s = nil // it is not as it was
			}
			cells++
		}
	}
	t.Logf("%d cells", cells)
}

func column(who string) int {
	for i, w := range everybody {
		if w == who {
			return i
		}
	}
	panic(who)
}

// TestRolesActOnLesserRoles: nobody does anything to the account of somebody whose role is
// no lesser one, but owners; each method × each role × the role of whom it is done to.
func TestRolesActOnLesserRoles(t *testing.T) {
	w := newWorld(t)
	roles := []im.ServerRole{im.ServerUser, im.ServerAuditor, im.ServerModerator, im.ServerAdmin, im.ServerOwner}
	about := map[string]func(user string) proto.Message{
		"MintToken":       func(u string) proto.Message { return &wire.MintTokenRequest{User: u} },
		"KickUser":        func(u string) proto.Message { return &wire.KickUserRequest{User: u} },
		"BanUser":         func(u string) proto.Message { return &wire.BanUserRequest{User: u} },
		"UnbanUser":       func(u string) proto.Message { return &wire.UnbanUserRequest{User: u} },
		"SetDisabled":     func(u string) proto.Message { return &wire.SetDisabledRequest{User: u, Disabled: true} },
		"EraseUser":       func(u string) proto.Message { return &wire.EraseUserRequest{User: u} },
		"ExportUser":      func(u string) proto.Message { return &wire.ExportUserRequest{User: u} },
		"CreateResetLink": func(u string) proto.Message { return &wire.CreateResetLinkRequest{User: u} },
		"SetUsername": func(u string) proto.Message {
			return &wire.SetUsernameRequest{User: u, Username: "n-" + strings.ToLower(u)}
		},
		"SetServerRole": func(u string) proto.Message { return &wire.SetServerRoleRequest{User: u} },
	}
	with := func(what string, role im.ServerRole) person {
		p := w.person(what)
		w.must(adminKey, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: p.id, Role: wire.ServerRole(role)}, nil)
		return p
	}
	actors := map[im.ServerRole]person{}
	for _, r := range roles[1:] {
		actors[r] = with("by"+r.String(), r)
	}
	for method, request := range about {
		for _, by := range roles[1:] {
			for _, of := range roles {
				target := with("of"+of.String(), of)
				want := im.Code("")
				if !strings.Contains(leastRole[method], roleLetters[by]) || of >= by && by != im.ServerOwner {
					want = im.CodePermissionDenied
				}
				if got := w.call(actors[by].token, "AdminService/"+method, request(target.id), nil); got != want {
					t.Errorf("%s by %s to %s: %q, want %q", method, by, of, got, want)
				}
			}
		}
	}
}

// A role counts from the moment it is given until it is taken, also for who is connected.
func TestRoleOfAConnection(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	old := im.Actor{User: im.UserID(ann.id), Session: im.SessionID(ann.session), Connection: "c1"}
	list := func(as im.Actor) im.Code {
		_, err := w.calls.Call(t.Context(), as, im.Call{Method: "skein.v1.AdminService/ListUsers"})
		return im.CodeOf(err)
	}
	if code := list(old); code != im.CodePermissionDenied {
		t.Errorf("without a role: %q", code)
	}
	w.must(adminKey, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: ann.id, Role: wire.ServerRole_SERVER_ROLE_AUDITOR}, nil)
	if code := list(old); code != "" {
		t.Errorf("with a role that was given since: %q", code)
	}
	w.must(adminKey, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: ann.id}, nil)
	old.Role = im.ServerAuditor // as a connection of before has it
	if code := list(old); code != im.CodePermissionDenied {
		t.Errorf("with a role that was taken since: %q", code)
	}
}

// TestGetMe: everybody is told who they are, and what they may do; the key as well.
func TestGetMe(t *testing.T) {
	w := newWorld(t)
	w.calls.Version = "v9"
	ann, root := w.person("ann"), w.login(w.root)
	var me wire.GetMeResponse
	w.must(ann.token, "AccountService/GetMe", &wire.GetMeRequest{}, &me)
	if me.User.GetId() != ann.id || me.Session != ann.session || me.Role != 0 || me.ServerVersion != "v9" || me.DmPolicy != wire.DmPolicy_DM_POLICY_CONTACTS {
		t.Errorf("ann: %v", &me)
	}
	w.must(root.token, "AccountService/GetMe", &wire.GetMeRequest{}, &me)
	if me.Role != wire.ServerRole_SERVER_ROLE_OWNER {
		t.Errorf("root: %v", &me)
	}
	w.must(adminKey, "AccountService/GetMe", &wire.GetMeRequest{}, &me)
	if me.User != nil || me.Role != wire.ServerRole_SERVER_ROLE_OWNER {
		t.Errorf("the key: %v", &me)
	}
}

// TestListAccounts: what a console needs of users, in pages that a moderator may read.
func TestListAccounts(t *testing.T) {
	w := newWorld(t)
	ann, bob, mo := w.person("ann"), w.person("bob"), w.person("mo")
	w.must(adminKey, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: mo.id, Role: wire.ServerRole_SERVER_ROLE_MODERATOR}, nil)
	until := time.Now().Add(time.Hour).UnixMilli()
	w.must(mo.token, "AdminService/BanUser", &wire.BanUserRequest{User: bob.id, UntilMs: until, Reason: "spam"}, nil)
	var page wire.ListUsersResponse
	w.must(mo.token, "AdminService/ListUsers", &wire.ListUsersRequest{Query: bob.username}, &page)
	if len(page.Accounts) != 1 || len(page.Users) != 1 {
		t.Fatalf("bob: %v", &page)
	}
	if a := page.Accounts[0]; a.User.GetId() != bob.id || a.State != wire.AccountState_ACCOUNT_STATE_BANNED || a.BannedUntilMs != until || a.BanReason != "spam" || a.Sessions != 0 || a.CreatedAtMs == 0 || !a.Password {
		t.Errorf("bob: %v", a)
	}
	w.must(mo.token, "AdminService/ListUsers", &wire.ListUsersRequest{Query: ann.username}, &page)
	if a := page.Accounts[0]; a.State != wire.AccountState_ACCOUNT_STATE_ACTIVE || a.Sessions != 1 || a.LastSeenAtMs == 0 {
		t.Errorf("ann: %v", a)
	}
	w.must(mo.token, "AdminService/ListUsers", &wire.ListUsersRequest{WithRole: true}, &page)
	if len(page.Accounts) != 2 {
		t.Errorf("with a role: %v", page.Accounts)
	}
}
