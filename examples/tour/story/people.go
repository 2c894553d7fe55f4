package story

import (
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

const password = "correct horse battery"

func (t *teller) register(name string, d *wire.Device) *person {
	var r wire.RegisterResponse
	t.call(nil, "AccountService/Register", &wire.RegisterRequest{Username: name + "-" + t.tag, Password: password, DisplayName: name, Device: d, StayLoggedIn: true}, &r)
	p := &person{id: r.Tokens.GetUser(), token: r.Tokens.GetAccessToken(), refresh: r.Tokens.GetRefreshToken()}
	t.name(p.id, name)
	return p
}

// accounts: three users, three devices.
func accounts(t *teller) {
	phone, laptop := wire.DeviceClass_DEVICE_CLASS_PHONE, wire.DeviceClass_DEVICE_CLASS_DESKTOP
	t.ann = t.register("ann", &wire.Device{Id: "anns-phone", Class: phone, Name: "Ann's phone"})
	t.bob = t.register("bob", &wire.Device{Id: "bobs-phone", Class: phone, Name: "Bob's phone"})
	t.carol = t.register("carol", &wire.Device{Id: "once"})
	t.refused(nil, "AccountService/Register", &wire.RegisterRequest{Username: "ann-" + t.tag, Password: password}, wire.CodeAlreadyExists)

	var login wire.LoginResponse
	t.refused(nil, "AccountService/Login", &wire.LoginRequest{Username: "ann-" + t.tag, Password: "not this one"}, wire.CodeBadCredentials)
	t.call(nil, "AccountService/Login", &wire.LoginRequest{
		Username: "ann-" + t.tag, Password: password, Device: &wire.Device{Id: "anns-laptop", Class: laptop, Name: "Ann's laptop"},
	}, &login)
	var fresh wire.RefreshResponse
	t.call(nil, "AccountService/Refresh", &wire.RefreshRequest{RefreshToken: t.bob.refresh}, &fresh)
	t.bob.token = fresh.Tokens.GetAccessToken()

	t.annPhone = t.connect("Ann's phone", "anns-phone", phone, t.ann.token)
	t.annLaptop = t.connect("Ann's laptop", "anns-laptop", laptop, login.Tokens.GetAccessToken())
	t.bobs = t.connect("Bob's phone", "bobs-phone", phone, t.bob.token)
	t.ann.device, t.bob.device = t.annPhone, t.bobs

	var sessions wire.ListSessionsResponse
	t.call(t.ann, "AccountService/ListSessions", &wire.ListSessionsRequest{}, &sessions)
	t.check(len(sessions.Sessions) == 2, "Ann has two sessions", sessions.Sessions)
}

// people: who they are.
func people(t *teller) {
	var me wire.GetMeResponse
	t.call(t.bob, "AccountService/GetMe", &wire.GetMeRequest{}, &me)
	t.check(me.User.GetId() == t.bob.id && me.Role == wire.ServerRole_SERVER_ROLE_UNSPECIFIED, "Bob is a user like any other", &me)
	var found wire.FindUserResponse
	t.call(t.ann, "UserService/FindUser", &wire.FindUserRequest{Username: "bob-" + t.tag}, &found)
	t.check(found.User.GetId() == t.bob.id && found.User.GetDisplayName() == "bob", "Bob is found", found.User)
	t.refused(t.ann, "UserService/FindUser", &wire.FindUserRequest{Username: "nobody-" + t.tag}, wire.CodeNotFound)

	var like wire.SearchUsersResponse
	t.call(t.ann, "UserService/SearchUsers", &wire.SearchUsersRequest{Prefix: "BOB-" + t.tag}, &like)
	t.check(len(like.Users) == 1 && like.Users[0].Id == t.bob.id, "Bob is found by the beginning of his name", like.Users)

	name := "Ann Meyer"
	var profile wire.UpdateProfileResponse
	t.call(t.ann, "UserService/UpdateProfile", &wire.UpdateProfileRequest{DisplayName: &name, DmPolicy: wire.DmPolicy_DM_POLICY_CONTACTS}, &profile)
	t.hears("profile changed", t.annPhone, t.annLaptop)
	var users wire.GetUsersResponse
	t.call(t.bob, "UserService/GetUsers", &wire.GetUsersRequest{Ids: []string{t.ann.id}}, &users)
	t.check(len(users.Users) == 1 && users.Users[0].DisplayName == name, "Bob sees Ann's new name", users.Users)
}

// contacts: Ann refuses Bob, who may not ask again for a while, and asks him; she blocks
// Carol.
func contacts(t *teller) {
	both := []*device{t.annPhone, t.annLaptop}
	t.dm = skein.DM(t.ann.id, t.bob.id)
	t.refused(t.bob, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.dm, Content: text("Hello?")}, wire.CodeNotContact)

	ask := &wire.RequestContactRequest{User: t.ann.id, Message: "It's me"}
	t.call(t.bob, "ContactService/RequestContact", ask, new(wire.RequestContactResponse))
	t.hears("contact requested bob", both...)
	t.call(t.ann, "ContactService/RefuseContact", &wire.RefuseContactRequest{User: t.bob.id}, new(wire.RefuseContactResponse))
	t.hears("contact refused bob", both...)
	t.refused(t.bob, "ContactService/RequestContact", ask, wire.CodeRateLimited)
	t.call(t.ann, "ContactService/RequestContact", &wire.RequestContactRequest{User: t.bob.id}, new(wire.RequestContactResponse))
	t.hears("contact requested bob", both...)
	t.call(t.bob, "ContactService/AcceptContact", &wire.AcceptContactRequest{User: t.ann.id}, new(wire.AcceptContactResponse))
	t.hears("contact accepted bob", both...)
	t.hears("contact accepted ann", t.bobs)

	t.call(t.ann, "ContactService/SetRemark", &wire.SetRemarkRequest{User: t.bob.id, Remark: "Bobby"}, new(wire.SetRemarkResponse))
	t.hears("contact remarked bob", both...)
	t.call(t.ann, "ContactService/SetTags", &wire.SetTagsRequest{User: t.bob.id, Tags: []string{"tea", "work"}}, new(wire.SetTagsResponse))
	t.hears("contact tagged bob", both...)
	t.call(t.ann, "ContactService/BlockUser", &wire.BlockUserRequest{User: t.carol.id}, new(wire.BlockUserResponse))
	t.hears("contact blocked carol", both...)
	t.call(t.ann, "ContactService/UnblockUser", &wire.UnblockUserRequest{User: t.carol.id}, new(wire.UnblockUserResponse))
	t.hears("contact unblocked carol", both...)

	var list wire.ListContactsResponse
	t.call(t.ann, "ContactService/ListContacts", &wire.ListContactsRequest{}, &list)
	t.check(len(list.Contacts) > 0 && list.Contacts[0].User.GetId() == t.bob.id && list.Contacts[0].Remark == "Bobby", "Bob is in Ann's list, as Bobby", list.Contacts)
	t.call(t.ann, "ContactService/ListContacts", &wire.ListContactsRequest{Since: list.Revision}, &list)
	t.check(len(list.Contacts) == 0, "nothing changed since", list.Contacts)
}

