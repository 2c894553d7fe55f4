package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// fromText loads a file with this text.
func fromText(t *testing.T, text string, environ ...string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings") // no word of the errors
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, environ)
	if err != nil && !strings.Contains(err.Error(), path) && len(environ) == 0 {
		t.Errorf("%v does not name the file", err)
	}
	return c, err
}

// Whoever wrote a file that cannot be taken reads the line, what is wrong there, and what
// would be right, in words that know nothing of how the server is made.
func TestWrongFiles(t *testing.T) {
	for text, want := range map[string]string{
		// Names.
		"[http]\nlissen = \"x\"":                     `line 2: unknown key "http.lissen", did you mean "http.listen"?`,
		"[http]\n\nlsiten = 1\nlisten = \":1\"":      `line 3: unknown key "http.lsiten", did you mean "http.listen"?`,
		"\n[htpp]\nlisten = \"x\"\nx = 1":            `line 2: unknown section [htpp], did you mean [http]?`,
		"htpp.listen = \"x\"":                        `line 1: unknown key "htpp.listen", did you mean "http.listen"?`,
		"level = \"debug\"":                          `line 1: unknown key "level", did you mean "log.level"?`,
		"max_connections = 5":                        `line 1: unknown key "max_connections", did you mean "http.max_connections" or "gateway.max_connections"?`,
		"[tls]\ncertificate = \"x\"":                 `line 2: unknown key "tls.certificate", did you mean "tls.cert"?`,
		"[http]\ndata = \"x\"":                       `line 2: unknown key "http.data", did you mean "data"? It stands before the first [section]`,
		"\"http.listen\" = \"x\"":                    `line 1: unknown key "\"http.listen\"", did you mean "http.listen"?`,
		"[http]\nzzz = 1":                            "line 2: unknown key \"http.zzz\" (see `skein config doc`)",
		"[http]\nlisten = \":1\"\n[http.tls]\na = 1": `line 3: unknown section [http.tls]`,
		"http = { lissen = \"x\" }":                  `line 1: unknown key "http.lissen", did you mean "http.listen"?`,
		// Types.
		"[gateway]\nmax_connections = \"many\"":             `line 2: gateway.max_connections: want a whole number without quotes, got the text "many"`,
		"[gateway]\nmax_connections = 1.5":                  `line 2: gateway.max_connections: want a whole number, got the number 1.5`,
		"[http]\nlisten = 8080":                             `line 2: http.listen: want a text in quotes, got the number 8080`,
		"[http]\nlisten = [\"a\"]":                          `line 2: http.listen: want a text in quotes, got a list`,
		"[http.listen]\nhost = \"a\"":                       `line 1: http.listen: want a text in quotes, got a section`,
		"[http]\npublic_url = 2026-01-02":                   `line 2: http.public_url: want a text in quotes, got a date or time`,
		"[http]\norigins = \"shop.example\"":                `line 2: http.origins: want a list of texts like ["one", "two"], got the text "shop.example"`,
		"[http]\norigins = [\n \"a\",\n 3,\n]":              `line 2: http.origins: want a list of texts like ["one", "two"], got a list with the number 3 in it`,
		"[gateway]\ndeflate = \"yes\"":                      `line 2: gateway.deflate: want true or false without quotes, got the text "yes"`,
		"[gateway]\nsend_rate = true":                       `line 2: gateway.send_rate: want a number, got true`,
		"[gateway]\ndrain_time = 5":                         `line 2: gateway.drain_time: "5" is not a duration like 90s, 5m, 24h, 60d or 2w`,
		"[gateway]\ndrain_time = true":                      `line 2: gateway.drain_time: want a duration like "90s", "5m", "24h" or "60d", got true`,
		"[media]\nmax_bytes = 1.5":                          `line 2: media.max_bytes: want a size like "64MiB", got the number 1.5`,
		"[media]\nmax_bytes = \"many\"":                     `line 2: media.max_bytes: "many" is not a size like 64MiB`,
		"http = 3":                                          `line 1: http: want a section, [http], got the number 3`,
		"[[http]]\nlisten = \":1\"":                         `http: want a section, [http], got a list of sections, [[…]]`,
		"[[listeners]]\nurl = \":1\"":                       `listeners: want a list of texts like ["one", "two"], got a list of sections, [[…]] with a section in it`,
		"[gateway]\nmax_connections = 99999999999999999999": `line 2: 99999999999999999999 is out of range`,
		// What is no TOML.
		"[http]\nlisten = :8080":                 `line 2: `,
		"[http]\nlisten = \"a\"\nlisten = \"b\"": `line 3: `,
	} {
		_, err := fromText(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
			continue
		}
		for _, of := range []string{"int64", "destination", "struct", "toml:", "config.", "interface"} {
			if strings.Contains(strings.ReplaceAll(err.Error(), "skein config doc", ""), of) {
				t.Errorf("%q: %v speaks of %q", text, err, of)
			}
		}
	}
}

