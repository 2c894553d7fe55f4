package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/config"
)

func TestIsPublic(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:80": false, "[::1]:80": false, "10.1.2.3:80": false, "192.168.1.1:80": false, "[fd00::1]:80": false, "169.254.1.1:80": false,
		"localhost:80": false, "[::ffff:127.0.0.1]:80": false,
		":80": true, "0.0.0.0:80": true, "[::]:80": true, "203.0.113.7:80": true, "[2001:db8::1]:80": true,
	} {
		if got := isPublic(listen); got != want {
			t.Errorf("%s: %v", listen, got)
		}
	}
	for raw, want := range map[string]bool{
		"": false, "http://localhost:8080": false, "http://127.0.0.1:8080": false, "http://192.168.1.4": false,
		"https://chat.example": true, "http://203.0.113.7": true,
	} {
		if got := isPublicURL(raw); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// What strangers could make use of is told at the start, and nothing where there are none.
func TestWarnings(t *testing.T) {
	const plain, open, private, listener = "speaks plain HTTP", "may make an account", "private port may be reached", "a listener speaks in the clear"
	for _, c := range []struct {
		set  map[string]string
		want []string
	}{
		{nil, nil},
		{map[string]string{"http.listen": "0.0.0.0:0", "admin.listen": "0.0.0.0:0", "listeners": "tcp://0.0.0.0:0"}, []string{plain, open, private, listener}},
		{map[string]string{"http.listen": "0.0.0.0:0", "http.trusted_proxies": "10.0.0.0/8", "accounts.registration": "closed"}, nil},
		{map[string]string{"http.public_url": "https://chat.example"}, []string{open}},
		{map[string]string{"http.listen": "0.0.0.0:0", "http.public_url": "https://chat.example", "accounts.registration": "invitation"}, nil},
	} {
		cfg := config.Default()
		cfg.Data, cfg.HTTP.Listen, cfg.Admin.Listen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
		for k, v := range c.set {
			if err := cfg.Set(k, v); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		a, err := Open(t.Context(), cfg, Options{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.close(); err != nil {
			t.Error(err)
		}
		for _, w := range []string{plain, open, private, listener} {
			want := strings.Contains(strings.Join(c.want, "|"), w)
			if got := strings.Contains(out.String(), w); got != want {
				t.Errorf("%v: %q told: %v\n%s", c.set, w, got, &out)
			}
		}
	}
}
