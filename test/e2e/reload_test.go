package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/app"
)

// certificate writes a certificate for 127.0.0.1 and its key into a directory, each in one
// step, as tools that renew them do.
func certificate(t *testing.T, dir string, serial int64) {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "skein"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"chat.example"},
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	secret := must(x509.MarshalPKCS8PrivateKey(key))(t)
	put(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	put(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

// put replaces a file in one step.
func put(t *testing.T, path, content string) {
	t.Helper()
	rewrite(t, path+".new", content)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// secured is a server whose public port speaks TLS, run by the real program.
type secured struct {
	*program
	t       *testing.T
	dir     string
	address string
}

// tlsDial opens a connection and tells the serial number of the certificate.
func (s *secured) dial() (*tls.Conn, int64) {
	s.t.Helper()
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: patience}, Config: &tls.Config{InsecureSkipVerify: true}} // #nosec G402: the test compares serial numbers
	c := must(d.DialContext(s.t.Context(), "tcp", s.address))(s.t).(*tls.Conn)
	s.t.Cleanup(func() { _ = c.Close() })
	return c, c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// get asks for a page over an open connection.
func (s *secured) get(c net.Conn, r *bufio.Reader) int {
	s.t.Helper()
	if _, err := fmt.Fprintf(c, "GET /api/openapi.json HTTP/1.1\r\nHost: chat.example\r\n\r\n"); err != nil {
		s.t.Fatal(err)
	}
	resp := must(http.ReadResponse(r, nil))(s.t)
	defer resp.Body.Close()
	must(io.Copy(io.Discard, resp.Body))(s.t)
	return resp.StatusCode
}

// serves waits until who connects is shown a certificate.
func (s *secured) serves(serial int64) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; {
		c, got := s.dial()
		_ = c.Close()
		if got == serial {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("certificate %d is served, want %d:\n%s", got, serial, &s.err)
		}
	}
}

// call posts with a token and returns the status, the size of the bucket and the answer.
func (s *secured) call(token, method, body string) (status int, burst, answer string) {
	s.t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} // #nosec G402
	req := must(http.NewRequestWithContext(s.t.Context(), http.MethodPost, "https://"+s.address+"/api/skein.v1."+method, strings.NewReader(body)))(s.t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp := must(client.Do(req))(s.t)
	defer resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("RateLimit-Limit"), string(must(io.ReadAll(resp.Body))(s.t))
}

func (s *secured) hangup() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
}

