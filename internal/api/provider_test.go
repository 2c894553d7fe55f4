package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// believing is a provider that lets everybody in who comes with a code: as that.
type believing struct{}

func (believing) Address(_ context.Context, a im.ProviderAuth) (string, error) {
	return "https://sso.example.com/authorize?state=" + a.State, nil
}

func (believing) Ask(_ context.Context, code string, _ im.ProviderAuth) (im.ProviderClaims, error) {
	if code == "wrong" {
		return im.ProviderClaims{}, im.Errorf(im.CodePermissionDenied, "what the provider says is not good: <it>")
	}
	return im.ProviderClaims{Issuer: "https://sso.example.com", Subject: code, Username: code}, nil
}

var theProviders = []account.Provider{{Name: "corp", Title: "Example Corp", Create: true, Link: account.LinkNone, At: believing{}}}

const theVerifier = "a-verifier-that-nobody-guesses.0123456789~_"

func theChallenge() string {
	sum := sha256.Sum256([]byte(theVerifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// away begins a login by a provider and returns what the browser was sent away with.
func (w *world) away(returnTo string) string {
	w.t.Helper()
	to, _, err := w.accounts.BeginProvider(w.t.Context(), "", "corp", theChallenge(), returnTo)
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		w.t.Fatal(err)
	}
	return u.Query().Get("state")
}

// came is the code that a browser came back with, as somebody.
func (w *world) came(subject string) string {
	w.t.Helper()
	code, _, err := w.accounts.AnswerProvider(w.t.Context(), account.ProviderAnswer{State: w.away(""), Code: subject})
	if err != nil {
		w.t.Fatal(err)
	}
	return code
}

// identityOf links an identity to somebody's account.
func (s *scene) identityOf(p person) string {
	s.t.Helper()
	if p.session == "" {
		return "none"
	}
	var r wire.LinkIdentityResponse
	s.must(p.token, "AccountService/LinkIdentity", &wire.LinkIdentityRequest{Code: s.came("sub-" + p.id + "-" + s.away("")[4:20]), Verifier: theVerifier, Password: password}, &r)
	return r.Identity.GetId()
}

// providerCells are the rows of the matrix about logins by providers.
var providerCells = []cell{
	{"AccountService/ListLoginProviders", "", anyone, func(*scene) proto.Message { return &wire.ListLoginProvidersRequest{} }},
	{"AccountService/BeginProviderLogin", "", anyone, func(*scene) proto.Message {
		return &wire.BeginProviderLoginRequest{Provider: "corp", Challenge: theChallenge()}
	}},
	{"AccountService/BeginProviderLogin", "one that there is not", "NF   NF       NF     NF      NF NF     NF    NF    NF   NF", func(*scene) proto.Message {
		return &wire.BeginProviderLoginRequest{Provider: "other", Challenge: theChallenge()}
	}},
	{"AccountService/AnswerProviderLogin", "", anyone, func(s *scene) proto.Message {
		return &wire.AnswerProviderLoginRequest{State: s.away(""), Code: "sub"}
	}},
	{"AccountService/AnswerProviderLogin", "a wrong state", "NF   NF       NF     NF      NF NF     NF    NF    NF   NF", func(*scene) proto.Message {
		return &wire.AnswerProviderLoginRequest{State: "sks_x", Code: "sub"}
	}},
	{"AccountService/FinishProviderLogin", "", anyone, func(s *scene) proto.Message {
		return &wire.FinishProviderLoginRequest{Code: s.came("sub"), Verifier: theVerifier}
	}},
	{"AccountService/FinishProviderLogin", "another client's", "NF   NF       NF     NF      NF NF     NF    NF    NF   NF", func(s *scene) proto.Message {
		return &wire.FinishProviderLoginRequest{Code: s.came("sub"), Verifier: strings.Repeat("x", 43)}
	}},
	{"AccountService/LinkIdentity", "", users, func(s *scene) proto.Message {
		return &wire.LinkIdentityRequest{Code: s.came("sub-" + s.away("")[4:20]), Verifier: theVerifier, Password: password}
	}},
	{"AccountService/ListIdentities", "", users, func(*scene) proto.Message { return &wire.ListIdentitiesRequest{} }},
	{"AccountService/UnlinkIdentity", "", users, func(s *scene) proto.Message {
		return &wire.UnlinkIdentityRequest{Id: s.identityOf(s.me), Password: password}
	}},
	{"AccountService/ChangeUsername", "", users, func(s *scene) proto.Message {
		return &wire.ChangeUsernameRequest{Username: s.me.username, Password: password} // their own: the others go on logging in by it
	}},
	{"AccountService/ChangeUsername", "somebody else's", "NT   AE       AE     AE      AE AE     AE    AE    AE   PD", func(s *scene) proto.Message {
		return &wire.ChangeUsernameRequest{Username: s.bob.username, Password: password}
	}},
	{"AdminService/SetUsername", "", admins, func(s *scene) proto.Message {
		return &wire.SetUsernameRequest{User: s.bob.id, Username: s.bob.username}
	}},
	{"AccountService/UnlinkIdentity", "somebody else's", nobody, func(s *scene) proto.Message {
		return &wire.UnlinkIdentityRequest{Id: s.identityOf(s.bob), Password: password}
	}},
}

// Each refusal names the field.
func TestBadProviderRequests(t *testing.T) {
	c := NewCalls(Deps{Messages: &script{}})
	for _, tc := range []struct {
		method string
		in     proto.Message
		code   im.Code
		field  string
	}{
		{"BeginProviderLogin", &wire.BeginProviderLoginRequest{Challenge: theChallenge()}, im.CodeInvalidArgument, "provider"},
		{"BeginProviderLogin", &wire.BeginProviderLoginRequest{Provider: "corp"}, im.CodeInvalidArgument, "challenge"},
		{"BeginProviderLogin", &wire.BeginProviderLoginRequest{Provider: "corp", Challenge: theChallenge(), ReturnTo: strings.Repeat("x", 600)}, im.CodeTooLarge, "returnTo"},
		{"AnswerProviderLogin", &wire.AnswerProviderLoginRequest{Code: "x"}, im.CodeInvalidArgument, "state"},
		{"AnswerProviderLogin", &wire.AnswerProviderLoginRequest{State: "x", Code: strings.Repeat("x", 5000)}, im.CodeTooLarge, "code"},
		{"AnswerProviderLogin", &wire.AnswerProviderLoginRequest{State: "x", Issuer: strings.Repeat("x", 600)}, im.CodeTooLarge, "issuer"},
		{"AnswerProviderLogin", &wire.AnswerProviderLoginRequest{State: "x", Error: strings.Repeat("x", 600)}, im.CodeTooLarge, "error"},
		{"FinishProviderLogin", &wire.FinishProviderLoginRequest{Verifier: theVerifier}, im.CodeInvalidArgument, "code"},
		{"FinishProviderLogin", &wire.FinishProviderLoginRequest{Code: "x", Verifier: "short"}, im.CodeInvalidArgument, "verifier"},
		{"FinishProviderLogin", &wire.FinishProviderLoginRequest{Code: "x", Verifier: theVerifier, Device: &wire.Device{Id: "a.b"}}, im.CodeInvalidArgument, "device.id"},
		{"LinkIdentity", &wire.LinkIdentityRequest{Code: "x", Verifier: strings.Repeat("x", 129)}, im.CodeInvalidArgument, "verifier"},
		{"LinkIdentity", &wire.LinkIdentityRequest{Verifier: theVerifier}, im.CodeInvalidArgument, "code"},
		{"UpgradeGuest", &wire.UpgradeGuestRequest{}, im.CodeInvalidArgument, "username"},
		{"UpgradeGuest", &wire.UpgradeGuestRequest{Verifier: theVerifier}, im.CodeInvalidArgument, "code"},
		{"UpgradeGuest", &wire.UpgradeGuestRequest{Code: "x", Verifier: "short"}, im.CodeInvalidArgument, "verifier"},
		{"UpgradeGuest", &wire.UpgradeGuestRequest{Code: "x", Verifier: theVerifier, Username: strings.Repeat("x", 300)}, im.CodeTooLarge, "username"},
		{"ChangeUsername", &wire.ChangeUsernameRequest{}, im.CodeInvalidArgument, "username"},
		{"ChangeUsername", &wire.ChangeUsernameRequest{Username: strings.Repeat("x", 300)}, im.CodeTooLarge, "username"},
		{"UnlinkIdentity", &wire.UnlinkIdentityRequest{Id: "a b"}, im.CodeInvalidArgument, "id"},
		{"UnlinkIdentity", &wire.UnlinkIdentityRequest{Id: "a", Password: strings.Repeat("x", 300)}, im.CodeTooLarge, "password"},
	} {
		m, _ := wire.LookupMethod("skein.v1.AccountService/" + tc.method)
		_, err := invoke(t, c, root, "AccountService/"+tc.method, tc.in, m.NewResponse())
		if im.CodeOf(err) != tc.code || im.Public(err).Field != tc.field {
			t.Errorf("%s %v: %v, want %s about %s", tc.method, tc.in, err, tc.code, tc.field)
		}
	}
}

// The page that providers send browsers back to sends them on, or shows the code; it
// tells nobody else of it.
func TestCallback(t *testing.T) {
	w := newWorld(t)
	get := func(query url.Values) *httptest.ResponseRecorder {
		return do(w.http, request{method: http.MethodGet, path: CallbackPath + "?" + query.Encode()})
	}
	back := get(url.Values{"state": {w.away("http://127.0.0.1:4711/done")}, "code": {"sub"}})
	to := back.Header().Get("Location")
	if back.Code != http.StatusSeeOther || !strings.HasPrefix(to, "http://127.0.0.1:4711/done?code=skb_") {
		t.Errorf("it is answered %d, %q: %s", back.Code, to, back.Body)
	}
	shown := get(url.Values{"state": {w.away("")}, "code": {"sub"}})
	if shown.Code != http.StatusOK || !strings.Contains(shown.Body.String(), "<code>skb_") {
		t.Errorf("it is answered %d: %s", shown.Code, shown.Body)
	}
	for _, r := range []*httptest.ResponseRecorder{back, shown} {
		if h := r.Header(); h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("the headers are %v", h)
		}
	}
	bad := get(url.Values{"state": {w.away("")}, "code": {"wrong"}})
	if bad.Code != http.StatusForbidden || !strings.Contains(bad.Body.String(), "not good: &lt;it&gt;") {
		t.Errorf("what is not good is answered %d: %s", bad.Code, bad.Body)
	}
	for name, q := range map[string]url.Values{"nothing": {}, "a state of nobody's": {"state": {"sks_x"}}, "too much": {"state": {"x"}, "code": {strings.Repeat("x", 20000)}}, "bytes": {"state": {"\xff"}}} {
		if r := get(q); r.Code/100 != 4 || !strings.Contains(r.Body.String(), "Not logged in") {
			t.Errorf("%s is answered %d: %s", name, r.Code, r.Body)
		}
	}
}
