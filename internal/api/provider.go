package api

import (
	"bytes"
	"context"
	"html/template"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// CallbackPath is where providers send browsers back to.
const CallbackPath = "/login/callback"

const (
	// maxAnswerBytes is of a code as providers make them: some seal what they know in it.
	maxAnswerBytes = 4 << 10
	// answer is the largest AnswerProviderLogin.
	answer = 24 << 10
)

func (c *Calls) providerRows() []row {
	return []row{
		newRow("AccountService/ListLoginProviders", Anyone, ClassRead, small, c.listLoginProviders),
		newRow("AccountService/BeginProviderLogin", Anyone, ClassCredential, small, c.beginProviderLogin),
		newRow("AccountService/AnswerProviderLogin", Anyone, ClassCredential, answer, c.answerProviderLogin),
		newRow("AccountService/FinishProviderLogin", Anyone, ClassCredential, small, c.finishProviderLogin),
		newRow("AccountService/LinkIdentity", User, ClassCredential, small, c.linkIdentity),
		newRow("AccountService/ListIdentities", User, ClassRead, small, c.listIdentities),
		newRow("AccountService/UnlinkIdentity", User, ClassCredential, small, c.unlinkIdentity),
		newRow("AccountService/ChangeUsername", User, ClassCredential, small, c.changeUsername),
		newRow("AdminService/SetUsername", Admins, ClassAdmin, small, c.setUsername),
	}
}

func (c *Calls) listLoginProviders(context.Context, im.Actor, *wire.ListLoginProvidersRequest) (*wire.ListLoginProvidersResponse, error) {
	out := &wire.ListLoginProvidersResponse{}
	for _, p := range c.Accounts.Providers() {
		out.Providers = append(out.Providers, &wire.LoginProvider{Name: p.Name, Title: p.Title})
	}
	return out, nil
}

func (c *Calls) beginProviderLogin(ctx context.Context, actor im.Actor, r *wire.BeginProviderLoginRequest) (*wire.BeginProviderLoginResponse, error) {
	if err := first(opaque("provider", r.GetProvider(), maxNameChars), opaque("challenge", r.GetChallenge(), account.MaxVerifier), opaqueIf("returnTo", r.GetReturnTo(), account.MaxReturnTo)); err != nil {
		return nil, err
	}
	to, until, err := c.Accounts.BeginProvider(ctx, actor.Address, r.GetProvider(), r.GetChallenge(), r.GetReturnTo())
	if err != nil {
		return nil, err
	}
	return &wire.BeginProviderLoginResponse{Url: to, ExpiresAtMs: contract.Millis(until)}, nil
}

func (c *Calls) answerProviderLogin(ctx context.Context, _ im.Actor, r *wire.AnswerProviderLoginRequest) (*wire.AnswerProviderLoginResponse, error) {
	if err := first(opaque("state", r.GetState(), maxTokenBytes), opaqueIf("code", r.GetCode(), maxAnswerBytes), opaqueIf("issuer", r.GetIssuer(), maxTokenBytes), opaqueIf("error", r.GetError(), maxTokenBytes)); err != nil {
		return nil, err
	}
	code, to, err := c.Accounts.AnswerProvider(ctx, account.ProviderAnswer{State: r.GetState(), Code: r.GetCode(), Issuer: r.GetIssuer(), Error: r.GetError()})
	if err != nil {
		return nil, err
	}
	return &wire.AnswerProviderLoginResponse{Code: code, ReturnTo: to}, nil
}

func (c *Calls) finishProviderLogin(ctx context.Context, actor im.Actor, r *wire.FinishProviderLoginRequest) (*wire.FinishProviderLoginResponse, error) {
	device, err := contract.ParseDevice(r.GetDevice())
	if err := first(opaque("code", r.GetCode(), maxTokenBytes), verifier(r.GetVerifier()), err); err != nil {
		return nil, err
	}
	t, created, err := c.Accounts.FinishProvider(ctx, actor.Address, account.ProviderFinish{Code: r.GetCode(), Verifier: r.GetVerifier(), Device: device, StayLoggedIn: r.GetStayLoggedIn()})
	if err != nil {
		return nil, err
	}
	return &wire.FinishProviderLoginResponse{Tokens: wireTokens(t), Created: created}, nil
}

func verifier(s string) error {
	if len(s) < account.MinVerifier || len(s) > account.MaxVerifier {
		return im.Wrong("verifier", "must have %d to %d characters", account.MinVerifier, account.MaxVerifier)
	}
	return opaque("verifier", s, account.MaxVerifier)
}

func (c *Calls) linkIdentity(ctx context.Context, actor im.Actor, r *wire.LinkIdentityRequest) (*wire.LinkIdentityResponse, error) {
	if err := first(opaque("code", r.GetCode(), maxTokenBytes), verifier(r.GetVerifier()), passwordIf(r.GetPassword())); err != nil {
		return nil, err
	}
	i, err := c.Accounts.LinkIdentity(ctx, actor, r.GetCode(), r.GetVerifier(), r.GetPassword())
	if err != nil {
		return nil, err
	}
	return &wire.LinkIdentityResponse{Identity: wireIdentity(&i)}, nil
}

// passwordIf checks a password that users without one leave out.
func passwordIf(s string) error {
	if s == "" {
		return nil
	}
	return knownPassword("password", s)
}

func wireIdentity(i *im.Identity) *wire.Identity {
	return &wire.Identity{Id: i.ID, Provider: i.Provider, Name: i.Username, Email: i.Email, CreatedAtMs: contract.Millis(i.Created), LastUsedAtMs: contract.Millis(i.LastUsed)}
}

func (c *Calls) listIdentities(ctx context.Context, actor im.Actor, _ *wire.ListIdentitiesRequest) (*wire.ListIdentitiesResponse, error) {
	all, err := c.Accounts.Identities(ctx, actor)
	if err != nil {
		return nil, err
	}
	out := &wire.ListIdentitiesResponse{}
	for i := range all {
		out.Identities = append(out.Identities, wireIdentity(&all[i]))
	}
	return out, nil
}

func (c *Calls) unlinkIdentity(ctx context.Context, actor im.Actor, r *wire.UnlinkIdentityRequest) (*wire.UnlinkIdentityResponse, error) {
	if !im.ValidID(r.GetId()) {
		return nil, im.Wrong("id", "must be that of an identity")
	}
	if err := passwordIf(r.GetPassword()); err != nil {
		return nil, err
	}
	if err := c.Accounts.UnlinkIdentity(ctx, actor, r.GetId(), r.GetPassword()); err != nil {
		return nil, err
	}
	return &wire.UnlinkIdentityResponse{}, nil
}

const answerMethod = "skein.v1.AccountService/AnswerProviderLogin"

// callback is where a provider sends a browser back to: it goes on to where the client
// waits, or is shown the code. Neither is logged, nor told to another site.
func (d *door) callback(w http.ResponseWriter, r *http.Request, page *template.Template) {
	got, err := d.answered(r)
	if err == nil && got.GetReturnTo() != "" {
		secure(w.Header())
		w.Header().Set("Location", got.GetReturnTo())
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	secure(w.Header())
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	view, status := struct{ Code, Problem string }{Code: got.GetCode()}, http.StatusOK
	if err != nil {
		e := d.public(r, answerMethod, err)
		view.Problem, status = e.Message, e.Code.Info().HTTP
	}
	var b bytes.Buffer
	if err := page.Execute(&b, view); err != nil {
		http.Error(w, "the server failed", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// answered hands on what the provider says.
func (d *door) answered(r *http.Request) (*wire.AnswerProviderLoginResponse, error) {
	caller := im.Actor{Address: address(r, d.o.TrustedProxies).String()}
	if q, ok := d.o.Limiter.admit(ClassCredential, caller); !ok {
		return nil, limited(q)
	}
	q := r.URL.Query()
	payload, err := proto.Marshal(&wire.AnswerProviderLoginRequest{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")})
	if err != nil || len(payload) > answer {
		return nil, im.Errorf(im.CodeInvalidArgument, "the provider's answer cannot be read")
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.o.Timeout)
	defer cancel()
	m := d.methods[answerMethod]
	raw, err := d.ask(ctx, caller, m, payload, "")
	if err != nil {
		return nil, late(m, err)
	}
	got := new(wire.AnswerProviderLoginResponse)
	if err := proto.Unmarshal(raw, got); err != nil {
		return nil, im.Wrap(err, im.CodeInternal, "the server failed")
	}
	return got, nil
}
