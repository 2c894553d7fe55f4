package e2e

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// TestRedirect: the port for plain HTTP leads browsers to the same page by HTTPS, takes no
// calls, and the public port tells browsers to stay.
func TestRedirect(t *testing.T) {
	t.Parallel()
	s := servesTLS(t, "")
	s.terminate()
	dir := s.dir
	s = &secured{t: t, dir: dir}
	s.program = launch(t, nil, "serve", "--config", dir+"/skein.toml", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--set", "gateway.drain_time=0s", "--set", "tls.redirect_listen=127.0.0.1:0")
	s.address = strings.TrimPrefix(s.out.expect(t, `https://[0-9.:]+`), "https://")
	s.err.expect(t, `"msg":"ready"`)
	plain, _ := line(s.err.String(), map[string]string{"msg": "listening", "what": "tls.redirect_listen", "scheme": "http"})["address"].(string)
	_, port, _ := strings.Cut(s.address, ":")
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, c := range []struct{ method, host, path, to string }{
		{"GET", "chat.example", "/g/tea?x=1", "https://chat.example:" + port + "/g/tea?x=1"},
		{"HEAD", "chat.example:80", "/", "https://chat.example:" + port + "/"},
		{"GET", "[::1]:80", "/a//b", "https://[::1]:" + port + "/a//b"},
		{"POST", "chat.example", "/api/skein.v1.AccountService/Login", ""},
		{"GET", "chat.example", "//evil.example/", "https://chat.example:" + port + "//evil.example/"},
	} {
		req := must(http.NewRequestWithContext(t.Context(), c.method, "http://"+plain+c.path, nil))(t)
		req.Host = c.host
		resp, err := client.Do(req)
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		_ = resp.Body.Close()
		switch got := resp.Header.Get("Location"); {
		case c.to == "" && resp.StatusCode != http.StatusForbidden, c.to != "" && (resp.StatusCode != http.StatusPermanentRedirect || got != c.to):
			t.Errorf("%s %s of %s: %d to %q", c.method, c.path, c.host, resp.StatusCode, got)
		}
	}
	conn, _ := s.dial()
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: chat.example\r\nConnection: close\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	resp := must(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	_ = resp.Body.Close()
	if got := resp.Header.Get("Strict-Transport-Security"); got != "max-age=15552000" {
		t.Errorf("HSTS: %q", got)
	}
	s.terminate()
}