// All that is wrong is said at once, in the order of the file, once each, and what is right
// is taken: the log that tells it has the form that the file says.
func TestAllThatIsWrongIsSaid(t *testing.T) {
	c, err := fromText(t, "[gateway]\nmax_users = 3\nsend_burst = \"x\"\n[htpp]\na = 1\nb = 2\n[log]\nformat = \"json\"\n",
		"SKEIN_LOG_LEVL=debug", "SKEIN_GROUPS_MAX_MEMBERS=many", "SKEIN_LOG_SLOW=2s")
	if err == nil {
		t.Fatal("it is taken")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{"line 2: unknown key", "line 3: gateway.send_burst", "line 4: unknown section [htpp]", "unknown setting SKEIN_LOG_LEVL, did you mean SKEIN_LOG_LEVEL?", "SKEIN_GROUPS_MAX_MEMBERS"} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d of the error does not have %q:\n%v", i+1, want, err)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d lines:\n%v", len(lines), err)
	}
	if c.Log.Format != "json" || c.Log.Slow != Duration(2e9) {
		t.Errorf("the log is %+v", c.Log)
	}
}

// Secrets are in no error.
func TestErrorsShowNoSecret(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		"cluster = \"nats://u:" + secret + "@h:1\"",
		"cluster = [\"nats://u:x@h:1\", \"http://u:" + secret + "@h\"]\n[node]\nsecret = \"" + strings.Repeat(secret, 5) + "\"",
		"store = [\"postgres://u:" + secret + "@h/d\"]",
		"[node]\nsecret = [\"" + secret + "\"]",
		"[http]\npublic_url = \"https://me:" + secret + "@chat.example\"",
	} {
		c, err := fromText(t, text)
		if err == nil {
			err = c.Check()
		}
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What was taken before is taken: any case of a name, dotted names, tables in a line, whole
// numbers where a fraction may stand, sizes and no time at all without quotes.
func TestFormsOfAFile(t *testing.T) {
	c, err := fromText(t, "log.level = \"debug\"\nhttp = { listen = \":1\", Origins = [\"a\", \"b\"] }\n[Gateway]\nSend_Rate = 7\ndeflate = false\ndrain_time = 0\n[media]\nmax_bytes = 1000\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Log.Level, want.HTTP.Listen, want.HTTP.Origins = "debug", ":1", []string{"a", "b"}
	want.Gateway.SendRate, want.Gateway.Deflate, want.Gateway.DrainTime, want.Media.MaxBytes = 7, false, 0, 1000
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%s\nwant\n%s", c.Print(), want.Print())
	}
	if c, err := fromText(t, ""); err != nil || !reflect.DeepEqual(c, Default()) {
		t.Errorf("an empty file: %v", err)
	}
}

// Unknown names of the environment and of --set are told with what is near.
func TestUnknownNames(t *testing.T) {
	for name, want := range map[string]string{
		"SKEIN_HTTP_LISSEN":           "SKEIN_HTTP_LISSEN, did you mean SKEIN_HTTP_LISTEN?",
		"SKEIN_NODE_SECERT_FILE":      "SKEIN_NODE_SECERT_FILE, did you mean SKEIN_NODE_SECRET_FILE?",
		"SKEIN_LEVEL":                 "SKEIN_LEVEL, did you mean SKEIN_LOG_LEVEL?",
		"SKEIN_PORT_8080_TCP_ADDR":    "SKEIN_PORT_8080_TCP_ADDR (see", // of Kubernetes' service links
		"SKEIN_SERVICE_PORT_HTTP":     "SKEIN_SERVICE_PORT_HTTP (see",
		"SKEIN_PORT":                  "SKEIN_PORT (see",
		"SKEIN_HTTP_MAX_CONECTIONS=5": "SKEIN_HTTP_MAX_CONECTIONS, did you mean SKEIN_HTTP_MAX_CONNECTIONS?",
	} {
		if _, err := Load("", []string{name + "=1"}); err == nil || !strings.Contains(err.Error(), "environment: unknown setting "+want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	c := Default()
	if err := c.Set("gateway.send_rat", "1"); err == nil || !strings.Contains(err.Error(), `unknown setting "gateway.send_rat", did you mean "gateway.send_rate"?`) {
		t.Error(err)
	}
}

// Every setting can be given by the environment and by --set as it stands in a file.
func TestEverySettingIsSet(t *testing.T) {
	c := Default()
	for _, s := range settings(&c) {
		value := strings.Trim(strings.NewReplacer("[", "", "]", "").Replace(s.toml()), `"`)
		if _, err := Load("", []string{variable(s.Key) + "=" + value}); err != nil {
			t.Error(err)
		}
	}
	if err := c.Set("gateway.deflate", "false"); err != nil || c.Gateway.Deflate {
		t.Errorf("gateway.deflate is %v: %v", c.Gateway.Deflate, err)
	}
	if err := c.Set("gateway.deflate", "no"); err == nil || !strings.Contains(err.Error(), "neither true nor false") {
		t.Error(err)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"listen", "listen", 0}, {"lissen", "listen", 1}, {"lsiten", "listen", 1}, {"liste", "listen", 1}, {"listeen", "listen", 1}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
