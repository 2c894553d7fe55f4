package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/transport/tcp"
	"github.com/skein-im/skein/wire"
)

// pair writes a certificate and its key.
func pair(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"chat.example.org"}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// What a start would stumble over is said before it, with the setting and the file.
func TestCheckLooksAtFilesAndListeners(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, dir, "a")
	_, other := pair(t, dir, "b")
	empty, nowhere := filepath.Join(dir, "empty"), filepath.Join(dir, "nowhere.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	node := map[string]string{"node.listen": "127.0.0.1:0", "node.secret": strings.Repeat("s", 32), "store": "postgres://h/d"}
	check := func(o Options, node map[string]string, set ...string) error {
		t.Helper()
		c := config.Default()
		for k, v := range node {
			set = append(set, k+"="+v)
		}
		for _, kv := range set {
			k, v, _ := strings.Cut(kv, "=")
			if err := c.Set(k, v); err != nil {
				t.Fatal(err)
			}
		}
		return Check(&c, o)
	}
	for _, good := range [][]string{
		{"tls.cert=" + cert, "tls.key=" + key, "listeners=tls://127.0.0.1:0, wss://127.0.0.1:0"},
		{"tls.acme_domains=chat.example.org", "tls.acme_ca=" + cert, "listeners=tls://127.0.0.1:0"},
		{"tls.acme_ca=" + nowhere}, // nothing reads it
		{"listeners=tcp://127.0.0.1:0"},
	} {
		if err := check(Options{}, nil, good...); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	if err := check(Options{}, node, "node.tls_ca="+cert, "node.tls_cert="+cert, "node.tls_key="+key); err != nil {
		t.Error(err)
	}
	if err := check(Options{Transports: map[string]wire.Transport{"quic": tcp.Transport{}}}, nil, "listeners=quic://127.0.0.1:0"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		node map[string]string
		set  []string
		want []string
	}{
		{nil, []string{"tls.cert=" + nowhere, "tls.key=" + key}, []string{"tls.cert: ", nowhere, "no such file"}},
		{nil, []string{"tls.cert=" + cert, "tls.key=" + nowhere}, []string{"tls.key: ", nowhere, "no such file"}},
		{nil, []string{"tls.cert=" + cert, "tls.key=" + other}, []string{"tls.cert, tls.key: ", "private key does not match"}},
		{nil, []string{"tls.cert=" + empty, "tls.key=" + key}, []string{"tls.cert, tls.key: ", "PEM"}},
		{nil, []string{"tls.cert=" + dir, "tls.key=" + key}, []string{"tls.cert, tls.key: ", dir, "is a directory"}},
		{nil, []string{"tls.acme_domains=chat.example.org", "tls.acme_ca=" + nowhere}, []string{"tls.acme_ca: ", nowhere, "no such file"}},
		{nil, []string{"tls.acme_domains=chat.example.org", "tls.acme_ca=" + empty}, []string{"tls.acme_ca: ", empty, "has no certificate"}},
		{node, []string{"node.tls_ca=" + nowhere, "node.tls_cert=" + cert, "node.tls_key=" + key}, []string{"node.tls_ca", nowhere, "no such file"}},
		{node, []string{"node.tls_ca=" + empty, "node.tls_cert=" + cert, "node.tls_key=" + key}, []string{"node.tls_ca", empty, "has no certificate"}},
		{node, []string{"node.tls_ca=" + cert, "node.tls_cert=" + cert, "node.tls_key=" + other}, []string{"node.tls_key", "private key does not match"}},
		{nil, []string{"listeners=tls://127.0.0.1:0"}, []string{"listeners: tls://127.0.0.1:0 needs tls.cert"}},
		{nil, []string{"listeners=tpc://127.0.0.1:0"}, []string{`no transport for "tpc"`, "tcp, tls, ws, wss"}},
		{node, []string{"roles=logic", "listeners=tcp://127.0.0.1:0"}, []string{"tcp://127.0.0.1:0 needs the role gateway"}},
		// All of it at once.
		{nil, []string{"http.listen=8080", "tls.cert=" + nowhere, "tls.key=" + nowhere, "listeners=tpc://127.0.0.1:0"}, []string{"http.listen", "tls.cert", "listeners"}},
	} {
		err := check(Options{}, c.node, c.set...)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", c.set, err, want)
			}
		}
	}
}

// Links are made by adding to the public address, whether or not it was written with a slash.
func TestLinksOfAPublicURL(t *testing.T) {
	for _, written := range []string{"https://chat.example.org", "https://chat.example.org/"} {
		c := config.Default()
		c.HTTP.PublicURL = written
		a := &App{cfg: c, public: &httpServer{}, claim: "a b"}
		if got := a.ClaimURL(); got != "https://chat.example.org/claim?code=a+b" {
			t.Errorf("%s: %s", written, got)
		}
	}
}
