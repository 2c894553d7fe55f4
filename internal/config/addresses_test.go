package config

import (
	"strings"
	"testing"
)

// checked is the error of the defaults with some settings.
func checked(t *testing.T, set ...string) error {
	t.Helper()
	c := Default()
	for _, kv := range set {
		key, value, _ := strings.Cut(kv, "=")
		if err := c.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	return c.Check()
}

func TestAddresses(t *testing.T) {
	for _, good := range []string{
		"http.listen=:8080", "http.listen=127.0.0.1:0", "http.listen=[::1]:8080", "http.listen=localhost:http", "admin.listen=",
		"listeners=tcp://127.0.0.1:7000, wss://:7443", "http.trusted_proxies=10.0.0.0/8, fd00::/8",
		"http.public_url=https://chat.example.org", "http.public_url=https://chat.example.org/", "http.public_url=http://[::1]:8080", "http.public_url=https://例え.example:8443",
	} {
		if err := checked(t, good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for set, want := range map[string]string{
		"http.listen=8080":                  `http.listen: "8080" is a port alone: ":8080" was probably meant`,
		"admin.listen=8081":                 `admin.listen: "8081" is a port alone: ":8081" was probably meant`,
		"node.listen=7946":                  `node.listen: "7946" is a port alone`,
		"tls.redirect_listen=80":            `tls.redirect_listen: "80" is a port alone`,
		"http.listen=":                      `http.listen: must be an address like 127.0.0.1:8080`,
		"http.listen=localhost":             `http.listen: "localhost" has no port: write it like localhost:8080`,
		"http.listen=::1":                   `http.listen: "::1" has no port: write it like [::1]:8080`,
		"http.listen=[::1]":                 `http.listen: "[::1]" has no port: write it like [::1]:8080`,
		"http.listen=10.0.0.1":              `http.listen: "10.0.0.1" has no port: write it like 10.0.0.1:8080`,
		"http.listen=http://127.0.0.1:8080": `http.listen: "http://127.0.0.1:8080" is a URL`,
		"http.listen=a:b:c":                 `http.listen: "a:b:c" is no address like`,
		"http.listen=:80800":                `http.listen: ":80800": there is no port 80800`,
		"listeners=7000":                    `listeners: "7000" is not a URL like`,
		"listeners=tcp://127.0.0.1":         `listeners: "tcp://127.0.0.1" has no port`,
		"http.trusted_proxies=10.0.0.1":     `http.trusted_proxies: has "10.0.0.1", which is no network`,
		"http.trusted_proxies=10.0.0.0/08":  `http.trusted_proxies: has "10.0.0.0/08", which is no network`, // it ended the server in a panic

		"http.public_url=chat.example.org":               `http.public_url: "chat.example.org" does not say how people reach it: write it with https://`,
		"http.public_url=localhost:8080":                 `http.public_url: "localhost:8080" does not say how`,
		"http.public_url=wss://chat.example.org":         `http.public_url: "wss://chat.example.org" must begin with https:// or http://`,
		"http.public_url=https://":                       `http.public_url: "https://" names no host`,
		"http.public_url=https://:8443":                  `http.public_url: "https://:8443" names no host`,
		"http.public_url=https://chat.example.org:port":  `http.public_url: "https://chat.example.org:port" is no address like`,
		"http.public_url=https://chat.example.org/chat":  `http.public_url: "https://chat.example.org/chat" has a path, "/chat"`,
		"http.public_url=https://chat.example.org?a=b":   `has something behind the host`,
		"http.public_url=https://chat.example.org/#room": `has something behind the host`,
		"http.public_url=https://me@chat.example.org":    `must not have a user or a password`,
	} {
		if err := checked(t, set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", set, err, want)
		}
	}
}
