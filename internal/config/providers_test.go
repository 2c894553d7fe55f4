package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func providersFile(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "providers.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(" s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProviders(t *testing.T) {
	all, err := Providers(providersFile(t, `
[corp]
title = "Example Corp"
issuer = "https://sso.example.com/realms/corp"
client_id = "skein"
client_secret_file = "secret"
create = false
link = "username"
[abc]
issuer = "http://127.0.0.1:9998"
client_id = "x"
`))
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if a := all[0]; a.Name != "abc" || a.Title != "abc" || !*a.Create || a.Link != "no" || a.Secret != "" || len(a.Scopes) != 2 {
		t.Errorf("the defaults are %+v", a)
	}
	if c := all[1]; c.Name != "corp" || c.Title != "Example Corp" || *c.Create || c.Link != "username" || c.Secret != "s3cret" {
		t.Errorf("what was set is %+v", c)
	}
}

// Each refusal names what is wrong.
func TestBadProviders(t *testing.T) {
	good := "issuer = \"https://sso.example.com\"\nclient_id = \"x\"\n"
	for text, says := range map[string]string{
		"[a]\nclient_id = \"x\"":                    "issuer",
		"[a]\nissuer = \"http://sso.example.com\"":  "issuer",
		"[a]\nissuer = \"https://sso.example.com\"": "client_id",
		"[A]\n" + good:                                          "a name is",
		"[a]\n" + good + "link = \"yes\"":                       "link",
		"[a]\n" + good + "client_secret = \"x\"":                `line 4: unknown key "a.client_secret", did you mean "a.client_secret_file"? (see docs/login-providers.md)`,
		"[a]\n" + good + "client_secret_file = \"not-there\"":   "client_secret_file",
		"[a]\n" + good + "scopes = 3":                           "line 4: a.scopes: want a list of texts",
		"[a]\n" + good + "create = \"no\"":                      `line 4: a.create: want true or false without quotes, got the text "no"`,
		"a = 3":                                                 `unknown key "a"`,
		"[a]\n" + good + "client_secret_file = \"/dev/null\"\n": "is empty",
	} {
		if _, err := Providers(providersFile(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want something about %s", text, err, says)
		}
	}
	c := Default()
	c.Accounts.Providers = providersFile(t, "[a]\n"+good)
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "http.public_url") {
		t.Errorf("without an address to come back to: %v", err)
	}
	c.HTTP.PublicURL = "https://chat.example.com"
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	c.Accounts.ReturnURLs = []string{"https://app.example/done", "nothing"}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("an address that is none: %v", err)
	}
}
