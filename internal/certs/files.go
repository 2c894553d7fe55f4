package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how often files are looked at, at most.
const lookEvery = time.Second

// Files is a certificate in two PEM files. It is safe for concurrent use.
type Files struct {
	cert, key string
	log       *slog.Logger
	now       func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
	as      stamp // of the files that current is of
	refused stamp // of files that could not be used
	looked  time.Time
}

// stamp tells two states of the files apart.
type stamp struct{ cert, key os.FileInfo }

func (s stamp) same(o stamp) bool { return sameFile(s.cert, o.cert) && sameFile(s.key, o.key) }

func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return false
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// OpenFiles reads a certificate chain and its key.
func OpenFiles(cert, key string, log *slog.Logger) (*Files, error) {
	f := &Files{cert: cert, key: key, log: log, now: time.Now}
	return f, f.Reload()
}

// Reload reads the files now. On an error the certificate from before stays.
func (f *Files) Reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.look()
	if err != nil {
		return err
	}
	return f.read(s)
}

func (f *Files) look() (s stamp, err error) {
	f.looked = f.now()
	if s.cert, err = os.Stat(f.cert); err != nil {
		return s, fmt.Errorf("tls.cert: %w", err)
	}
	if s.key, err = os.Stat(f.key); err != nil {
		return s, fmt.Errorf("tls.key: %w", err)
	}
	return s, nil
}

// read takes the certificate from files in the state s. Caller holds mu.
func (f *Files) read(s stamp) error {
	c, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		f.refused = s
		return fmt.Errorf("tls.cert, tls.key: %w", err)
	}
	f.current, f.as = &c, s
	return nil
}

// GetCertificate is tls.Config's.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.looked) < lookEvery && !now.Before(f.looked) {
		return f.current, nil
	}
	s, err := f.look()
	switch {
	case err == nil && (s.same(f.as) || s.same(f.refused)):
	case err == nil:
		if err = f.read(s); err == nil {
			f.log.Info("the certificate was read anew", "file", f.cert, "until", until(f.current))
		}
	}
	if err != nil {
		f.log.Error("the certificate cannot be read anew, the one from before stays", "file", f.cert, "err", err)
	}
	return f.current, nil
}

// until is when a certificate ends.
func until(c *tls.Certificate) string {
	leaf := c.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
			return ""
		}
	}
	return leaf.NotAfter.UTC().Format(time.RFC3339)
}
