package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
)

func TestDefaultsNeedNoKey(t *testing.T) {
	c, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Listen != "127.0.0.1:8080" || c.Data != "./data" || c.Gateway.MaxPerAddress != 2000 {
		t.Fatalf("defaults: %+v", c)
	}
}

// What is printed, and what is documented, is a file that gives the same settings.
func TestPrintedFileReadsBack(t *testing.T) {
	want := Default()
	want.Listeners = []string{"tcp://127.0.0.1:7000"}
	want.Accounts.RefreshLifetime = Duration(90 * time.Minute)
	path := filepath.Join(t.TempDir(), "skein.toml")
	if err := os.WriteFile(path, []byte(want.Print()), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, want.Print())
	}
	if got.Print() != want.Print() {
		t.Fatalf("got\n%s\nwant\n%s", got.Print(), want.Print())
	}
	var c Config
	if _, err := toml.Decode(Doc(), &c); err != nil {
		t.Fatal(err)
	}
	if d := Default(); c.Print() != d.Print() {
		t.Fatal("the documentation does not show the defaults")
	}
	for _, s := range settings(&c) {
		if s.Doc == "" {
			t.Errorf("%s is not documented", s.Key)
		}
	}
}

// TestDuration: days and weeks are whole numbers, and none is longer than a duration can be.
func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "2d": 48 * time.Hour, "2w": 14 * 24 * time.Hour, "-1d": -24 * time.Hour, "0w": 0,
		"1.5d": -1, "d": -1, "20000w": -1, "999999999999d": -1, "1y": -1, "": -1,
	} {
		var d Duration
		err := d.UnmarshalText([]byte(text))
		if refused := want == -1; (err != nil) != refused || !refused && time.Duration(d) != want {
			t.Errorf("%q is %v: %v", text, time.Duration(d), err)
		}
	}
}

func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "skein.toml")
	secret := filepath.Join(dir, "listen")
	os.WriteFile(path, []byte("data = \"file\"\n[http]\nlisten = \"1.1.1.1:1\"\n[log]\nlevel=\"warn\"\n"), 0o600)
	os.WriteFile(secret, []byte("4.4.4.4:4\n"), 0o600)
	c, err := Load(path, []string{"PATH=/bin", "SKEIN_SERVER=http://x", "SKEIN_CONFIG=" + path, "SKEIN_IMPORT_TOKEN=xoxb-1", "SKEIN_HTTP_LISTEN=2.2.2.2:2", "SKEIN_LISTENERS=tcp://a:1, tls://b:2", "SKEIN_ADMIN_LISTEN_FILE=" + secret})
	if err != nil {
		t.Fatal(err)
	}
	if c.Data != "file" || c.HTTP.Listen != "2.2.2.2:2" || c.Log.Level != "warn" || len(c.Listeners) != 2 || c.Admin.Listen != "4.4.4.4:4" {
		t.Fatalf("%s", c.Print())
	}
	if err := c.Set("http.listen", "3.3.3.3:3"); err != nil || c.HTTP.Listen != "3.3.3.3:3" {
		t.Fatal(err, c.HTTP.Listen)
	}
}

func TestRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "skein.toml")
	for name, tc := range map[string]struct {
		file, want string
		env        []string
	}{
		"unknown key":       {file: "[http]\nlissen = \"x\"\n", want: "http.lissen"},
		"unknown section":   {file: "[htpp]\nlisten = \"x\"\n", want: "htpp"},
		"wrong type":        {file: "[gateway]\nmax_connections = \"many\"\n", want: "max_connections"},
		"unknown variable":  {env: []string{"SKEIN_HTTP_LISSEN=x"}, want: "SKEIN_HTTP_LISSEN"},
		"bad duration":      {env: []string{"SKEIN_GATEWAY_DRAIN_TIME=soon"}, want: "soon"},
		"bad number":        {env: []string{"SKEIN_GROUPS_MAX_MEMBERS=1e3"}, want: "1e3"},
		"missing file":      {env: []string{"SKEIN_DATA_FILE=/nonexistent"}, want: "SKEIN_DATA_FILE"},
		"listener no url":   {env: []string{"SKEIN_LISTENERS=7000"}, want: "listeners"},
		"listen no port":    {env: []string{"SKEIN_HTTP_LISTEN=localhost"}, want: "http.listen"},
		"policy":            {env: []string{"SKEIN_ACCOUNTS_DEVICE_POLICY=two"}, want: "accounts.device_policy"},
		"cert without key":  {env: []string{"SKEIN_TLS_CERT=x"}, want: "tls"},
		"zero":              {env: []string{"SKEIN_GATEWAY_MAX_CONNECTIONS=0"}, want: "gateway.max_connections"},
		"negative lifetime": {env: []string{"SKEIN_ACCOUNTS_ACCESS_LIFETIME=-1h"}, want: "accounts.access_lifetime"},
		"size overflow":     {env: []string{"SKEIN_JOURNAL_CACHE=99999999999GiB"}, want: "journal"},
	} {
		t.Run(name, func(t *testing.T) {
			os.WriteFile(path, []byte(tc.file), 0o600)
			c, err := Load(path, tc.env)
			if err == nil {
				err = c.Check()
			}
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tc.want)) {
				t.Fatalf("err = %v, want one naming %q", err, tc.want)
			}
		})
	}
}
