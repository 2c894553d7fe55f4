package api

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

var guestCells = []cell{
	{"AccountService/RegisterGuest", "", anyone, func(*scene) proto.Message { return &wire.RegisterGuestRequest{DisplayName: "Gus"} }},
	{"AccountService/UpgradeGuest", "", "NT PD PD PD PD PD PD PD PD PD", func(s *scene) proto.Message {
		return &wire.UpgradeGuestRequest{Username: "up-" + s.bob.username, Password: password}
	}},
	{"AccountService/UpgradeGuest", "by a provider", "NT PD PD PD PD PD PD PD PD PD", func(s *scene) proto.Message {
		return &wire.UpgradeGuestRequest{Code: s.came("sub-" + s.away("")[4:20]), Verifier: theVerifier}
	}},
}

// guestsMay are the methods that guests may call, besides those for which nobody needs a
// token. A method that is new is decided here: it is for guests, or it is not.
var guestsMay = []string{
	"AccountService/BeginExport", "AccountService/GetAnnouncements", "AccountService/GetMe", "AccountService/ListSessions", "AccountService/Logout", "AccountService/RevokeSession", "AccountService/UpgradeGuest",
	"ContactService/BlockUser", "ContactService/ListContacts", "ContactService/UnblockUser",
	"GroupService/AcceptInvitation", "GroupService/GetGroup", "GroupService/JoinByLink", "GroupService/LeaveGroup",
	"GroupService/ListInvitations", "GroupService/ListMembers", "GroupService/RefuseInvitation", "GroupService/RequestToJoin",
	"GroupService/SetNickname", "GroupService/WithdrawJoin",
	"MediaService/DeleteMedia", "MediaService/GetMedia", "MediaService/LinkMedia", "MediaService/ListStickers",
	"MessageService/CancelScheduled", "MessageService/ChangeScheduled", "MessageService/EditMessage", "MessageService/EndPoll",
	"MessageService/ForwardMessages", "MessageService/ListConversations", "MessageService/ListEdits", "MessageService/ListEntries",
	"MessageService/ListMentions", "MessageService/ListPins", "MessageService/ListReactions", "MessageService/ListReaders",
	"MessageService/ListScheduled", "MessageService/ListThread", "MessageService/ListThreads", "MessageService/ListVotes", "MessageService/MarkRead", "MessageService/PinMessage",
	"MessageService/ReactToMessage", "MessageService/RecallMessage", "MessageService/ReportMessage", "MessageService/ScheduleMessage", "MessageService/SearchMessages",
	"MessageService/SendMessage", "MessageService/SetLifetime", "MessageService/SetMyState", "MessageService/StreamMessage", "MessageService/VoteInPoll",
	"PushService/DeletePushSubscription", "PushService/GetPushKey", "PushService/GetPushSettings", "PushService/SetPushSettings", "PushService/SetPushSubscription",
	"UserService/GetUsers", "UserService/UpdateProfile",
}

func TestWhatGuestsMayCall(t *testing.T) {
	var may []string
	for _, m := range Methods() {
		if m.Guests && m.Who != Anyone {
			may = append(may, strings.TrimPrefix(m.Name, "skein.v1."))
		}
	}
	if slices.Sort(may); !slices.Equal(may, guestsMay) {
		t.Errorf("guests may call %q, want %q", may, guestsMay)
	}
}

// The authorisation matrix once more, as a guest who is a member of bob's group: what is for
// guests is answered as to a member, everything else is refused and changes nothing.
func TestGuestMatrix(t *testing.T) {
	w := newWorld(t)
	differ := map[string]im.Code{ // from what a member gets
		"AccountService/UpgradeGuest":                 "",
		"AccountService/UpgradeGuest by a provider":   "",
		"GroupService/JoinByLink":                     im.CodePermissionDenied, // its links let no guests in
		"GroupService/JoinByLink where admins let in": im.CodePermissionDenied,
		"GroupService/RequestToJoin":                  im.CodePermissionDenied,
		"GroupService/AcceptInvitation without one":   "",
		"AccountService/BeginExport a wrong password": "", // they have none
	}
	unseen := maps.Clone(differ)
	member := slices.Index(everybody, asMember)
	var s *scene
	for _, c := range matrix {
		name := strings.TrimSpace(c.method + " " + c.about)
		m := methodOf(t, c.method)
		want := outcomes[strings.Fields(c.want)[member]]
		if m.Who != Anyone && !slices.Contains(guestsMay, c.method) {
			want = im.CodePermissionDenied
		}
		if other, ok := differ[name]; ok {
			want = other
			delete(unseen, name)
		}
		if s == nil {
			s = w.scene(asGuest)
		}
		if preparesAsUser[c.method] { // what is prepared is for users alone
			continue
		}
		in := c.in(s)
		before := s.trace()
		called, _ := wire.LookupMethod("skein.v1." + c.method)
		if got := w.call(s.me.token, c.method, in, called.NewResponse()); got != want {
			t.Errorf("%s as a guest: %q, want %q", name, got, want)
		}
		if after := s.trace(); want != "" && after != before {
			t.Errorf("%s as a guest was denied, and changed something: %+v, then %+v", name, before, after)
		}
		if want == "" && m.Class != ClassRead {
			s = nil // it is not as it was
		}
	}
	if len(unseen) > 0 {
		t.Errorf("not in the matrix: %v", unseen)
	}
}

