package api

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// appCode is what an authenticator app with the secret shows now.
func appCode(t *testing.T, secret string) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	if err := binary.Write(mac, binary.BigEndian, time.Now().Unix()/30); err != nil {
		t.Fatal(err)
	}
	sum := mac.Sum(nil)
	at := sum[19] & 15
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[at:])&(1<<31-1))%1_000_000)
}

// begun begins to give somebody a second factor and returns the code that confirms it.
func (s *scene) begun(p person) string {
	s.t.Helper()
	if p.session == "" {
		return "123456" // they are no user
	}
	if s.secure[p.username] != "" {
		s.t.Fatalf("%s is secured already", p.username)
	}
	var r wire.BeginTotpResponse
	s.must(p.token, "AccountService/BeginTotp", &wire.BeginTotpRequest{Password: password}, &r)
	s.secure[p.username] = p.id
	return appCode(s.t, r.Secret)
}

// secured gives somebody a second factor and returns the recovery codes.
func (s *scene) secured(p person) []string {
	s.t.Helper()
	code := s.begun(p)
	if p.session == "" {
		return []string{"aaaa-aaaa-aaaa-aaaa"}
	}
	var r wire.ConfirmTotpResponse
	s.must(p.token, "AccountService/ConfirmTotp", &wire.ConfirmTotpRequest{Code: code}, &r)
	return r.RecoveryCodes
}

// ticketOf is the ticket of a login of somebody who has a second factor.
func (s *scene) ticketOf(p person) string {
	s.t.Helper()
	body, err := protojson.Marshal(&wire.LoginRequest{Username: p.username, Password: password})
	if err != nil {
		s.t.Fatal(err)
	}
	rec := do(s.http, post("AccountService/Login", "", string(body)))
	if code := s.failure("AccountService/Login", rec); code != im.CodeTotpRequired {
		s.t.Fatalf("the login got %q", code)
	}
	var e struct{ Ticket string }
	if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil || e.Ticket == "" {
		s.t.Fatalf("no ticket: %s", rec.Body)
	}
	return e.Ticket
}

