// Package acme fetches certificates for a server from a real authority: Pebble, the ACME
// server that Let's Encrypt makes for tests. It is a module of its own, so that the server's
// has none of what an authority needs.
package acme

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/letsencrypt/challtestsrv"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"

	"github.com/skein-im/skein/server"
)

const (
	patience = time.Minute
	domain   = "chat.skein.example"
)

// freeAddress is one of loopback where nothing listens, and that the system gives to nobody
// by itself: otherwise any connection that is made meanwhile may take it.
func freeAddress(t *testing.T) (address string, port int) {
	t.Helper()
	const first, ports = 10_000, 20_000
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+rand.IntN(ports)))
		if err == nil {
			defer l.Close()
			return l.Addr().String(), l.Addr().(*net.TCPAddr).Port
		}
	}
	t.Fatal("no port is free")
	return "", 0
}

// authority is Pebble. It looks for all names on this machine, at the two ports.
type authority struct {
	directory string
	ca        string // PEM file that judges the directory
	roots     *x509.CertPool
}

func newAuthority(t *testing.T, httpPort, tlsPort int) *authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	resolver, _ := freeAddress(t)
	names, err := challtestsrv.New(challtestsrv.Config{DNSAddrs: []string{resolver}, Log: log.New(io.Discard, "", 0)})
	if err != nil {
		t.Fatal(err)
	}
	names.SetDefaultDNSIPv4("127.0.0.1")
	names.SetDefaultDNSIPv6("")
	go names.Run()
	t.Cleanup(names.Shutdown)

	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "the default profile"}})
	door := wfe.New(quiet, store, va.New(quiet, httpPort, tlsPort, false, resolver, store), issuer, []string{"pebble.letsencrypt.org"}, false, false, 1, 1)
	srv := httptest.NewTLSServer(door.Handler())
	t.Cleanup(srv.Close)
	a := &authority{directory: srv.URL + wfe.DirectoryPath, ca: filepath.Join(t.TempDir(), "ca.pem"), roots: x509.NewCertPool()}
	raw := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(a.ca, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	a.roots.AppendCertsFromPEM(issuer.GetRootCert(0).PEM())
	return a
}

// written is a log that is read while it is written.
type written struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	news chan struct{}
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.news != nil {
		close(w.news)
		w.news = nil
	}
	return w.buf.Write(p)
}

// expect waits until the log has a text.
func (w *written) expect(t *testing.T, text string) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		w.mu.Lock()
		found := bytes.Contains(w.buf.Bytes(), []byte(text))
		if w.news == nil {
			w.news = make(chan struct{})
		}
		news := w.news
		w.mu.Unlock()
		if found {
			return
		}
		select {
		case <-news:
		case <-timeout.C:
			t.Fatalf("the log does not tell %q:\n%s", text, w)
		}
	}
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// running is a server until stop.
func running(t *testing.T, out *written, settings map[string]string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	all := map[string]string{"admin.listen": "", "gateway.drain_time": "0s", "tls.acme_domains": domain}
	for k, v := range settings {
		all[k] = v
	}
	s, err := server.Open(ctx, server.Options{Settings: all, Logger: slog.New(slog.NewTextHandler(out, nil))})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	if _, port, _ := net.SplitHostPort(all["http.listen"]); s.URL() != "https://"+domain+":"+port {
		t.Errorf("the server is at %s", s.URL())
	}
	return stop
}

// shown waits until the server has its certificate, and returns its number as a client that
// trusts the authority sees it.
func shown(t *testing.T, a *authority, at string, out *written) string {
	t.Helper()
	out.expect(t, "the certificate is there")
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: patience}, Config: &tls.Config{RootCAs: a.roots, ServerName: domain}}
	c, err := d.DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer c.Close()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// TestCertificateByTheTLSPort: the authority looks at the TLS port (tls-alpn-01); after a
// restart the certificate is still there, and is not asked for again.
func TestCertificateByTheTLSPort(t *testing.T) {
	at, port := freeAddress(t)
	_, nothing := freeAddress(t)
	a := newAuthority(t, nothing, port)
	var out written
	settings := map[string]string{"data": filepath.Join(t.TempDir(), "data"), "http.listen": at, "tls.acme_directory": a.directory, "tls.acme_ca": a.ca, "tls.acme_email": "root@skein.example"}
	stop := running(t, &out, settings)
	first := shown(t, a, at, &out)

	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.roots, ServerName: domain}}}
	resp, err := client.Get("https://" + at + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%d, HSTS %q", resp.StatusCode, resp.Header.Get("Strict-Transport-Security"))
	}
	// A name that is none of the server's gets nothing, and costs the authority nothing.
	stranger := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: "other.skein.example"}} // #nosec G402: the handshake fails before
	if c, err := stranger.DialContext(t.Context(), "tcp", at); err == nil {
		_ = c.Close()
		t.Error("another name has a certificate")
	}
	// Who asks for no name, as with an address, gets the first one's.
	if c, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true}); err != nil { // #nosec G402
		t.Errorf("without a name: %v", err)
	} else {
		_ = c.Close()
	}
	stop()
	var restarted written
	stop = running(t, &restarted, settings)
	if again := shown(t, a, at, &restarted); again != first {
		t.Errorf("certificate %s after a restart, %s before", again, first)
	}
	stop()
}

// TestCertificateByThePlainPort: the authority looks at the port for plain HTTP (http-01),
// which leads everybody else to HTTPS.
func TestCertificateByThePlainPort(t *testing.T) {
	at, port := freeAddress(t)
	plain, plainPort := freeAddress(t)
	_, nothing := freeAddress(t)
	a := newAuthority(t, plainPort, nothing)
	var out written
	running(t, &out, map[string]string{"data": filepath.Join(t.TempDir(), "data"), "http.listen": at, "tls.redirect_listen": plain, "tls.acme_directory": a.directory, "tls.acme_ca": a.ca})
	shown(t, a, at, &out)
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequest(http.MethodGet, "http://"+plain+"/g/tea", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = domain
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if want := "https://" + domain + ":" + strconv.Itoa(port) + "/g/tea"; resp.Header.Get("Location") != want {
		t.Errorf("%d to %q, want %q", resp.StatusCode, resp.Header.Get("Location"), want)
	}
}

// TestAuthorityThatIsDown: the server starts and serves its other ports without a
// certificate, and its log says what is missing.
func TestAuthorityThatIsDown(t *testing.T) {
	at, _ := freeAddress(t)
	nobody, _ := freeAddress(t)
	admin, _ := freeAddress(t)
	var out written
	running(t, &out, map[string]string{"data": filepath.Join(t.TempDir(), "data"), "http.listen": at, "admin.listen": admin, "tls.acme_directory": "https://" + nobody + "/dir"})
	out.expect(t, "the authority gave no certificate")
	resp, err := http.Get("http://" + admin + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %d", resp.StatusCode)
	}
}