// preparesAsUser are methods whose cells do before what guests may not either: BeginTotp.
var preparesAsUser = map[string]bool{
	"AccountService/ConfirmTotp": true, "AccountService/DisableTotp": true, "AccountService/NewRecoveryCodes": true, "AccountService/DeleteAccount": true,
	"AccountService/LinkIdentity": true, "AccountService/UnlinkIdentity": true,
}

func methodOf(t *testing.T, name string) Method {
	t.Helper()
	for _, m := range Methods() {
		if m.Name == "skein.v1."+name {
			return m
		}
	}
	t.Fatalf("no method %s", name)
	return Method{}
}

func (w *world) guest(name string) person {
	w.t.Helper()
	var r wire.RegisterGuestResponse
	w.must("", "AccountService/RegisterGuest", &wire.RegisterGuestRequest{DisplayName: name, Device: &wire.Device{Id: "d1"}}, &r)
	return person{username: name}.withTokens(r.GetTokens())
}

// A guest comes by a link that lets guests in, is shown as one, writes, and is the same user
// when they have chosen a name.
func TestGuestComesByALink(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	var g wire.CreateGroupResponse
	w.must(ann.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "Guests welcome", Members: []string{bob.id}}, &g)
	group := g.GetGroup().GetConversation()
	w.must(ann.token, "GroupService/UpdateGroup", &wire.UpdateGroupRequest{Conversation: group, Join: wire.JoinMode_JOIN_MODE_OPEN}, nil)
	gus, again := w.guest("Gus"), &wire.JoinByLinkRequest{}
	for _, guests := range []bool{false, true} {
		var l wire.CreateInviteLinkResponse
		w.must(ann.token, "GroupService/CreateInviteLink", &wire.CreateInviteLinkRequest{Conversation: group, MaxUses: 1, Guests: guests}, &l)
		if l.GetLink().GetGuests() != guests {
			t.Errorf("the link is %v", l.GetLink())
		}
		again.Code = l.GetLink().GetCode()
		want := im.CodePermissionDenied
		if guests {
			want = ""
		}
		if got := w.call(gus.token, "GroupService/JoinByLink", again, nil); got != want {
			t.Errorf("joined by a link with guests %v: %q, want %q", guests, got, want)
		}
	}
	w.must(gus.token, "GroupService/JoinByLink", again, nil) // used up, but they are in

	var send wire.SendMessageResponse
	w.must(gus.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: group, Content: text("hello")}, &send)
	var users wire.GetUsersResponse
	w.must(bob.token, "UserService/GetUsers", &wire.GetUsersRequest{Ids: []string{gus.id}}, &users)
	if u := users.GetUsers(); len(u) != 1 || !u[0].GetGuest() || u[0].GetUsername() != "" {
		t.Errorf("others see %v", u)
	}
	if got := w.call(gus.token, "UserService/FindUser", &wire.FindUserRequest{Username: bob.username}, nil); got != im.CodePermissionDenied {
		t.Errorf("a guest looks for somebody: %q", got)
	}
	// As an admin they could have what all say disappear, and as the owner nobody could lead the group.
	admin := &wire.SetRoleRequest{Conversation: group, User: gus.id, Role: wire.Role_ROLE_ADMIN}
	if got := w.call(ann.token, "GroupService/SetRole", admin, nil); got != im.CodePermissionDenied {
		t.Errorf("a guest is made an admin: %q", got)
	}
	if got := w.call(ann.token, "GroupService/TransferOwnership", &wire.TransferOwnershipRequest{Conversation: group, User: gus.id}, nil); got != im.CodePermissionDenied {
		t.Errorf("a guest is made the owner: %q", got)
	}
	w.must(gus.token, "AccountService/UpgradeGuest", &wire.UpgradeGuestRequest{Username: "gus", Password: password}, nil)
	w.must(ann.token, "GroupService/SetRole", admin, nil)
	w.must(gus.token, "UserService/FindUser", &wire.FindUserRequest{Username: bob.username}, nil)
	w.must(gus.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: group, Content: text("I stay")}, &send)
	w.must(bob.token, "UserService/FindUser", &wire.FindUserRequest{Username: "gus"}, nil)
}