// profiles: Bob, who is Ann's contact now, shows himself; all her devices are told.
func profiles(t *teller) {
	about, picture := "Gone fishing", "https://example.org/bob.png"
	var profile wire.UpdateProfileResponse
	t.call(t.bob, "UserService/UpdateProfile", &wire.UpdateProfileRequest{About: &about, Picture: &picture, Extra: map[string]string{"team": "blue"}}, &profile)
	t.check(profile.User.GetAbout() == about && profile.User.GetDisplayName() == "bob", "Bob shows himself", profile.User)
	t.hears("profile changed", t.bobs)
	t.hears("contact profile changed bob", t.annPhone, t.annLaptop)
	var list wire.ListContactsResponse
	t.call(t.ann, "ContactService/ListContacts", &wire.ListContactsRequest{}, &list)
	t.check(len(list.Contacts) > 0 && list.Contacts[0].User.GetPicture() == picture && list.Contacts[0].User.GetExtra()["team"] == "blue", "Ann sees it", list.Contacts)
	hide := true
	t.call(t.bob, "UserService/UpdateProfile", &wire.UpdateProfileRequest{PresencePolicy: wire.PresencePolicy_PRESENCE_POLICY_EVERYONE, HideReads: &hide}, &profile)
	t.hears("profile changed", t.bobs)
	t.check(profile.HideReads && profile.PresencePolicy == wire.PresencePolicy_PRESENCE_POLICY_EVERYONE, "Bob hides how far he has read", &profile)
	show := false
	t.call(t.bob, "UserService/UpdateProfile", &wire.UpdateProfileRequest{HideReads: &show}, &profile)
	t.hears("profile changed", t.bobs)
	bad := "ftp://example.org/bob.png"
	t.refused(t.bob, "UserService/UpdateProfile", &wire.UpdateProfileRequest{Picture: &bad}, wire.CodeInvalidArgument)
}

// goodBye: sessions end.
func goodBye(t *teller) {
	t.call(t.bob, "ContactService/RemoveContact", &wire.RemoveContactRequest{User: t.ann.id}, new(wire.RemoveContactResponse))
	t.hears("contact removed bob", t.annPhone, t.annLaptop)

	var sessions wire.ListSessionsResponse
	t.call(t.ann, "AccountService/ListSessions", &wire.ListSessionsRequest{}, &sessions)
	for _, s := range sessions.Sessions {
		if s.GetDevice().GetId() == "anns-laptop" {
			t.call(t.ann, "AccountService/RevokeSession", &wire.RevokeSessionRequest{Session: s.Id}, new(wire.RevokeSessionResponse))
		}
	}
	t.hears("the connection ended: session_revoked", t.annLaptop)
	t.call(t.bob, "AccountService/ChangePassword", &wire.ChangePasswordRequest{OldPassword: password, NewPassword: "battery staple"}, new(wire.ChangePasswordResponse))
	t.refused(nil, "AccountService/Login", &wire.LoginRequest{Username: "bob-" + t.tag, Password: password}, wire.CodeBadCredentials)
	t.call(t.ann, "AccountService/Logout", &wire.LogoutRequest{}, new(wire.LogoutResponse))
	t.hears("the connection ended: session_revoked", t.annPhone)
}
