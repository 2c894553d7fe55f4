package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// TestWhereTheServerIs: the environment that a server has is what its commands go by, so that
// they work in its container as they stand.
func TestWhereTheServerIs(t *testing.T) {
	t.Setenv("SKEIN_DATA", "/elsewhere")
	t.Setenv("SKEIN_ADMIN_LISTEN", "127.0.0.1:9999")
	parse := func(args ...string) (c cli) {
		t.Helper()
		parser, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(args); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return c
	}
	users, trace, top := parse("user", "list").User.List, parse("trace", "dm:a:b#1").Trace, parse("top").Top
	for what, got := range map[string][2]string{
		"user's data": {users.Data, "/elsewhere"}, "trace's data": {trace.Data, "/elsewhere"},
		"trace's port": {trace.Admin, "127.0.0.1:9999"}, "top's port": {top.Admin, "127.0.0.1:9999"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q", what, got[0])
		}
	}
	if since := parse("audit", "--since", "2w").Audit.Since; time.Duration(since) != 14*24*time.Hour {
		t.Errorf("two weeks are %v", time.Duration(since))
	}
	if long := parse("user", "ban", "@eve", "--for", "2d").User.Ban.For; time.Duration(long) != 48*time.Hour {
		t.Errorf("two days are %v", time.Duration(long))
	}
}

// TestUntrusted: a server whose certificate is not trusted runs, and what helps is said.
func TestUntrusted(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("skk_1"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, said := run(t, "user", "list", "--server", s.URL, "--key-file", key)
	if code != 1 || !strings.Contains(said, "SSL_CERT_FILE") || strings.Contains(said, "is the server running") {
		t.Errorf("it ended with %d and says %q", code, said)
	}
}
