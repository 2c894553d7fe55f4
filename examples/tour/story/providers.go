package story

import (
	"strings"

	"github.com/skein-im/skein/wire"
)

// providers: by what people log in besides a password. The tour has no provider of its
// own, so it sees what a server says to codes that are none.
func providers(t *teller) {
	t.call(nil, "AccountService/ListLoginProviders", &wire.ListLoginProvidersRequest{}, new(wire.ListLoginProvidersResponse))
	verifier := strings.Repeat("v", 43)
	t.refused(nil, "AccountService/BeginProviderLogin", &wire.BeginProviderLoginRequest{Provider: "none-" + t.tag, Challenge: strings.Repeat("A", 43)}, wire.CodeNotFound)
	t.refused(nil, "AccountService/AnswerProviderLogin", &wire.AnswerProviderLoginRequest{State: "sks_none", Code: "x"}, wire.CodeNotFound)
	t.refused(nil, "AccountService/FinishProviderLogin", &wire.FinishProviderLoginRequest{Code: "skb_none", Verifier: verifier}, wire.CodeNotFound)
	t.refused(t.ann, "AccountService/LinkIdentity", &wire.LinkIdentityRequest{Code: "skb_none", Verifier: verifier, Password: password}, wire.CodeNotFound)
	var all wire.ListIdentitiesResponse
	t.call(t.ann, "AccountService/ListIdentities", &wire.ListIdentitiesRequest{}, &all)
	t.check(len(all.Identities) == 0, "Ann logs in by her password only", &all)
	// Whether this server takes guests the tour does not know; Ann is none.
	t.refused(nil, "AccountService/RegisterGuest", &wire.RegisterGuestRequest{}, wire.CodeInvalidArgument)
	t.refused(t.ann, "AccountService/UpgradeGuest", &wire.UpgradeGuestRequest{Username: "guest-" + t.tag, Password: password}, wire.CodePermissionDenied)
	t.refused(t.ann, "AccountService/UnlinkIdentity", &wire.UnlinkIdentityRequest{Id: "none", Password: password}, wire.CodeNotFound)
}

// renamed: Dora is called otherwise; the old name opens nothing, and is nobody else's.
func renamed(t *teller, boss *person, dora, dorasPassword string) {
	var login wire.LoginResponse
	t.call(nil, "AccountService/Login", &wire.LoginRequest{Username: "dora-" + t.tag, Password: dorasPassword, Device: &wire.Device{Id: "once"}}, &login)
	if t.err != nil {
		return
	}
	she := &person{id: dora, token: login.Tokens.GetAccessToken()}
	var changed wire.ChangeUsernameResponse
	t.call(she, "AccountService/ChangeUsername", &wire.ChangeUsernameRequest{Username: "dora2-" + t.tag, Password: dorasPassword}, &changed)
	t.check(changed.User.GetUsername() == "dora2-"+t.tag && changed.User.GetId() == dora, "Dora is called otherwise", &changed)
	t.refused(nil, "AccountService/Login", &wire.LoginRequest{Username: "dora-" + t.tag, Password: dorasPassword}, wire.CodeBadCredentials)
	t.refused(t.ann, "AccountService/ChangeUsername", &wire.ChangeUsernameRequest{Username: "dora-" + t.tag, Password: password}, wire.CodeAlreadyExists)
	var set wire.SetUsernameResponse
	t.call(boss, "AdminService/SetUsername", &wire.SetUsernameRequest{User: dora, Username: "dora-" + t.tag}, &set)
	t.check(set.User.GetUsername() == "dora-"+t.tag, "Dora has her name again", &set)
	t.call(she, "AccountService/Logout", &wire.LogoutRequest{}, new(wire.LogoutResponse))
}
