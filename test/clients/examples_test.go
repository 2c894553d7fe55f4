package clients

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/oidc/oidctest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/server"
)

var update = flag.Bool("update", false, "write the server's answers into proto/examples.json where they differ")

const examplesFile = "../../proto/examples.json"

// example is a call as the OpenAPI document shows it, and what came of it. They are
// carried out in the order of the file. Names that the server makes (ids, tokens,
// positions) stand in the file as some server made them; the test knows what they are
// called this time.
type example struct {
	Summary string `json:"summary"`
	// Method is without the package, as AccountService/Login.
	Method string `json:"method"`
	// As is who calls: a user by id or username, who got a token in an example before;
	// "key" for the admin key; empty for nobody.
	As string `json:"as,omitempty"`
	// Key is the idempotency key.
	Key     string          `json:"key,omitempty"`
	Request json.RawMessage `json:"request"`
	// Status is 200 if absent; a refusal's request is not shown in the document.
	Status   int             `json:"status,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

func loadExamples(t *testing.T) []*example {
	t.Helper()
	text, err := os.ReadFile(examplesFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []*example
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Every example of the OpenAPI document works, in the order in which they are
// written, and is answered as it says.
func TestExamples(t *testing.T) {
	sso := oidctest.New(comers()[0])
	t.Cleanup(sso.Close)
	s := serve(t, withProvider(t, sso))
	examples := loadExamples(t)
	p := &play{server: s, sso: sso, come: comers(), names: map[string]string{}, tokens: map[string]string{"": "", "key": s.key}, entries: map[string]map[string]any{}}
	p.names[claimCode(t, examples)] = code(t, s.Server)
	p.later(examples)
	for _, e := range examples {
		if err := p.carryOut(t, e); err != nil {
			t.Errorf("%s (%s): %v", e.Method, e.Summary, err)
			break // those that follow need it
		}
	}
	if *update {
		write(t, examples)
	}
}

// claimCode is what the one-time code is called in the examples.
func claimCode(t *testing.T, examples []*example) string {
	t.Helper()
	for _, e := range examples {
		var request struct{ Code string }
		if err := json.Unmarshal(e.Request, &request); err == nil && request.Code != "" && e.Method == "AdminService/ClaimAdmin" {
			return request.Code
		}
	}
	t.Fatal("no example claims the administrator's account")
	return ""
}

func code(t *testing.T, s *server.Server) string {
	t.Helper()
	u, err := url.Parse(s.ClaimURL())
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("code")
}

// play carries examples out against a server.
type play struct {
	server *running
	// sso is the provider by which people log in, browser what it sent the last one back
	// with; come are those who have not come yet.
	sso     *oidctest.Provider
	browser url.Values
	come    []oidctest.Says
	// names: what is called so in the examples is called so by this server.
	names map[string]string
	// tokens are the latest access tokens by user and username.
	tokens map[string]string
	// entries are those that were answered, by this server's ids.
	entries map[string]map[string]any
}

// later has what is scheduled be tomorrow, whenever that is: the first time stands for
// this time of tomorrow, the others are as far from it as they are in the file.
func (p *play) later(examples []*example) {
	tomorrow := time.Now().Add(24 * time.Hour).UnixMilli()
	first := int64(0)
	for _, e := range examples {
		if !strings.Contains(e.Method, "Scheduled") && !strings.HasSuffix(e.Method, "/ScheduleMessage") {
			continue
		}
		var request struct {
			AtMs int64 `json:"atMs,string"`
		}
		if err := json.Unmarshal(e.Request, &request); err != nil || request.AtMs == 0 {
			continue
		}
		if first == 0 {
			first = request.AtMs
		}
		p.names[fmt.Sprint(request.AtMs)] = fmt.Sprint(tomorrow + request.AtMs - first)
	}
}

func (p *play) carryOut(t *testing.T, e *example) error {
	t.Helper()
	token, ok := p.tokens[e.As]
	if !ok {
		return fmt.Errorf("%q got no token in an example before", e.As)
	}
	var request any
	if err := decode(e.Request, &request); err != nil {
		return err
	}
	if strings.HasPrefix(e.Method, "MediaService/") {
		if err := p.uploads(t, token); err != nil {
			return err
		}
	}
	if e.Method == "AccountService/AnswerProviderLogin" {
		for _, name := range []string{"state", "code"} {
			if called, ok := field(request, name).(string); ok {
				p.names[called] = p.browser.Get(name)
			}
		}
	}
	body, err := json.Marshal(p.here(request))
	if err != nil {
		return err
	}
	status, answer, err := p.call(t, e, token, body)
	if err != nil {
		return err
	}
	if want := cmp.Or(e.Status, http.StatusOK); status != want {
		return fmt.Errorf("status %d, not %d: %s", status, want, answer)
	}
	var got, want any
	if err := decode(answer, &got); err != nil {
		return err
	}
	if e.Response == nil && !*update {
		return fmt.Errorf("it has no response; go test ./test/clients -run TestExamples -update writes %s", answer)
	}
	if e.Response != nil {
		if err := decode(e.Response, &want); err != nil {
			return err
		}
	}
	if err := p.same("response", "", want, got); err != nil {
		if !*update {
			return fmt.Errorf("%w\nanswered: %s\nexample:  %s", err, answer, e.Response)
		}
		p.learn("", want, got)
		e.Response = p.back(answer)
	}
	p.keepToken(request, got)
	p.keepEntries(got)
	if secret, ok := field(got, "secret").(string); ok {
		p.names[appCode], err = skein.TOTPCode(secret, time.Now())
	}
	if to, ok := field(got, "url").(string); ok {
		err = p.browse(to)
	}
	return err
}

// comers are who logs in by the provider, in this order.
func comers() []oidctest.Says {
	return []oidctest.Says{
		{Subject: "sub-1", Username: "dora.lim", Name: "Dora Lim", Email: "dora@example.com", Verified: true},
		{Subject: "sub-2", Username: "carol.silva", Name: "Carol Silva", Email: "carol@example.com", Verified: true},
		{Subject: "sub-3", Username: "gwen.park", Name: "Gwen Park", Email: "gwen@example.com", Verified: true},
	}
}

// browse opens the address of a login by the provider, as the next one who comes.
func (p *play) browse(to string) error {
	if len(p.come) == 0 {
		return errors.New("nobody is left to log in by the provider")
	}
	p.sso.Say(func(s *oidctest.Says) { *s = p.come[0] })
	p.come = p.come[1:]
	back, err := p.sso.LogIn(to)
	if err != nil {
		return err
	}
	p.browser = back.Query()
	return nil
}

// withProvider are the settings of a server that people log in to by a provider.
func withProvider(t *testing.T, sso *oidctest.Provider) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"providers.toml": fmt.Sprintf("[corp]\ntitle = \"Example Corp\"\nissuer = %q\nclient_id = %q\nclient_secret_file = \"secret\"\n", sso.URL, oidctest.ClientID),
		"secret":         oidctest.Secret,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := freeAddress(t) // the provider has to know where it sends browsers
	return map[string]string{"accounts.guests": "10", "accounts.providers": filepath.Join(dir, "providers.toml"), "http.listen": at, "http.public_url": "http://" + at}
}

// freeAddress is one of loopback where nothing listens, and that the system gives to nobody
// by itself: otherwise any connection that is made meanwhile may take it.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, ports = 10_000, 20_000
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+rand.IntN(ports)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// keepEntries notes the entries of an answer.
func (p *play) keepEntries(answer any) {
	entries, _ := field(answer, "entries").([]any)
	for _, e := range entries {
		if id, ok := field(e, "id").(string); ok {
			p.entries[id] = e.(map[string]any)
		}
	}
}

func decode(text []byte, v *any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// longest is how long an example may be put off.
const longest = 10 * time.Second

// call asks, and again when it is told to come later, as a client does: all examples come
// from one address, which may try only so many secrets and codes at once.
func (p *play) call(t *testing.T, e *example, token string, body []byte) (int, []byte, error) {
	for began := time.Now(); ; {
		status, answer, err := p.ask(t, e, token, body)
		if err != nil || status != http.StatusTooManyRequests || e.Status == status {
			return status, answer, err
		}
		var refused struct{ RetryAfterMs int64 }
		if err := json.Unmarshal(answer, &refused); err != nil {
			return status, answer, err
		}
		wait := time.Duration(refused.RetryAfterMs) * time.Millisecond
		if wait <= 0 || time.Since(began)+wait > longest {
			return status, answer, nil
		}
		select {
		case <-t.Context().Done():
			return status, answer, t.Context().Err()
		case <-time.After(wait):
		}
	}
}

func (p *play) ask(t *testing.T, e *example, token string, body []byte) (int, []byte, error) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.server.URL()+"/api/skein.v1."+e.Method, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "example/1.0")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if e.Key != "" {
		r.Header.Set("Idempotency-Key", e.Key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}

// What the uploads of the examples are called.
const (
	exampleUpload  = "DLPXBP37257E4545KC64UXKC2I"
	examplePicture = "3KQ5ZB7YV2MNRX4TJHWD6GCEPA"
)

// uploads uploads a file and a picture, once: their bytes go by another door than the
// examples (SPEC §13.2).
func (p *play) uploads(t *testing.T, token string) error {
	if p.names[exampleUpload] != "" {
		return nil
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 6))); err != nil {
		return err
	}
	return errors.Join(
		p.upload(t, token, exampleUpload, "plan.txt", "Chapters 1 to 3, please."),
		p.upload(t, token, examplePicture, "shelf.png", picture.String()),
	)
}

func (p *play) upload(t *testing.T, token, called, name, content string) error {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.server.URL()+"/media/uploads", strings.NewReader(content))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream", "Upload-Length": fmt.Sprint(len(content)),
		"Upload-Metadata": "filename " + base64.StdEncoding.EncodeToString([]byte(name)),
	} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	at := answer.Header.Get("Location")
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("upload: %s, %w", answer.Status, err)
	}
	p.names[called] = strings.TrimPrefix(at, "/media/uploads/")
	return nil
}

// keepToken notes the token that was answered, for the user and for the username
// or display name that was asked with.
func (p *play) keepToken(request, answer any) {
	tokens, _ := field(answer, "tokens").(map[string]any)
	token, ok := tokens["accessToken"].(string)
	if !ok {
		return
	}
	for _, name := range []any{tokens["user"], field(request, "username"), field(request, "user"), field(request, "displayName")} {
		if s, ok := name.(string); ok {
			p.tokens[s] = token
		}
	}
}

func field(v any, name string) any {
	o, _ := v.(map[string]any)
	return o[name]
}

// here translates what a request says: what the server made is called as this server
// called it, anything else is meant as it stands.
func (p *play) here(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = p.here(value)
			if name == "newest" { // an entry that was told before: its time and place are this server's
				newest := out[name].(map[string]any)
				told := p.entries[fmt.Sprint(newest["id"])]
				newest["storedAtMs"], newest["pos"] = told["storedAtMs"], told["pos"]
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = p.here(value)
		}
		return out
	case string:
		return p.name(v)
	}
	return v
}

// name is what s is called by this server; from now on it is s itself, if it has no
// other name. The users of a direct chat are in the order of their real ids.
func (p *play) name(s string) string {
	if _, ok := p.names[s]; !ok {
		if parts := strings.Split(s, ":"); len(parts) == 3 && parts[0] == "dm" {
			users := []string{p.name(parts[1]), p.name(parts[2])}
			slices.Sort(users)
			return "dm:" + strings.Join(users, ":")
		}
		p.names[s] = s
	}
	return p.names[s]
}

// made are the fields whose values the server makes: a value that is new there is
// this server's name for the one in the example.
var made = []string{"user", "id", "session", "owner", "conversation", "accessToken", "refreshToken", "position", "timeline", "next", "secret", "uri", "ticket", "recoveryCodes", "url", "returnTo", "key"}

// linkCode is of links: to groups, to register, to set a password; other codes are of errors.
var linkCode = regexp.MustCompile("^([a-z2-7]{26}|sk[ipb]_.{43})$")

// appCode is what the authenticator app shows in the examples.
const appCode = "492039"

// differs are fields that may have any value of their type each time.
var differs = []string{"pos", "lastAddress", "address", "retryAfterMs", "path"}

// late are fields that an answer has a moment later only: what is noted behind.
var late = []string{"lastSeenAtMs"}

// fieldsOf are the fields of one, without late ones that the other has not.
func fieldsOf(one, other map[string]any) []string {
	names := slices.Sorted(maps.Keys(one))
	return slices.DeleteFunc(names, func(name string) bool {
		_, both := other[name]
		return !both && slices.Contains(late, name)
	})
}

// same compares an answer with the one of the example: the same fields, as many items,
// values of the same type; and the same values where the server does not make them.
func (p *play) same(at, name string, want, got any) error {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is no object", at)
		}
		if name == "health" { // figures of a moment
			for _, always := range []string{"version", "nodes", "stores", "later", "ready"} {
				if got[always] == nil {
					return fmt.Errorf("%s has no %s", at, always)
				}
			}
			return nil
		}
		a, b := fieldsOf(want, got), fieldsOf(got, want)
		if !slices.Equal(a, b) {
			return fmt.Errorf("%s has the fields %v, the example's has %v", at, b, a)
		}
		for _, name := range a {
			if err := p.same(at+"."+name, name, want[name], got[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return fmt.Errorf("%s is no list of %d", at, len(want))
		}
		byName(want)
		byName(got)
		for i := range want {
			if err := p.same(fmt.Sprintf("%s[%d]", at, i), name, want[i], got[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		got, ok := got.(string)
		if !ok || got == "" {
			return fmt.Errorf("%s is no text", at)
		}
		return p.sameText(at, name, want, got)
	}
	if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) || want != got && !slices.Contains(differs, name) {
		return fmt.Errorf("%s is %v, the example's %v", at, got, want)
	}
	return nil
}

// byName sorts people, who are listed by ids that the server made.
func byName(list []any) {
	called := func(v any) string {
		name, ok := field(v, "displayName").(string)
		if !ok { // an account
			name, _ = field(field(v, "user"), "displayName").(string)
		}
		return name
	}
	slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(called(a), called(b)) })
}

func (p *play) sameText(at, name, want, got string) error {
	known, ok := p.names[want]
	switch {
	case ok && known == got:
		return nil
	case !ok && (slices.Contains(made, name) || name == "code" && linkCode.MatchString(want)) && !strings.HasPrefix(want, "dm:"):
		p.names[want] = got
		return nil
	case slices.Contains(differs, name), !ok && strings.HasSuffix(name, "Ms"), name == "revision" && len(want) == len("1760000000000"): // that of the stickers is a time
		return nil
	}
	if p.name(want) != got {
		return fmt.Errorf("%s is %q, the example's %q is %q here", at, got, want, p.name(want))
	}
	return nil
}

// learn takes from an answer what this server calls the names of the example, also
// where the rest of it differs.
func (p *play) learn(name string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		for name, value := range want {
			p.learn(name, value, field(got, name))
		}
	case []any:
		got, _ := got.([]any)
		for i := range min(len(want), len(got)) {
			p.learn(name, want[i], got[i])
		}
	case string:
		if got, ok := got.(string); ok && slices.Contains(made, name) {
			_ = p.sameText("", name, want, got)
		}
	}
}

// back writes an answer for the file: what has a name in the examples is called so.
func (p *play) back(answer []byte) json.RawMessage {
	text := string(answer)
	for name, here := range p.names {
		if name != here {
			text = strings.ReplaceAll(text, `"`+here+`"`, `"`+name+`"`)
		}
	}
	return json.RawMessage(text)
}

func write(t *testing.T, examples []*example) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(examples); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(examplesFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