func (s *secured) configure(more string) {
	put(s.t, filepath.Join(s.dir, "skein.toml"), fmt.Sprintf("data = %q\n%s\n[tls]\ncert = %q\nkey = %q\n", filepath.Join(s.dir, "data"), more, filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem")))
}

func servesTLS(t *testing.T, more string) *secured {
	s := &secured{t: t, dir: t.TempDir()}
	certificate(t, s.dir, 1)
	s.configure(more)
	s.program = launch(t, nil, "serve", "--config", filepath.Join(s.dir, "skein.toml"), "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--set", "gateway.drain_time=0s")
	s.address = strings.TrimPrefix(s.out.expect(t, `https://[0-9.:]+`), "https://")
	s.err.expect(t, `"msg":"ready"`)
	return s
}

// TestCertificateIsReplaced: who connects gets the new certificate without any signal, who
// is connected stays, and files that cannot be used change nothing.
func TestCertificateIsReplaced(t *testing.T) {
	t.Parallel()
	s := servesTLS(t, "")
	old, serial := s.dial()
	if serial != 1 {
		t.Fatalf("certificate %d", serial)
	}
	r := bufio.NewReader(old)
	if status := s.get(old, r); status != http.StatusOK {
		t.Fatal(status)
	}
	certificate(t, s.dir, 2)
	s.serves(2)
	if status := s.get(old, r); status != http.StatusOK {
		t.Errorf("the connection from before: %d", status)
	}
	s.err.expect(t, "the certificate was read anew")
	put(t, filepath.Join(s.dir, "cert.pem"), "no certificate")
	for end := time.Now().Add(patience); !strings.Contains(s.err.String(), "cannot be read anew"); {
		s.serves(2)
		if time.Now().After(end) {
			t.Fatalf("the log does not tell:\n%s", &s.err)
		}
	}
	s.hangup()
	s.err.expect(t, `"not reloaded, everything stays as it was","err":"tls.cert, tls.key: `)
	s.serves(2)
	certificate(t, s.dir, 3)
	s.hangup()
	s.err.expect(t, `"msg":"reloaded"`)
	if _, serial = s.dial(); serial != 3 {
		t.Errorf("certificate %d right after the signal, want 3", serial)
	}
	if status := s.get(old, r); status != http.StatusOK {
		t.Errorf("the connection from before: %d", status)
	}
	s.terminate()
}

// TestReload: SIGHUP brings limits, level and admin key into effect, names what it cannot,
// and a file that is wrong changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	s := servesTLS(t, "[gateway]\nsend_burst = 500")
	keyFile := filepath.Join(s.dir, "data", app.AdminKeyFile)
	key := strings.TrimSpace(string(must(os.ReadFile(keyFile))(t)))
	_, _, answer := s.call(key, "AdminService/MintToken", `{"user":"ann"}`)
	var minted struct{ Tokens struct{ AccessToken string } }
	if err := json.Unmarshal([]byte(answer), &minted); err != nil {
		t.Fatal(err)
	}
	burst := func(want string) {
		t.Helper()
		if _, got, _ := s.call(minted.Tokens.AccessToken, "MessageService/SendMessage", "{}"); got != want {
			t.Errorf("a device may send %s messages at once, want %s", got, want)
		}
	}
	admin := func(key string, want int) {
		t.Helper()
		if got, _, _ := s.call(key, "AdminService/ListUsers", "{}"); got != want {
			t.Errorf("the admin key: %d, want %d", got, want)
		}
	}
	burst("500")

	// Files that are wrong: all stays, each time for a reason that is told.
	for _, c := range []struct{ file, why string }{
		{"[gateway]\nsend_burst = 7\nmax_connections = 0", `gateway\.max_connections: must be greater than 0`},
		{"[gateway]\nsend_burst = 7\nunknown = 1", `config file .*unknown key`},
		{"[gateway\nsend_burst = 7", `config file `},
	} {
		s.configure(c.file)
		s.hangup()
		s.err.expect(t, `"not reloaded, everything stays as it was","err":"`+c.why)
		burst("500")
	}
	other := "skk_" + strings.Repeat("k", 43)
	good := "log.level = \"debug\"\n[http]\norigins = [\"chat.example\"]\n[gateway]\nsend_burst = 7"
	s.configure(good)
	put(t, keyFile, "no key")
	s.hangup()
	s.err.expect(t, `"not reloaded, everything stays as it was","err":"admin key `)
	burst("500")
	admin(key, http.StatusOK)

	put(t, keyFile, other+"\n")
	s.hangup()
	s.err.expect(t, `"msg":"reloaded","changed":\["gateway.send_burst","log.level","keys/admin.key"\]`)
	s.err.expect(t, `"settings changed that take effect at the next start only","settings":\["http.origins"\]`)
	burst("7")
	admin(other, http.StatusOK)
	admin(key, http.StatusUnauthorized)
	_, _ = s.dial()
	s.hangup()
	s.err.expect(t, `"msg":"reloaded","changed":null`)
	s.err.expect(t, `"settings":\["http.origins"\]`)
	s.terminate()
	if !strings.Contains(s.err.String(), "the admin key is another one") {
		t.Error("nothing says that the next start wants --new-keys")
	}
	if _, stderr := runs(t, "", 1, "serve", "--data", filepath.Dir(filepath.Dir(keyFile)), "--http", "127.0.0.1:0", "--admin", ""); !strings.Contains(stderr, "used with another key") {
		t.Errorf("the next start: %s", stderr)
	}
}
