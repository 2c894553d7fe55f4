package api

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// maxCodeBytes is of a code that somebody types: with spaces or hyphens in it.
const maxCodeBytes = 64

func (c *Calls) securityRows() []row {
	return []row{
		newRow("AccountService/LoginWithCode", Anyone, ClassCredential, small, c.loginWithCode),
		newRow("AccountService/ResetPassword", Anyone, ClassCredential, small, c.resetPassword),
		newRow("AccountService/DeleteAccount", User, ClassCredential, small, c.deleteAccount),
		newRow("AdminService/EraseUser", Admins, ClassAdmin, small, c.eraseUser),
		newRow("AccountService/GetSecurity", User, ClassRead, small, c.getSecurity),
		newRow("AccountService/BeginTotp", User, ClassCredential, small, c.beginTotp),
		newRow("AccountService/ConfirmTotp", User, ClassCredential, small, c.confirmTotp),
		newRow("AccountService/DisableTotp", User, ClassCredential, small, c.disableTotp),
		newRow("AccountService/NewRecoveryCodes", User, ClassCredential, small, c.newRecoveryCodes),
		newRow("AdminService/CreateRegistrationLink", Admins, ClassAdmin, small, c.createRegistrationLink),
		newRow("AdminService/ListRegistrationLinks", Staff, ClassAdmin, small, c.listRegistrationLinks),
		newRow("AdminService/RevokeRegistrationLink", Admins, ClassAdmin, small, c.revokeRegistrationLink),
		newRow("AdminService/CreateResetLink", Admins, ClassAdmin, small, c.createResetLink),
	}
}

func (c *Calls) loginWithCode(ctx context.Context, actor im.Actor, r *wire.LoginWithCodeRequest) (*wire.LoginWithCodeResponse, error) {
	device, err := contract.ParseDevice(r.GetDevice())
	if err := first(opaque("ticket", r.GetTicket(), maxTokenBytes), opaque("code", r.GetCode(), maxCodeBytes), err); err != nil {
		return nil, err
	}
	t, err := c.Accounts.LoginWithCode(ctx, actor.Address, account.CodeLogin{Ticket: r.GetTicket(), Code: r.GetCode(), Device: device, StayLoggedIn: r.GetStayLoggedIn()})
	if err != nil {
		return nil, err
	}
	return &wire.LoginWithCodeResponse{Tokens: wireTokens(t)}, nil
}

func (c *Calls) resetPassword(ctx context.Context, actor im.Actor, r *wire.ResetPasswordRequest) (*wire.ResetPasswordResponse, error) {
	if err := first(opaque("code", r.GetCode(), maxTokenBytes), knownPassword("newPassword", r.GetNewPassword())); err != nil {
		return nil, err
	}
	if err := c.Accounts.ResetPassword(ctx, actor.Address, r.GetCode(), r.GetNewPassword()); err != nil {
		return nil, err
	}
	return &wire.ResetPasswordResponse{}, nil
}

func (c *Calls) getSecurity(ctx context.Context, actor im.Actor, _ *wire.GetSecurityRequest) (*wire.GetSecurityResponse, error) {
	s, err := c.Accounts.Security(ctx, actor)
	if err != nil {
		return nil, err
	}
	return &wire.GetSecurityResponse{Password: s.Password, Totp: s.TOTP, RecoveryCodesLeft: uint32(s.Recovery)}, nil
}

func (c *Calls) beginTotp(ctx context.Context, actor im.Actor, r *wire.BeginTotpRequest) (*wire.BeginTotpResponse, error) {
	if err := knownPassword("password", r.GetPassword()); err != nil {
		return nil, err
	}
	secret, uri, err := c.Accounts.BeginTOTP(ctx, actor, r.GetPassword())
	if err != nil {
		return nil, err
	}
	return &wire.BeginTotpResponse{Secret: secret, Uri: uri}, nil
}

func (c *Calls) confirmTotp(ctx context.Context, actor im.Actor, r *wire.ConfirmTotpRequest) (*wire.ConfirmTotpResponse, error) {
	if err := opaque("code", r.GetCode(), maxCodeBytes); err != nil {
		return nil, err
	}
	codes, err := c.Accounts.ConfirmTOTP(ctx, actor, r.GetCode())
	if err != nil {
		return nil, err
	}
	return &wire.ConfirmTotpResponse{RecoveryCodes: codes}, nil
}

