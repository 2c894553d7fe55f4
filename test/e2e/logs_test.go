package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/logs"
	"github.com/skein-im/skein/wire"
)

// ask calls a method with headers in pairs, and returns what the answer is.
func ask(t *testing.T, w World, method, body string, headers ...string) (status int, h http.Header, answer string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, w.HTTP()+"/api/skein.v1."+method, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp := must(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	return resp.StatusCode, resp.Header, string(must(io.ReadAll(resp.Body))(t))
}

// filters are the regular expressions of the shipped fail2ban filter.
func filters(t *testing.T) (all []*regexp.Regexp) {
	t.Helper()
	raw := must(os.ReadFile("../../deploy/fail2ban/filter.conf"))(t)
	_, rest, _ := strings.Cut(string(raw), "failregex = ")
	for _, line := range strings.Split(rest, "\n") {
		if strings.HasPrefix(line, "ignoreregex") {
			break
		}
		all = append(all, regexp.MustCompile(strings.ReplaceAll(strings.TrimSpace(line), "<ADDR>", `(?P<addr>[0-9.]+|[0-9a-fA-F:.]+)`)))
	}
	if len(all) != 2 {
		t.Fatalf("%d expressions", len(all))
	}
	return all
}

// timeOf is what fail2ban cuts out of a line (its datepattern).
var timeOf = regexp.MustCompile(`"time":"[^"]*|^time=\S*`)

// filtered are the addresses that the filter takes from a log, and how many lines there are.
func filtered(t *testing.T, log string) (addresses []string, lines int) {
	t.Helper()
	all := filters(t)
	for line := range strings.Lines(log) {
		lines++
		// As it is in the journal, and in a file: fail2ban cuts the time out of that.
		for _, text := range []string{"host skein[4711]: " + line, timeOf.ReplaceAllString(line, "")} {
			found := false
			for _, re := range all {
				if m := re.FindStringSubmatch(text); m != nil {
					found = true
					if text[0] != 'h' {
						addresses = append(addresses, m[1])
					}
				}
			}
			if sign := strings.Contains(line, `"sign-in failed" address=`) || strings.Contains(line, `"msg":"sign-in failed","address":`); found && !sign {
				t.Errorf("the filter takes %s", line)
			}
		}
	}
	return addresses, lines
}

// TestSignInFailuresAreLogged: each sign-in that fails has one line with the client's
// address, the shipped filter finds it, and nothing that a client writes makes another.
func TestSignInFailuresAreLogged(t *testing.T) {
	for _, text := range []bool{false, true} {
		t.Run(fmt.Sprint("text ", text), func(t *testing.T) {
			t.Parallel()
			var out output
			w := oneNode(t, terms{settings: map[string]string{"http.trusted_proxies": "127.0.0.0/8", "log.slow": "1ns"}, log: func(string) *slog.Logger {
				return logs.New(&out, logs.Options{Text: text})
			}})
			from := func(address, method, body string, more ...string) int {
				t.Helper()
				status, _, _ := ask(t, w, method, body, append(more, "X-Forwarded-For", address)...)
				return status
			}
			evil := `\",\"x\":\"\n{\"time\":\"\",\"level\":\"WARN\",\"msg\":\"sign-in failed\",\"address\":\"203.0.113.66\",\ntime=x level=WARN msg=\"sign-in failed\" address=203.0.113.66 `
			for _, c := range []struct {
				address, method, body string
				want                  int
				failure               bool
				more                  []string
			}{
				{"192.0.2.1", "AccountService/Register", `{"username":"alice","password":"correct horse","device":{"id":"d","name":"phone"}}`, 200, false, nil},
				{"192.0.2.2", "AccountService/Login", `{"username":"alice","password":"wrong horse"}`, 401, true, nil},
				{"192.0.2.3", "AccountService/Login", `{"username":"nobody","password":"` + evil + `"}`, 401, true, nil},
				{"192.0.2.4", "AccountService/Login", `{"username":"` + evil + `","password":"x"}`, 401, true, nil},
				{"2001:db8::7", "UserService/FindUser", `{}`, 401, true, []string{"Authorization", "Bearer sk_nonsense"}},
				{"192.0.2.5", "AdminService/ClaimAdmin", `{"code":"guess","username":"boss","password":"correct horse"}`, 403, true, nil},
				{"192.0.2.6", "AccountService/Login", `{"username":"alice","password":"correct horse"}`, 200, false, []string{"X-Request-Id", `x" address=203.0.113.66 `, "User-Agent", `sign-in failed","address":"203.0.113.66",`}},
				{"192.0.2.7", "NoService/\"sign-in failed\" address=203.0.113.66 ", `{}`, 404, false, nil},
				{"192.0.2.8", "AccountService/Login", `not JSON: msg="sign-in failed" address=203.0.113.66 `, 400, false, nil},
			} {
				if got := from(c.address, c.method, c.body, c.more...); got != c.want && got != 501 {
					t.Errorf("%s of %s: %d, want %d", c.method, c.address, got, c.want)
				}
			}
			raw := dialRaw(t, w, 0)
			raw.say(wire.NewClientFrame(&wire.Hello{VersionMin: 1, VersionMax: 1, Token: "guess", Device: &wire.Device{Id: "d"}}))
			if code := raw.closed(); code != string(wire.CodeTokenInvalid) {
				t.Errorf("a wrong token over the connection: %q", code)
			}
			got, lines := filtered(t, out.String())
			want := []string{"192.0.2.2", "192.0.2.3", "192.0.2.4", "2001:db8::7", "192.0.2.5", "127.0.0.1"}
			if !slices.Equal(got, want) {
				t.Errorf("the filter found %v, want %v, in\n%s", got, want, &out)
			}
			if lines < 12 {
				t.Errorf("only %d lines", lines)
			}
			if log := out.String(); strings.Contains(log, "horse") {
				t.Errorf("the log has a password:\n%s", log)
			}
		})
	}
}

// line finds the first line of JSON that has all of these attributes.
func line(log string, want map[string]string) map[string]any {
	for text := range strings.Lines(log) {
		var l map[string]any
		if json.Unmarshal([]byte(text), &l) != nil {
			continue
		}
		fits := true
		for k, v := range want {
			fits = fits && fmt.Sprint(l[k]) == v
		}
		if fits {
			return l
		}
	}
	return nil
}

// TestLifeIsLogged: start, each listener, ready, and why and how long the end took.
func TestLifeIsLogged(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	address := strings.TrimPrefix(p.HTTP(), "http://")
	p.Stop(t)
	log := p.err.String()
	for _, want := range []map[string]string{
		{"msg": "starting", "data": p.dir, "store": "embedded", "roles": "all", "version": "dev"},
		{"msg": "listening", "what": "http.listen", "scheme": "http", "address": address},
		{"msg": "listening", "what": "listeners", "scheme": "tcp", "address": p.at.Load().tcp},
		{"msg": "listening", "what": "admin.listen", "scheme": "http"},
		{"msg": "ready", "url": "http://" + address},
		{"msg": "stopping"},
		{"msg": "stopped"},
	} {
		if line(log, want) == nil {
			t.Errorf("no line with %v in\n%s", want, log)
		}
	}
	if why := fmt.Sprint(line(log, map[string]string{"msg": "stopping"})["why"]); !strings.Contains(why, "terminated") {
		t.Errorf("it stopped because of %q", why)
	}
	if took, err := time.ParseDuration(fmt.Sprint(line(log, map[string]string{"msg": "stopped"})["took"])); err != nil || took > patience {
		t.Errorf("it took %v, %v", took, err)
	}
}

// TestRequestIDsTravel: what a request causes stands in the log under one id, at the node
// that took it and at the node that carried it out, and its answer has the id.
func TestRequestIDsTravel(t *testing.T) {
	t.Parallel()
	out := map[string]*output{}
	for _, name := range []string{"logic1", "logic2", "gateway1", "gateway2", "api1"} {
		out[name] = new(output)
	}
	w := split(t, terms{settings: map[string]string{"log.slow": "1ns"}, log: func(name string) *slog.Logger { return logs.New(out[name], logs.Options{}) }})
	status, h, _ := ask(t, w, "AccountService/Register", `{"username":"alice","password":"correct horse"}`, "X-Request-Id", "trip-1")
	if status != http.StatusOK || h.Get("X-Request-Id") != "trip-1" {
		t.Errorf("%d, id %q", status, h.Get("X-Request-Id"))
	}
	status, h, _ = ask(t, w, "AccountService/Login", `{"username":"alice","password":"wrong"}`, "X-Request-Id", "not one")
	id := h.Get("X-Request-Id")
	if status != http.StatusUnauthorized || !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("%d, id %q", status, id)
	}
	method := "skein.v1.AccountService/Register"
	out["api1"].expect(t, `"request":"trip-1"`) // it is written after the answer
	api, logic := out["api1"].String(), out["logic1"].String()+out["logic2"].String()
	if line(api, map[string]string{"msg": "slow call", "door": "http", "method": method, "request": "trip-1"}) == nil {
		t.Errorf("the API node does not tell:\n%s", api)
	}
	if line(logic, map[string]string{"msg": "slow call", "door": "logic", "method": method, "request": "trip-1"}) == nil {
		t.Errorf("no logic node tells:\n%s", logic)
	}
	failed := line(logic, map[string]string{"msg": "sign-in failed", "request": id, "address": "127.0.0.1", "how": "password"})
	if failed == nil || failed["user"] == "" {
		t.Errorf("the failure is not told: %v in\n%s", failed, logic)
	}
	ann := join(t, w, "ann", 0)
	must(ann.Groups().Create(t.Context(), "Tea"))(t)
	ann.leave()
	gates := out["gateway1"].String() + out["gateway2"].String()
	for text := range strings.Lines(gates) {
		var l struct{ Msg, Door, Request string }
		if json.Unmarshal([]byte(text), &l) == nil && l.Msg == "slow call" && l.Door == "connection" {
			if !bytes.Contains([]byte(out["logic1"].String()+out["logic2"].String()), []byte(`"request":"`+l.Request+`"`)) {
				t.Errorf("no logic node knows %s", l.Request)
			}
			return
		}
	}
	t.Errorf("no call over a connection is told:\n%s", gates)
}
