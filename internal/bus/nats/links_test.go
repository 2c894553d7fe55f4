package nats_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bus/bustest"
	"github.com/skein-im/skein/internal/bus/nats"
)

// issued is the TLS of a server with a certificate of a secret, for these names.
func issued(t testing.TB, secret string, names ...string) *tls.Config {
	t.Helper()
	ca, cert, key, err := nats.Issue(secret, names...)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, ServerName: nats.NodeName, MinVersion: tls.VersionTLS13,
	}
}

// impostors are ends that are no nodes: they know no secret, another one, or have a
// certificate of the right authority that names something else.
func impostors(t *testing.T) map[string]*tls.Config {
	all := map[string]*tls.Config{
		"no TLS": nil, "no certificate": {InsecureSkipVerify: true, MinVersion: tls.VersionTLS13},
		"another secret": issued(t, "another secret that is long enough", nats.NodeName), "another name": issued(t, secret, "somebody.example"),
	}
	for _, c := range all {
		if c != nil { // an impostor believes everybody
			c.InsecureSkipVerify, c.ClientAuth = true, tls.RequestClientCert
		}
	}
	return all
}

// info is what a NATS server says first.
const info = `INFO {"server_id":"X","server_name":"x","version":"2.10.0","proto":1,"host":"127.0.0.1","port":1,"max_payload":1048576,"cluster":"skein","tls_required":%t,"tls_available":%t,"auth_required":true}` + "\r\n"

func hello(secure bool) string {
	if secure {
		return strings.ReplaceAll(info, "%t", "true")
	}
	return strings.ReplaceAll(info, "%t", "false")
}

// Somebody listens at a peer's address, or at that of a NATS server of one's own. It
// hears nothing but a handshake that comes to no end: no name, no proof, no
// password, no message.
func TestImpostorListens(t *testing.T) {
	all := impostors(t)
	delete(all, "no certificate") // who listens without one cannot speak TLS at all
	for name, config := range all {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", local)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			address := l.Addr().String()
			ctx, cancel := context.WithCancel(t.Context())
			open := map[string]func(){
				"a peer": func() {
					start(t, nats.Options{Name: "a", Listen: local, Secret: secret, Peers: []string{address}}, bustest.NewRecorder())
				},
				"an external NATS": func() {
					go func() { // it goes on trying until ctx ends
						b, err := nats.Open(ctx, nats.Options{Name: "a", URL: "nats://user:verysecret@" + address, Secret: secret}, bustest.NewRecorder())
						if err == nil {
							b.Close()
						}
					}()
				},
			}
			defer cancel()
			for what, begin := range open {
				begin()
				for range 3 {
					heard := listen(t, l, config, what != "a peer")
					if strings.Contains(heard, "CONNECT") || strings.Contains(heard, "verysecret") || strings.Contains(heard, secret) {
						t.Errorf("%s was told %q", what, heard)
					}
				}
			}
		})
	}
}

// listen takes one connection and returns everything it is told in clear, or inside of
// TLS if it gets that far.
func listen(t *testing.T, l net.Listener, config *tls.Config, first bool) string {
	t.Helper()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if first { // a server tells its clients before TLS begins
		if _, err := io.WriteString(conn, hello(config != nil)); err != nil {
			return ""
		}
	}
	if config != nil {
		secure := tls.Server(conn, config)
		_ = secure.Handshake() // to its end, as far as this side can tell
		conn = secure
	}
	heard, _ := io.ReadAll(conn)
	return string(heard)
}

// Somebody dials a node. Whatever it shows, it gets no route: nothing is passed on
// to it, and nothing that it says is.
func TestImpostorDials(t *testing.T) {
	ra, rb := bustest.NewRecorder(), bustest.NewRecorder()
	a := start(t, nats.Options{Name: "a", Listen: local, Secret: secret}, ra)
	b := start(t, nats.Options{Name: "b", Listen: local, Secret: secret, Peers: []string{a.Addr().String()}}, rb)
	for _, n := range []*nats.Bus{a, b} {
		if err := n.Subscribe("x"); err != nil {
			t.Fatal(err)
		}
	}
	rb.Settle(t, a, "x")
	before := ra.Count()
	for name, config := range impostors(t) {
		conn, err := net.Dial("tcp", a.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		var out net.Conn = conn
		if config != nil {
			out = tls.Client(conn, config)
		}
		_, _ = io.WriteString(out, hello(true)+`CONNECT {"verbose":false,"name":"X","cluster":"skein"}`+"\r\nRS+ $G x\r\nRMSG $G x 1\r\nx\r\nPING\r\n")
		for {
			heard := make([]byte, 4096)
			n, err := out.Read(heard)
			if s := string(heard[:n]); config != nil && n > 0 || strings.Contains(s, "INFO") || strings.Contains(s, "RMSG") {
				t.Errorf("%s: heard %q", name, s)
				break
			}
			if err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s: the connection stands", name)
				}
				break
			}
		}
		_ = conn.Close()
	}
	rb.Settle(t, a, "x")
	if ra.Count() != before {
		t.Errorf("a was told %d messages by nobody", ra.Count()-before)
	}
}

// Certificates may be given: nodes that have them are one cluster, whatever their
// secrets, and one with the secret alone stays outside.
func TestGivenCertificates(t *testing.T) {
	dir := t.TempDir()
	ca, cert, key, err := nats.Issue("what an operator's authority would be", nats.NodeName)
	if err != nil {
		t.Fatal(err)
	}
	given := nats.Certificates{CA: filepath.Join(dir, "ca"), Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	for path, text := range map[string][]byte{given.CA: ca, given.Cert: cert, given.Key: key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var lc logs
	ra, rb, rc := bustest.NewRecorder(), bustest.NewRecorder(), bustest.NewRecorder()
	a := start(t, nats.Options{Name: "a", Listen: local, Certificates: given}, ra)
	b := start(t, nats.Options{Name: "b", Listen: local, Certificates: given, Secret: "of its own", Peers: []string{a.Addr().String()}}, rb)
	c := start(t, nats.Options{Name: "c", Listen: local, Secret: secret, Peers: []string{a.Addr().String()}, Logger: lc.logger()}, rc)
	for _, n := range []*nats.Bus{b, c} {
		if err := n.Subscribe("x"); err != nil {
			t.Fatal(err)
		}
	}
	rb.Settle(t, a, "x")
	eventually(t, "c to log the refusal", func() bool { return strings.Contains(lc.String(), "TLS route handshake error") })
	if rc.Count() != 0 {
		t.Errorf("c got %q", rc.Got())
	}
	for _, bad := range []nats.Certificates{{CA: "/none", Cert: given.Cert, Key: given.Key}, {CA: given.CA, Cert: "/none", Key: given.Key}, {CA: given.Key, Cert: given.Cert, Key: given.Key}} {
		if b, err := nats.Open(t.Context(), nats.Options{Name: "d", Listen: local, Certificates: bad}, bustest.NewRecorder()); err == nil {
			b.Close()
			t.Errorf("opened with %+v", bad)
		}
	}
}