// resetOf is the code of a reset link.
func (s *scene) resetOf(id string) string {
	s.t.Helper()
	code, _, err := s.accounts.CreateResetLink(s.t.Context(), im.UserID(id), false, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return code
}

// registration is a registration link.
func (s *scene) registration() string {
	s.t.Helper()
	l, _, err := s.accounts.CreateRegistrationLink(s.t.Context(), "", 1, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return l.ID
}

// securityCells are the rows of the matrix about how users prove themselves.
var securityCells = []cell{
	{"AccountService/LoginWithCode", "", anyone, func(s *scene) proto.Message {
		codes := s.secured(s.bob)
		return &wire.LoginWithCodeRequest{Ticket: s.ticketOf(s.bob), Code: codes[0]}
	}},
	{"AccountService/LoginWithCode", "a wrong ticket", "NF   NF       NF     NF      NF NF     NF    NF    NF   NF", func(*scene) proto.Message {
		return &wire.LoginWithCodeRequest{Ticket: "skt_x", Code: "123456"}
	}},
	{"AccountService/ResetPassword", "", anyone, func(s *scene) proto.Message {
		return &wire.ResetPasswordRequest{Code: s.resetOf(s.bob.id), NewPassword: password}
	}},
	{"AccountService/ResetPassword", "a wrong code", "NF   NF       NF     NF      NF NF     NF    NF    NF   NF", func(*scene) proto.Message {
		return &wire.ResetPasswordRequest{Code: "skp_x", NewPassword: password}
	}},
	{"AccountService/GetSecurity", "", users, func(*scene) proto.Message { return &wire.GetSecurityRequest{} }},
	{"AccountService/BeginTotp", "", users, func(*scene) proto.Message { return &wire.BeginTotpRequest{Password: password} }},
	{"AccountService/ConfirmTotp", "", users, func(s *scene) proto.Message { return &wire.ConfirmTotpRequest{Code: s.begun(s.me)} }},
	{"AccountService/DisableTotp", "", users, func(s *scene) proto.Message {
		return &wire.DisableTotpRequest{Password: password, Code: s.secured(s.me)[0]}
	}},
	{"AccountService/NewRecoveryCodes", "", users, func(s *scene) proto.Message {
		return &wire.NewRecoveryCodesRequest{Password: password, Code: s.secured(s.me)[0]}
	}},
	{"AccountService/DeleteAccount", "", "NT ok ok ok ok ok ok ok PD PD", func(s *scene) proto.Message { return &wire.DeleteAccountRequest{Password: password} }},
	{"AccountService/DeleteAccount", "a wrong password", cellsOf(users, "ok", "BC"), func(*scene) proto.Message {
		return &wire.DeleteAccountRequest{Password: "wrong horse"}
	}},
	{"AccountService/BeginExport", "", users, func(*scene) proto.Message { return &wire.BeginExportRequest{Password: password} }},
	{"AccountService/BeginExport", "a wrong password", cellsOf(users, "ok", "BC"), func(*scene) proto.Message {
		return &wire.BeginExportRequest{Password: "wrong horse"}
	}},
	{"AdminService/ExportUser", "", admins, func(s *scene) proto.Message { return &wire.ExportUserRequest{User: s.bob.id} }},
	{"AdminService/ExportUser", "nobody", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message { return &wire.ExportUserRequest{User: "nobody-there"} }},
	{"AdminService/EraseUser", "", admins, func(s *scene) proto.Message { return &wire.EraseUserRequest{User: s.bob.id} }},
	{"AdminService/EraseUser", "nobody", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message { return &wire.EraseUserRequest{User: "nobody-there"} }},
	{"AdminService/CreateRegistrationLink", "", admins, func(*scene) proto.Message { return &wire.CreateRegistrationLinkRequest{Note: "sales", MaxUses: 2} }},
	{"AdminService/ListRegistrationLinks", "", admins, func(*scene) proto.Message { return &wire.ListRegistrationLinksRequest{} }},
	{"AdminService/RevokeRegistrationLink", "", admins, func(s *scene) proto.Message { return &wire.RevokeRegistrationLinkRequest{Id: s.registration()} }},
	{"AdminService/CreateResetLink", "", admins, func(s *scene) proto.Message { return &wire.CreateResetLinkRequest{User: s.bob.id} }},
}

// cellsOf is a row of cells with others for some.
func cellsOf(row, was, is string) string { return strings.ReplaceAll(row, was, is) }

// Each refusal names the field.
func TestBadSecurityRequests(t *testing.T) {
	c := NewCalls(Deps{Messages: &script{}})
	long := strings.Repeat("x", 300)
	for _, tc := range []struct {
		method string
		in     proto.Message
		code   im.Code
		field  string
	}{
		{"AccountService/Register", &wire.RegisterRequest{Username: "bob", Password: "12345678", Invitation: strings.Repeat("x", 1000)}, im.CodeTooLarge, "invitation"},
		{"AccountService/LoginWithCode", &wire.LoginWithCodeRequest{Code: "123456"}, im.CodeInvalidArgument, "ticket"},
		{"AccountService/LoginWithCode", &wire.LoginWithCodeRequest{Ticket: "x"}, im.CodeInvalidArgument, "code"},
		{"AccountService/LoginWithCode", &wire.LoginWithCodeRequest{Ticket: "x", Code: long}, im.CodeTooLarge, "code"},
		{"AccountService/LoginWithCode", &wire.LoginWithCodeRequest{Ticket: "x", Code: "123456", Device: &wire.Device{Id: "a.b"}}, im.CodeInvalidArgument, "device.id"},
		{"AccountService/BeginTotp", &wire.BeginTotpRequest{}, im.CodeInvalidArgument, "password"},
		{"AccountService/ConfirmTotp", &wire.ConfirmTotpRequest{}, im.CodeInvalidArgument, "code"},
		{"AccountService/DisableTotp", &wire.DisableTotpRequest{Code: "123456"}, im.CodeInvalidArgument, "password"},
		{"AccountService/NewRecoveryCodes", &wire.NewRecoveryCodesRequest{Password: "12345678"}, im.CodeInvalidArgument, "code"},
		{"AccountService/ResetPassword", &wire.ResetPasswordRequest{NewPassword: "12345678"}, im.CodeInvalidArgument, "code"},
		{"AccountService/ResetPassword", &wire.ResetPasswordRequest{Code: "x"}, im.CodeInvalidArgument, "newPassword"},
		{"AdminService/CreateRegistrationLink", &wire.CreateRegistrationLinkRequest{Note: long}, im.CodeTooLarge, "note"},
		{"AdminService/CreateRegistrationLink", &wire.CreateRegistrationLinkRequest{MaxUses: 100_001}, im.CodeInvalidArgument, "maxUses"},
		{"AdminService/CreateRegistrationLink", &wire.CreateRegistrationLinkRequest{LifetimeMs: -1}, im.CodeInvalidArgument, "lifetimeMs"},
		{"AdminService/RevokeRegistrationLink", &wire.RevokeRegistrationLinkRequest{Id: "a b"}, im.CodeInvalidArgument, "id"},
		{"AccountService/DeleteAccount", &wire.DeleteAccountRequest{}, im.CodeInvalidArgument, "password"},
		{"AccountService/DeleteAccount", &wire.DeleteAccountRequest{Password: "12345678", Code: long}, im.CodeTooLarge, "code"},
		{"AccountService/BeginExport", &wire.BeginExportRequest{Password: strings.Repeat("x", 1000)}, im.CodeTooLarge, "password"},
		{"AccountService/BeginExport", &wire.BeginExportRequest{Password: "12345678", Code: long}, im.CodeTooLarge, "code"},
		{"AdminService/ExportUser", &wire.ExportUserRequest{}, im.CodeInvalidArgument, "user"},
		{"AdminService/ExportUser", &wire.ExportUserRequest{User: "a b"}, im.CodeInvalidArgument, "user"},
		{"AdminService/EraseUser", &wire.EraseUserRequest{}, im.CodeInvalidArgument, "user"},
		{"AdminService/EraseUser", &wire.EraseUserRequest{User: "a b"}, im.CodeInvalidArgument, "user"},
		{"AdminService/CreateResetLink", &wire.CreateResetLinkRequest{}, im.CodeInvalidArgument, "user"},
		{"AdminService/CreateResetLink", &wire.CreateResetLinkRequest{User: "bob", LifetimeMs: 1 << 50}, im.CodeInvalidArgument, "lifetimeMs"},
	} {
		m, _ := wire.LookupMethod("skein.v1." + tc.method)
		_, err := invoke(t, c, root, tc.method, tc.in, m.NewResponse())
		if im.CodeOf(err) != tc.code || im.Public(err).Field != tc.field {
			t.Errorf("%s %v: %v, want %s about %s", tc.method, tc.in, err, tc.code, tc.field)
		}
	}
}
