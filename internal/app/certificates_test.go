package app

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/config"
)

// certified are settings with a certificate for a name until a time.
func certified(t *testing.T, name string, until time.Time) config.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: until.AddDate(-1, 0, 0), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Data, cfg.HTTP.Listen, cfg.Admin.Listen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	cfg.HTTP.PublicURL = "https://chat.example.org"
	cfg.TLS.Cert, cfg.TLS.Key = filepath.Join(cfg.Data, "cert.pem"), filepath.Join(cfg.Data, "key.pem")
	for file, block := range map[string]*pem.Block{cfg.TLS.Cert: {Type: "CERTIFICATE", Bytes: der}, cfg.TLS.Key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

// TestCertificatesAreLookedAt: one that is over, or soon, or another name's, is told in the log
// of the start, and to who asks before; its end is a metric.
func TestCertificatesAreLookedAt(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		host, want, level string
		until             time.Time
		over              bool
	}{
		"good":      {"chat.example.org", "", "", now.AddDate(0, 2, 0), false},
		"over":      {"chat.example.org", "it ended on ", "ERROR", now.AddDate(0, 0, -1), true},
		"soon":      {"chat.example.org", "in 9 days", "WARN", now.Add(10*24*time.Hour - time.Minute), false},
		"another's": {"localhost2", "not for chat.example.org", "WARN", now.AddDate(0, 2, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := certified(t, c.host, c.until)
			all := Certificates(&cfg, now)
			if len(all) != 1 || all[0].Over != c.over || !strings.Contains(all[0].Trouble, c.want) || (all[0].Trouble == "") != (c.want == "") {
				t.Errorf("it is told as %+v", all)
			}
			var out bytes.Buffer
			a, err := Open(t.Context(), cfg, Options{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))})
			if err != nil {
				t.Fatal(err)
			}
			m, err := a.gathered()
			if end := m.sum("skein_certificate_not_after_seconds", "names", c.host); err != nil || int64(end) != c.until.Unix() {
				t.Errorf("the metric is %v, want %d; %v", end, c.until.Unix(), err)
			}
			if err := a.close(); err != nil {
				t.Error(err)
			}
			line := ""
			for l := range strings.Lines(out.String()) {
				if strings.Contains(l, "certificate") {
					line += l
				}
			}
			if !strings.Contains(line, c.want) || !strings.Contains(line, c.level) || (line == "") != (c.want == "") {
				t.Errorf("the log says %q", line)
			}
		})
	}
}
