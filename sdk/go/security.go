package skein

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// LoginWithCode is the second step of a Login that failed with ErrTOTPRequired: its
// Error.Ticket with a code of the authenticator app, or a recovery code. ErrBadCredentials:
// the code is wrong or was used, and may be tried again; ErrNotFound, ErrTooLate: begin
// again with the password. SPEC §3.11.
func LoginWithCode(ctx context.Context, baseURL string, req *wire.LoginWithCodeRequest) (*wire.Tokens, error) {
	var resp wire.LoginWithCodeResponse
	err := Post(ctx, baseURL, accountService+"LoginWithCode", "", req, &resp)
	return resp.Tokens, err
}

// ResetPassword sets a new password with the code of an administrator's link, once, and
// ends all sessions. ErrNotFound: the code is wrong or was used; ErrTooLate: its time is
// over. SPEC §3.12.
func ResetPassword(ctx context.Context, baseURL, code, password string) error {
	req := &wire.ResetPasswordRequest{Code: code, NewPassword: password}
	return Post(ctx, baseURL, accountService+"ResetPassword", "", req, &wire.ResetPasswordResponse{})
}

// Security tells how the account is secured.
func (s Sessions) Security(ctx context.Context) (*wire.GetSecurityResponse, error) {
	var resp wire.GetSecurityResponse
	return &resp, s.c.Call(ctx, accountService+"GetSecurity", &wire.GetSecurityRequest{}, &resp)
}

// BeginTOTP makes a secret for an authenticator app, as text and as an otpauth URI to be
// shown as a QR code. It counts from ConfirmTOTP on. ErrAlreadyExists: one counts already.
func (s Sessions) BeginTOTP(ctx context.Context, password string) (secret, uri string, err error) {
	var resp wire.BeginTotpResponse
	err = s.c.Call(ctx, accountService+"BeginTotp", &wire.BeginTotpRequest{Password: password}, &resp)
	return resp.Secret, resp.Uri, err
}

// ConfirmTOTP proves that the app has the secret: from now on logins need a code. It
// returns the recovery codes, each good once, which nobody is told again.
func (s Sessions) ConfirmTOTP(ctx context.Context, code string) ([]string, error) {
	var resp wire.ConfirmTotpResponse
	err := s.c.Call(ctx, accountService+"ConfirmTotp", &wire.ConfirmTotpRequest{Code: code}, &resp)
	return resp.RecoveryCodes, err
}

// DisableTOTP has logins need no code any more; code is of the app, or a recovery code.
func (s Sessions) DisableTOTP(ctx context.Context, password, code string) error {
	return s.c.Call(ctx, accountService+"DisableTotp", &wire.DisableTotpRequest{Password: password, Code: code}, &wire.DisableTotpResponse{})
}

// NewRecoveryCodes makes recovery codes in the place of those of before.
func (s Sessions) NewRecoveryCodes(ctx context.Context, password, code string) ([]string, error) {
	var resp wire.NewRecoveryCodesResponse
	err := s.c.Call(ctx, accountService+"NewRecoveryCodes", &wire.NewRecoveryCodesRequest{Password: password, Code: code}, &resp)
	return resp.RecoveryCodes, err
}

// DeleteAccount deletes the user's own account, for ever; code is needed if it has a second
// factor. All its connections end with ErrAccountDeleted, this one as well.
func (s Sessions) DeleteAccount(ctx context.Context, password, code string) error {
	return s.c.Call(ctx, accountService+"DeleteAccount", &wire.DeleteAccountRequest{Password: password, Code: code}, &wire.DeleteAccountResponse{})
}

// TOTPCode is what an authenticator app with the secret of BeginTOTP shows at a time.
func TOTPCode(secret string, at time.Time) (string, error) {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(secret))
	if err != nil {
		return "", invalid("the secret is not base32")
	}
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, at.Unix()/30) // a hash takes everything
	sum := mac.Sum(nil)
	from := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[from:])&(1<<31-1)%1_000_000), nil
}
