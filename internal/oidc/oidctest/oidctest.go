// Package oidctest is a provider of OpenID Connect for tests: it lets in whom it is told
// to, and says wrong things when it is told to.
//
// It owns one HTTP server on loopback. All methods may be called concurrently.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"
)

// ClientID is the client that the provider knows, Secret its secret.
const (
	ClientID = "skein"
	Secret   = "the secret of the tests"
)

// Says is what the provider says of who logs in, and what is wrong with it.
type Says struct {
	Subject, Username, Name, Email string
	Verified                       bool
	// Issuer, Audience, Party and Nonce are said in the place of the right ones.
	Issuer, Nonce, Party string
	Audience             any
	// Behind is how far the provider's clock is behind.
	Behind time.Duration
	// Alg is said to be the algorithm; none: there is no signature.
	Alg string
	// OtherKey: the token is signed with a key that the provider does not publish.
	OtherKey bool
	// UserInfo: names are told there and not in the ID token; OtherUser: of another subject.
	UserInfo, OtherUser bool
	// Denied: nobody is let in.
	Denied bool
	// Status is what the token endpoint answers; 0: 200.
	Status int
}

// Provider is one.
type Provider struct {
	// URL is the issuer.
	URL    string
	server *httptest.Server

	mu    sync.Mutex
	says  Says
	down  bool
	hang  chan struct{}
	key   *ecdsa.PrivateKey
	kid   int
	codes map[string]url.Values
	asked map[string]int
	Now   func() time.Time
}

// New starts a provider; Close ends it.
func New(says Says) *Provider {
	p := &Provider{says: says, codes: map[string]url.Values{}, asked: map[string]int{}, Now: time.Now}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", p.configuration)
	mux.HandleFunc("/authorize", p.authorize)
	mux.HandleFunc("/token", p.token)
	mux.HandleFunc("/userinfo", p.userInfo)
	mux.HandleFunc("/keys", p.keys)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked[r.URL.Path]++
		down, hang := p.down, p.hang
		p.mu.Unlock()
		if hang != nil {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
		if down {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	p.URL = p.server.URL
	return p
}

// Close ends the provider.
func (p *Provider) Close() {
	p.Hang(false)
	p.server.Close()
}

// Say changes what the provider says.
func (p *Provider) Say(change func(*Says)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.says)
}

// Down has the provider fail at everything.
func (p *Provider) Down(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// Hang has the provider answer nothing until it is called with false.
func (p *Provider) Hang(hang bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hang != nil {
		close(p.hang)
		p.hang = nil
	}
	if hang {
		p.hang = make(chan struct{})
	}
}

// Asked is how often a path was asked for.
func (p *Provider) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

// Rotate gives the provider another key.
func (p *Provider) Rotate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = key
	p.kid++
}

// LogIn is a browser that opens the address of a login: it returns what the provider
// sends it back with, and where to.
func (p *Provider) LogIn(address string) (*url.URL, error) {
	client := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		return nil, fmt.Errorf("the provider answered %s", resp.Status)
	}
	return resp.Location()
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *Provider) configuration(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys", "userinfo_endpoint": p.URL + "/userinfo",
		"id_token_signing_alg_values_supported": []string{"ES256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
	})
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != ClientID || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("state") == "" {
		http.Error(w, "a wrong request", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	p.codes[code] = q
	to := url.Values{"state": {q.Get("state")}, "code": {code}}
	if p.says.Denied {
		to = url.Values{"state": {q.Get("state")}, "error": {"access_denied"}}
	}
	back.RawQuery = to.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	p.mu.Lock()
	defer p.mu.Unlock()
	q, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if plain, err := url.QueryUnescape(secret); err == nil {
		secret = plain
	}
	if !ok || id != ClientID || secret != Secret || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") || r.PostFormValue("redirect_uri") != q.Get("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	if p.says.Status != 0 {
		w.WriteHeader(p.says.Status)
		return
	}
	answer(w, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": p.sign(p.claims(q.Get("nonce")))})
}

func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

func (p *Provider) claims(nonce string) map[string]any {
	s, now := p.says, p.Now().Add(-p.says.Behind)
	c := map[string]any{
		"iss": or(s.Issuer, p.URL), "sub": s.Subject, "aud": or(s.Audience, any(ClientID)), "nonce": or(s.Nonce, nonce), "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
	}
	if s.Party != "" {
		c["azp"] = s.Party
	}
	if !s.UserInfo {
		p.named(c)
	}
	return c
}

func (p *Provider) named(c map[string]any) {
	s := p.says
	c["preferred_username"], c["name"], c["email"], c["email_verified"] = s.Username, s.Name, s.Email, s.Verified
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer access" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := map[string]any{"sub": p.says.Subject}
	if p.says.OtherUser {
		c["sub"] = p.says.Subject + "-other"
	}
	p.named(c)
	answer(w, c)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	raw, err := p.key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	answer(w, map[string]any{"keys": []any{map[string]string{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": fmt.Sprint(p.kid), "x": text(raw[1:33]), "y": text(raw[33:])}}})
}

func (p *Provider) sign(claims map[string]any) string {
	text := base64.RawURLEncoding.EncodeToString
	part := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return text(raw)
	}
	body := part(map[string]string{"alg": or(p.says.Alg, "ES256"), "kid": fmt.Sprint(p.kid), "typ": "JWT"}) + "." + part(claims)
	if p.says.Alg == "none" {
		return body + "."
	}
	key := p.key
	if p.says.OtherKey {
		key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	sum := sha256.Sum256([]byte(body))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		panic(err)
	}
	return body + "." + text(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}