func (c *Calls) disableTotp(ctx context.Context, actor im.Actor, r *wire.DisableTotpRequest) (*wire.DisableTotpResponse, error) {
	if err := first(knownPassword("password", r.GetPassword()), opaque("code", r.GetCode(), maxCodeBytes)); err != nil {
		return nil, err
	}
	if err := c.Accounts.DisableTOTP(ctx, actor, r.GetPassword(), r.GetCode()); err != nil {
		return nil, err
	}
	return &wire.DisableTotpResponse{}, nil
}

func (c *Calls) newRecoveryCodes(ctx context.Context, actor im.Actor, r *wire.NewRecoveryCodesRequest) (*wire.NewRecoveryCodesResponse, error) {
	if err := first(knownPassword("password", r.GetPassword()), opaque("code", r.GetCode(), maxCodeBytes)); err != nil {
		return nil, err
	}
	codes, err := c.Accounts.NewRecoveryCodes(ctx, actor, r.GetPassword(), r.GetCode())
	if err != nil {
		return nil, err
	}
	return &wire.NewRecoveryCodesResponse{RecoveryCodes: codes}, nil
}

func (c *Calls) createRegistrationLink(ctx context.Context, _ im.Actor, r *wire.CreateRegistrationLinkRequest) (*wire.CreateRegistrationLinkResponse, error) {
	life, err := linkLife(r.GetLifetimeMs(), account.MaxInvitationLife)
	if err := first(contract.CheckText("note", r.GetNote(), 0, account.MaxInvitationNote), err); err != nil {
		return nil, err
	}
	if r.GetMaxUses() > account.MaxInvitationUses {
		return nil, im.Wrong("maxUses", "must be at most %d", account.MaxInvitationUses)
	}
	l, code, err := c.Accounts.CreateRegistrationLink(ctx, r.GetNote(), int(r.GetMaxUses()), life)
	if err != nil {
		return nil, err
	}
	link := wireRegistrationLink(&l)
	link.Code = code
	return &wire.CreateRegistrationLinkResponse{Link: link}, nil
}

// linkLife is how long a link is to hold; 0: as long as links do.
func linkLife(ms int64, most time.Duration) (time.Duration, error) {
	if ms < 0 || ms > most.Milliseconds() {
		return 0, im.Wrong("lifetimeMs", "must be between 0 and %d", most.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond, nil
}

func wireRegistrationLink(l *im.RegistrationLink) *wire.RegistrationLink {
	return &wire.RegistrationLink{
		Id: l.ID, Note: l.Note, Uses: uint32(l.Uses), MaxUses: uint32(l.MaxUses), CreatedAtMs: contract.Millis(l.Created), ExpiresAtMs: contract.Millis(l.Expires),
	}
}

func (c *Calls) listRegistrationLinks(ctx context.Context, _ im.Actor, _ *wire.ListRegistrationLinksRequest) (*wire.ListRegistrationLinksResponse, error) {
	links, err := c.Accounts.RegistrationLinks(ctx)
	if err != nil {
		return nil, err
	}
	out := &wire.ListRegistrationLinksResponse{}
	for i := range links {
		out.Links = append(out.Links, wireRegistrationLink(&links[i]))
	}
	return out, nil
}

func (c *Calls) revokeRegistrationLink(ctx context.Context, _ im.Actor, r *wire.RevokeRegistrationLinkRequest) (*wire.RevokeRegistrationLinkResponse, error) {
	if !im.ValidID(r.GetId()) {
		return nil, im.Wrong("id", "must be that of a registration link")
	}
	if err := c.Accounts.RevokeRegistrationLink(ctx, r.GetId()); err != nil {
		return nil, err
	}
	return &wire.RevokeRegistrationLinkResponse{}, nil
}

func (c *Calls) createResetLink(ctx context.Context, actor im.Actor, r *wire.CreateResetLinkRequest) (*wire.CreateResetLinkResponse, error) {
	life, err := linkLife(r.GetLifetimeMs(), account.MaxResetLife)
	if err != nil {
		return nil, err
	}
	user, err := c.actOn(ctx, actor, r.GetUser())
	if err != nil {
		return nil, err
	}
	code, until, err := c.Accounts.CreateResetLink(ctx, user, r.GetWithoutTotp(), life)
	if err != nil {
		return nil, err
	}
	return &wire.CreateResetLinkResponse{Code: code, ExpiresAtMs: contract.Millis(until)}, nil
}
