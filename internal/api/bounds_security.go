package api

import (
	"github.com/skein-im/skein/internal/account"
)

// securityBounds is of what accounts are secured with, and of links to accounts.
func securityBounds() map[string]Bounds {
	password := Bounds{Required: true, MinLength: 1, MaxLength: maxPasswordChars}
	typed := Bounds{Required: true, Pattern: typedCode, MaxLength: maxCodeBytes}
	uses := number(0, account.MaxInvitationUses)
	return map[string]Bounds{
		"RegisterRequest.invitation":                matching(maybeToken),
		"RegisterGuestRequest.display_name":         title(maxNameChars).required(),
		"RegisterGuestResponse.tokens":              {Required: true},
		"UpgradeGuestRequest.username":              matching(maybeName),
		"UpgradeGuestRequest.password":              {Pattern: maybeSecret, MaxLength: maxPasswordChars},
		"UpgradeGuestRequest.invitation":            matching(maybeToken),
		"UpgradeGuestRequest.code":                  matching(maybeToken),
		"UpgradeGuestRequest.verifier":              {Pattern: "^([!-~]{43,128})?$", MaxLength: account.MaxVerifier},
		"UpgradeGuestResponse.user":                 {Required: true},
		"LoginWithCodeRequest.ticket":               matching(tokenPattern).required(),
		"LoginWithCodeRequest.code":                 typed,
		"LoginWithCodeResponse.tokens":              {Required: true},
		"ResetPasswordRequest.code":                 matching(tokenPattern).required(),
		"ResetPasswordRequest.new_password":         secret().required(),
		"GetSecurityResponse.recovery_codes_left":   number(0, 100),
		"BeginTotpRequest.password":                 password,
		"BeginTotpResponse.secret":                  matching("^[A-Z2-7]{32}$").required(),
		"BeginTotpResponse.uri":                     matching("^otpauth://totp/[!-~]{1,500}$").required(),
		"ConfirmTotpRequest.code":                   typed,
		"ConfirmTotpResponse.recovery_codes":        {Pattern: recoveryPattern, MaxItems: 10},
		"DeleteAccountRequest.password":             password,
		"DeleteAccountRequest.code":                 matching("^([A-Za-z0-9 -]{0,64})$"),
		"BeginExportRequest.password":               {MaxLength: maxPasswordChars},
		"BeginExportRequest.code":                   matching("^([A-Za-z0-9 -]{0,64})$"),
		"BeginExportResponse.path":                  matching("^/export\\?[!-~]{1,1000}$").required(),
		"BeginExportResponse.until_ms":              millis().required(),
		"ExportUserRequest.user":                    id().required(),
		"ExportUserResponse.path":                   matching("^/export\\?[!-~]{1,1000}$").required(),
		"ExportUserResponse.until_ms":               millis().required(),
		"EraseUserRequest.user":                     id().required(),
		"EraseUserResponse.begun_at_ms":             millis().required(),
		"EraseUserResponse.done_at_ms":              millis(),
		"DisableTotpRequest.password":               password,
		"DisableTotpRequest.code":                   typed,
		"NewRecoveryCodesRequest.password":          password,
		"NewRecoveryCodesRequest.code":              typed,
		"NewRecoveryCodesResponse.recovery_codes":   {Pattern: recoveryPattern, MaxItems: 10},
		"RegistrationLink.id":                       id().required(),
		"RegistrationLink.code":                     matching(maybeToken),
		"RegistrationLink.note":                     line(account.MaxInvitationNote),
		"RegistrationLink.uses":                     uses,
		"RegistrationLink.max_uses":                 uses,
		"RegistrationLink.created_at_ms":            millis().required(),
		"RegistrationLink.expires_at_ms":            millis().required(),
		"CreateRegistrationLinkRequest.note":        line(account.MaxInvitationNote),
		"CreateRegistrationLinkRequest.max_uses":    uses,
		"CreateRegistrationLinkRequest.lifetime_ms": Bounds{Max: uint64(account.MaxInvitationLife.Milliseconds())}.def("604800000"),
		"CreateRegistrationLinkResponse.link":       {Required: true},
		"ListRegistrationLinksResponse.links":       list(account.MaxInvitations),
		"RevokeRegistrationLinkRequest.id":          id().required(),
		"CreateResetLinkRequest.user":               id().required(),
		"CreateResetLinkRequest.lifetime_ms":        Bounds{Max: uint64(account.MaxResetLife.Milliseconds())}.def("86400000"),
		"CreateResetLinkResponse.code":              matching(tokenPattern).required(),
		"CreateResetLinkResponse.expires_at_ms":     millis().required(),
	}
}
