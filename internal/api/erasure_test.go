package api

import (
	"net/http"
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Who deleted their account is told so whatever they come with, and nobody gets their name.
func TestDeletedAccount(t *testing.T) {
	w := newWorld(t)
	s := w.scene("member")
	name := s.me.username
	if r := w.keyedCall(s.me.token, "AccountService/DeleteAccount", "key-of-deleted-1-0123456789", &wire.DeleteAccountRequest{Password: password}); r.Code != http.StatusOK {
		t.Fatalf("delete: %d %s", r.Code, r.Body)
	}
	code, _ := errorOf(t, w.keyedCall(s.me.token, "AccountService/ListSessions", "key-of-deleted-2-0123456789", &wire.ListSessionsRequest{}))
	if code != im.CodeAccountDeleted {
		t.Errorf("with the token of before: %q", code)
	}
	code, _ = errorOf(t, w.keyedCall("", "AccountService/Login", "key-of-deleted-3-0123456789", &wire.LoginRequest{Username: name, Password: password}))
	if code != im.CodeBadCredentials {
		t.Errorf("a login: %q", code)
	}
	code, _ = errorOf(t, w.keyedCall("", "AccountService/Register", "key-of-deleted-4-0123456789", &wire.RegisterRequest{Username: name, Password: password}))
	if code != im.CodeAlreadyExists {
		t.Errorf("the name again: %q", code)
	}
}
