// Package browser has a client in one page of plain JavaScript, written from SPEC
// alone, and the test that drives it in Chromium.
package browser

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/server"
)

var update = flag.Bool("update", false, "write the hashes of index.html's style and script into its policy")

// The page lets nothing run but the script that stands in it, as it stands in it.
func TestPolicy(t *testing.T) {
	page, err := os.ReadFile("index.html")
	if err != nil {
		t.Fatal(err)
	}
	want := page
	for _, of := range []string{"script", "style"} {
		body := regexp.MustCompile(`(?s)<` + of + `>(.*)</` + of + `>`).FindSubmatch(page)
		if body == nil {
			t.Fatalf("no <%s>", of)
		}
		sum := sha256.Sum256(body[1])
		source := of + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		want = regexp.MustCompile(of+`-src '[^']*'`).ReplaceAllLiteral(want, []byte(source))
	}
	if bytes.Equal(page, want) {
		return
	}
	if !*update {
		t.Fatal("the policy has other hashes than the page: go test ./examples/browser -run Policy -update")
	}
	if err := os.WriteFile("index.html", want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// host is a server that can be stopped and started again, at one address and with
// what it has stored.
type host struct {
	settings map[string]string
	server   *server.Server
	stop     func()
}

func newHost(t *testing.T, settings map[string]string) *host {
	t.Helper()
	h := &host{settings: map[string]string{
		"data": filepath.Join(t.TempDir(), "data"), "http.listen": "127.0.0.1:0", "admin.listen": "", "gateway.drain_time": "100ms",
	}}
	maps.Copy(h.settings, settings)
	h.start(t)
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *host) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := server.Open(ctx, server.Options{Settings: h.settings})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	h.server, h.settings["http.listen"] = s, strings.TrimPrefix(s.URL(), "http://")
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	h.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		h.stop = func() {}
	}
}

// call calls a method over HTTP.
func (h *host) call(t *testing.T, method, token string, request, response any) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.server.URL()+"/api/skein.v1."+method, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", method, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(response); err != nil {
		t.Fatal(err)
	}
}

// site serves the page from an origin of its own.
func site(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.FileServer(http.Dir(".")))
	t.Cleanup(s.Close)
	return s
}

func (h *host) page(site *httptest.Server) string {
	return site.URL + "/?server=ws" + strings.TrimPrefix(h.server.URL(), "http") + "/ws"
}

const (
	status     = `document.getElementById("status").textContent`
	connection = `document.getElementById("status").dataset.connection`
	sent       = `[...document.querySelectorAll("#messages li[data-seq]")].map(li => li.firstChild.data.replace(/^\w+: /, "")).join("|")`
	waiting    = `document.querySelectorAll("#messages li:not([data-seq])").length`
)

func (b *tab) enter(t *testing.T, button, user string) {
	t.Helper()
	b.run(t, fmt.Sprintf(`username.value = %q, password.value = "a long password", document.getElementById(%q).click()`, user, button))
	b.until(t, user+" is connected", status, "connected")
}

func (b *tab) chat(t *testing.T, with string) {
	t.Helper()
	b.run(t, fmt.Sprintf(`peer.value = %q, document.getElementById("find").requestSubmit()`, with))
	b.until(t, "the chat is open", `String(compose.hidden)`, "false")
}

// write writes these messages as fast as somebody might who has a lot to say.
func (b *tab) write(t *testing.T, texts ...string) {
	t.Helper()
	list, _ := json.Marshal(texts)
	b.run(t, fmt.Sprintf(`void (async () => {
		for (const one of %s) {
			text.value = one
			compose.requestSubmit()
			await new Promise(done => setTimeout(done, 10))
		}
	})()`, list))
}

// people are two users: ann with two tabs of one browser, bob with one.
type people struct {
	h               *host
	pages           *httptest.Server
	chromium        *chromium
	home            profile // ann's
	ann, other, bob *tab
	said            []string
}

// shown waits until all three show all that was said: each once and in its order.
func (p *people) shown(t *testing.T) {
	t.Helper()
	want := strings.Join(p.said, "|")
	for who, b := range map[string]*tab{"ann": p.ann, "ann's other tab": p.other, "bob": p.bob} {
		b.until(t, who+" sees everything once and in order", sent, want)
		b.until(t, who+" has nothing unsent", waiting, 0)
	}
}

func (p *people) say(t *testing.T, b *tab, texts ...string) {
	t.Helper()
	p.said = append(p.said, texts...)
	b.write(t, texts...)
}

func numbered(what string, n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("%s %02d", what, i))
	}
	return texts
}

func TestBrowser(t *testing.T) {
	p := &people{pages: site(t)}
	p.h = newHost(t, map[string]string{
		"http.origins": strings.TrimPrefix(p.pages.URL, "http://"), "accounts.access_lifetime": "5s",
		// Few enough for some to be refused, and sent again in order.
		"gateway.send_rate": "20", "gateway.send_burst": "20",
	})
	p.chromium = startChromium(t)
	p.home = p.chromium.profile(t)
	p.ann, p.bob = p.home.open(t, p.h.page(p.pages)), p.chromium.profile(t).open(t, p.h.page(p.pages))
	p.ann.enter(t, "register", "ann")
	p.bob.enter(t, "register", "bob")
	p.ann.chat(t, "bob")
	p.bob.chat(t, "ann")
	p.other = p.home.open(t, p.h.page(p.pages))
	p.other.until(t, "the other tab is connected", status, "connected")
	p.other.chat(t, "bob")
	for _, step := range []struct {
		name string
		does func(*testing.T, *people)
	}{
		{"talk", talk}, {"restart", restart}, {"reload", reload}, {"renew", renew}, {"replaced", replaced}, {"revoked", revoked}, {"origin", otherOrigin},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.does(t, p) }) {
			break // the next one begins where this one ends
		}
	}
	for _, fault := range p.chromium.wrong() {
		t.Errorf("a page did something wrong: %s", fault)
	}
}

