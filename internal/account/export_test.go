package account_test

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

// Who is to have everything of an account proves themselves as for its deletion; a code is
// used up by it, and the second factor stays as it is.
func TestProveForExport(t *testing.T) {
	f := start(t, withKey)
	alice := f.register("alice", phone("a"))
	prove := func(password, code string, is im.Code) {
		t.Helper()
		want(t, f.ProveForExport(t.Context(), actorOf(alice), password, code), is)
	}
	prove("", "", im.CodeInvalidArgument)
	prove("not this one", "", im.CodeBadCredentials)
	prove(password, "", "")
	a, codes := f.enrol(alice)
	prove(password, "", im.CodeInvalidArgument)
	prove(password, a.wrong(), im.CodeBadCredentials)
	prove("not this one", a.code(0), im.CodeBadCredentials)
	prove(password, a.code(0), "")
	prove(password, a.code(0), im.CodeBadCredentials) // it was used
	f.clock.Advance(time.Hour)
	prove(password, codes[0], "")
	prove(password, codes[0], im.CodeBadCredentials)
	if s, err := f.Security(t.Context(), actorOf(alice)); err != nil || !s.TOTP || s.Recovery != 9 {
		t.Errorf("%+v %v", s, err)
	}
	f.clock.Advance(time.Hour)
	if _, err := f.withCode(home, f.ticket("alice"), codes[1]); err != nil {
		t.Error(err)
	}
	want(t, f.ProveForExport(t.Context(), im.Actor{Role: im.ServerOwner}, "", ""), im.CodePermissionDenied)

	minted, err := f.Mint(t.Context(), account.Minting{User: "mia"}) // no password
	if err != nil {
		t.Fatal(err)
	}
	want(t, f.ProveForExport(t.Context(), im.Actor{User: minted.User}, "", ""), "")
}