// A guest becomes a user by a provider: the same one, in the group where they were, and the
// one who comes by the provider from then on.
func TestGuestBecomesAUserByAProvider(t *testing.T) {
	w := newWorld(t)
	ann, gus := w.person("ann"), w.guest("Gus")
	var g wire.CreateGroupResponse
	w.must(ann.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "g", Members: []string{gus.id}}, &g)
	var up wire.UpgradeGuestResponse
	in := &wire.UpgradeGuestRequest{Code: w.came("gus.hill"), Verifier: theVerifier}
	w.must(gus.token, "AccountService/UpgradeGuest", in, &up)
	if u := up.GetUser(); u.GetId() != gus.id || u.GetUsername() != "gus.hill" || u.GetDisplayName() != "Gus" || u.GetGuest() {
		t.Errorf("the user is %v", u)
	}
	w.must(gus.token, "AccountService/UpgradeGuest", in, nil) // the answer was lost
	w.must(ann.token, "GroupService/SetRole", &wire.SetRoleRequest{Conversation: g.GetGroup().GetConversation(), User: gus.id, Role: wire.Role_ROLE_ADMIN}, nil)
	var login wire.FinishProviderLoginResponse
	w.must("", "AccountService/FinishProviderLogin", &wire.FinishProviderLoginRequest{Code: w.came("gus.hill"), Verifier: theVerifier}, &login)
	if login.GetCreated() || login.GetTokens().GetUser() != gus.id {
		t.Errorf("logged in: %v", &login)
	}
	w.must(login.GetTokens().GetAccessToken(), "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: g.GetGroup().GetConversation(), Content: text("I stay")}, nil)
}

// A guest writes to whom everybody may write to, as long as both are in a group; and they to
// the guest.
func TestDMsOfGuests(t *testing.T) {
	w := newWorld(t)
	ann, bob, cem, eve, gus := w.person("ann"), w.person("bob"), w.person("cem"), w.person("eve"), w.guest("Gus")
	open := &wire.UpdateProfileRequest{DmPolicy: wire.DmPolicy_DM_POLICY_EVERYONE}
	for _, p := range []person{ann, cem, eve, gus} {
		w.must(p.token, "UserService/UpdateProfile", open, nil)
	}
	var g wire.CreateGroupResponse
	w.must(ann.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "g", Members: []string{bob.id, cem.id, gus.id}}, &g)
	writes := func(from, to person, want im.Code) {
		t.Helper()
		if got := w.call(from.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: dm(from, to), Content: text("psst")}, nil); got != want {
			t.Errorf("%s to %s: %q, want %q", from.username, to.username, got, want)
		}
	}
	writes(gus, ann, "")
	writes(ann, gus, "")
	writes(gus, bob, im.CodeNotContact)
	writes(gus, eve, im.CodeNotContact)
	writes(eve, gus, im.CodeNotContact)
	w.must(gus.token, "GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: g.GetGroup().GetConversation()}, nil)
	writes(gus, cem, im.CodeNotContact)
	w.must(gus.token, "AccountService/UpgradeGuest", &wire.UpgradeGuestRequest{Username: "gus", Password: password}, nil)
	writes(gus, cem, "")
	writes(eve, gus, "")
}

func TestUpgradeRepeatedWithAKey(t *testing.T) {
	w := newWorld(t)
	gus := w.guest("Gus")
	up := &wire.UpgradeGuestRequest{Username: "gus", Password: password}
	first := w.keyedCall(gus.token, "AccountService/UpgradeGuest", "0123456789abcdef", up)
	again := w.keyedCall(gus.token, "AccountService/UpgradeGuest", "0123456789abcdef", up)
	if first.Code != 200 || again.Code != 200 || first.Body.String() != again.Body.String() {
		t.Errorf("first %s, then %s", first.Body, again.Body)
	}
}