func talk(t *testing.T, p *people) {
	p.say(t, p.ann, `<img src=x onerror="document.title='run'"> ✓`)
	p.shown(t)
	p.bob.until(t, "nobody's text became HTML", `document.querySelectorAll("#messages img").length + document.title`, "0Skein in a browser")
	for _, b := range []*tab{p.ann, p.other} {
		b.until(t, "bob has read it", `document.querySelector("#messages li.mine small").textContent`, " ✓✓ read")
	}
	p.bob.run(t, `void text.dispatchEvent(new Event("input"))`)
	p.ann.until(t, "bob is typing", `typing.textContent`, "is typing …")
	p.say(t, p.bob, "hello, ann")
	p.shown(t)
	p.say(t, p.other, "from my other tab")
	p.shown(t)
}

// The server goes away and comes back while 100 messages are on their way: at the rate
// that it allows they take four seconds, and it takes one or two to go.
func restart(t *testing.T, p *people) {
	before := len(p.said)
	p.say(t, p.ann, numbered("restart", 100)...)
	p.ann.until(t, "some are stored", fmt.Sprintf(`document.querySelectorAll("#messages li[data-seq]").length > %d`, before+5), true)
	p.h.stop()
	if p.ann.run(t, waiting) == 0.0 {
		t.Fatal("all were sent before the server stopped: nothing is tested")
	}
	p.ann.until(t, "ann notices", connection, "")
	p.h.start(t)
	p.shown(t)
}

// What was written without a server is sent after a reload, once.
func reload(t *testing.T, p *people) {
	p.h.stop()
	p.ann.until(t, "ann notices", connection, "")
	p.say(t, p.ann, numbered("reload", 5)...)
	p.ann.until(t, "they wait", waiting, 5)
	if err := p.ann.c.do(t.Context(), p.ann.session, "Page.reload", nil, nil); err != nil {
		t.Fatal(err)
	}
	p.ann.until(t, "they wait, after the reload as well", waiting, 5)
	p.h.start(t)
	p.shown(t)
}

// Three times as long as its token is good a connection goes on.
func renew(t *testing.T, p *people) {
	p.ann.until(t, "ann is connected", status, "connected")
	before := p.ann.run(t, connection)
	p.ann.run(t, `new Promise(done => setTimeout(done, 11000))`)
	if after := p.ann.run(t, connection); after != before || after == "" {
		t.Fatalf("connection %v became %v: %v", before, after, p.ann.run(t, `document.body.innerText.slice(0, 300)`))
	}
	p.say(t, p.ann, "still here")
	p.shown(t)
}

// Another browser of ann's takes the place of this one, which says so and does not fight.
func replaced(t *testing.T, p *people) {
	elsewhere := p.chromium.profile(t).open(t, p.h.page(p.pages))
	elsewhere.enter(t, "enter", "ann")
	for _, b := range []*tab{p.ann, p.other} {
		b.until(t, "it says why it ended", status+`.slice(0, 9)`, "replaced:")
		b.until(t, "somebody may connect again", `String(again.hidden)`, "false")
	}
	elsewhere.run(t, `logout.click()`)
	p.ann.run(t, `again.click()`)
	p.other.run(t, `again.click()`)
	p.say(t, p.ann, "back again")
	p.shown(t)
}

// A session that is ended from elsewhere says why, in both tabs, and asks for a login.
func revoked(t *testing.T, p *people) {
	var login struct {
		Tokens struct{ AccessToken, Session string }
	}
	p.h.call(t, "AccountService/Login", "", map[string]any{
		"username": "ann", "password": "a long password", "device": map[string]any{"id": "elsewhere", "class": "DEVICE_CLASS_OTHER"},
	}, &login)
	var list struct {
		Sessions []struct {
			ID     string
			Client string
		}
	}
	p.h.call(t, "AccountService/ListSessions", login.Tokens.AccessToken, map[string]any{}, &list)
	ended := 0
	for _, s := range list.Sessions {
		if s.Client == "skein-browser-example" {
			p.h.call(t, "AccountService/RevokeSession", login.Tokens.AccessToken, map[string]any{"session": s.ID}, &struct{}{})
			ended++
		}
	}
	if ended == 0 { // a login whose answer was late is said twice
		t.Fatalf("no session of a browser in %+v", list)
	}
	p.ann.until(t, "it says why it ended", status+`.slice(0, 16)`, "session_revoked:")
	for _, b := range []*tab{p.ann, p.other} {
		b.until(t, "it asks for a login", `String(login.hidden)`, "false")
	}
	p.ann.enter(t, "enter", "ann")
	p.ann.chat(t, "bob")
	p.ann.until(t, "everything is there again, page by page", `older.hidden || older.click(), `+sent, strings.Join(p.said, "|"))
}

// A page of a site that is not in the list is told so.
func otherOrigin(t *testing.T, p *people) {
	b := p.chromium.profile(t).open(t, p.h.page(site(t)))
	b.run(t, `username.value = "eve", password.value = "a long password", register.click()`)
	b.until(t, "it says why", status+`.slice(0, 15)`, "origin_refused:")
}
