package story

import (
	"errors"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// security: Ann's account needs a code of her authenticator app, until it does not.
func security(t *teller) {
	both := []*device{t.annPhone, t.annLaptop}
	var is wire.GetSecurityResponse
	t.call(t.ann, "AccountService/GetSecurity", &wire.GetSecurityRequest{}, &is)
	t.check(is.Password && !is.Totp, "Ann has a password and no app", &is)

	var begun wire.BeginTotpResponse
	t.refused(t.ann, "AccountService/BeginTotp", &wire.BeginTotpRequest{Password: "not this one"}, wire.CodeBadCredentials)
	t.call(t.ann, "AccountService/BeginTotp", &wire.BeginTotpRequest{Password: password}, &begun)
	code, err := skein.TOTPCode(begun.Secret, time.Now())
	t.check(err == nil, "the secret is base32", err)
	var codes wire.ConfirmTotpResponse
	t.call(t.ann, "AccountService/ConfirmTotp", &wire.ConfirmTotpRequest{Code: code}, &codes)
	t.hears("security changed: totp_on", both...)
	t.check(len(codes.RecoveryCodes) == 10, "Ann has recovery codes", len(codes.RecoveryCodes))
	if t.err != nil {
		return
	}

	var asked *skein.Error
	err = t.try(nil, "AccountService/Login", &wire.LoginRequest{Username: "ann-" + t.tag, Password: password}, new(wire.LoginResponse))
	t.check(errors.As(err, &asked) && asked.Code == wire.CodeTotpRequired && asked.Ticket != "", "a login is asked for a code", err)
	if t.err != nil {
		return
	}
	t.refused(nil, "AccountService/LoginWithCode", &wire.LoginWithCodeRequest{Ticket: asked.Ticket, Code: "aaaa-aaaa-aaaa-aaaa"}, wire.CodeBadCredentials)
	var login wire.LoginWithCodeResponse
	t.call(nil, "AccountService/LoginWithCode", &wire.LoginWithCodeRequest{Ticket: asked.Ticket, Code: codes.RecoveryCodes[0], Device: &wire.Device{Id: "once"}}, &login)
	t.hears("security changed: recovery_code_used", both...)
	t.refused(nil, "AccountService/LoginWithCode", &wire.LoginWithCodeRequest{Ticket: asked.Ticket, Code: codes.RecoveryCodes[1]}, wire.CodeNotFound)
	if t.err != nil {
		return
	}
	third := &person{id: t.ann.id, token: login.Tokens.GetAccessToken()}
	t.call(third, "AccountService/Logout", &wire.LogoutRequest{}, new(wire.LogoutResponse))

	var fresh wire.NewRecoveryCodesResponse
	t.call(t.ann, "AccountService/NewRecoveryCodes", &wire.NewRecoveryCodesRequest{Password: password, Code: codes.RecoveryCodes[1]}, &fresh)
	t.hears("security changed: recovery_codes", both...)
	if t.err != nil {
		return
	}
	t.refused(t.ann, "AccountService/DisableTotp", &wire.DisableTotpRequest{Password: password, Code: codes.RecoveryCodes[2]}, wire.CodeBadCredentials)
	t.call(t.ann, "AccountService/DisableTotp", &wire.DisableTotpRequest{Password: password, Code: fresh.RecoveryCodes[0]}, new(wire.DisableTotpResponse))
	t.hears("security changed: totp_off", both...)
}

// invitations: an administrator's links: to register, and to set a new password.
func invitations(t *teller, boss *person, dora string) {
	var made wire.CreateRegistrationLinkResponse
	t.call(boss, "AdminService/CreateRegistrationLink", &wire.CreateRegistrationLinkRequest{Note: "the tour " + t.tag, MaxUses: 1}, &made)
	var links wire.ListRegistrationLinksResponse
	t.call(boss, "AdminService/ListRegistrationLinks", &wire.ListRegistrationLinksRequest{}, &links)
	found := false
	for _, l := range links.Links {
		found = found || l.Id == made.Link.GetId() && l.Code == ""
	}
	t.check(found, "the link is in the list, without its code", links.Links)
	revoke := &wire.RevokeRegistrationLinkRequest{Id: made.Link.GetId()}
	t.call(boss, "AdminService/RevokeRegistrationLink", revoke, new(wire.RevokeRegistrationLinkResponse))
	t.refused(boss, "AdminService/RevokeRegistrationLink", revoke, wire.CodeNotFound)

	var link wire.CreateResetLinkResponse
	t.call(boss, "AdminService/CreateResetLink", &wire.CreateResetLinkRequest{User: dora}, &link)
	reset := &wire.ResetPasswordRequest{Code: link.Code, NewPassword: "another " + password}
	t.call(nil, "AccountService/ResetPassword", reset, new(wire.ResetPasswordResponse))
	t.refused(nil, "AccountService/ResetPassword", reset, wire.CodeNotFound)
	t.refused(nil, "AccountService/Login", &wire.LoginRequest{Username: "dora-" + t.tag, Password: password}, wire.CodeBadCredentials)
	renamed(t, boss, dora, "another "+password)
	deleted(t, boss, dora)
}

// deleted: Dora deletes her account, and an administrator has what she wrote erased.
func deleted(t *teller, boss *person, dora string) {
	var login wire.LoginResponse
	t.call(nil, "AccountService/Login", &wire.LoginRequest{Username: "dora-" + t.tag, Password: "another " + password, Device: &wire.Device{Id: "once"}}, &login)
	if t.err != nil {
		return
	}
	self := &person{id: dora, token: login.Tokens.GetAccessToken()}
	exported(t, boss, self)
	t.refused(self, "AccountService/DeleteAccount", &wire.DeleteAccountRequest{Password: password}, wire.CodeBadCredentials)
	t.call(self, "AccountService/DeleteAccount", &wire.DeleteAccountRequest{Password: "another " + password}, new(wire.DeleteAccountResponse))
	t.hears("owner changed by dora bob", t.bobs)
	t.hears("member left by dora dora", t.bobs)
	t.refused(self, "AccountService/ListSessions", &wire.ListSessionsRequest{}, wire.CodeAccountDeleted)
	var users wire.GetUsersResponse
	t.call(t.bob, "UserService/GetUsers", &wire.GetUsersRequest{Ids: []string{dora}}, &users)
	t.check(len(users.Users) == 1 && users.Users[0].Deleted && users.Users[0].Username == "", "Dora is deleted", users.Users)
	var erased wire.EraseUserResponse
	t.call(boss, "AdminService/EraseUser", &wire.EraseUserRequest{User: dora, Messages: true}, &erased)
	t.check(erased.Messages && erased.BegunAtMs > 0, "what Dora wrote is to be erased", &erased)
}

// exported: Dora may have everything of hers, and an administrator everything of hers.
func exported(t *teller, boss, self *person) {
	t.refused(self, "AccountService/BeginExport", &wire.BeginExportRequest{Password: password}, wire.CodeBadCredentials)
	var own wire.BeginExportResponse
	t.call(self, "AccountService/BeginExport", &wire.BeginExportRequest{Password: "another " + password}, &own)
	var theirs wire.ExportUserResponse
	t.call(boss, "AdminService/ExportUser", &wire.ExportUserRequest{User: self.id}, &theirs)
	t.check(own.Path != "" && theirs.Path != "" && own.Path != theirs.Path && own.UntilMs > 0, "two paths", &own)
}
