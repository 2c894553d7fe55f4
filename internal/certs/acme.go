package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// LetsEncrypt is the directory of the authority that is asked unless another one is named.
const LetsEncrypt = autocert.DefaultACMEDirectory

// ChallengeProtocol is the protocol (ALPN) by which authorities look at a TLS port.
const ChallengeProtocol = acme.ALPNProto

// askTime bounds a request for a certificate; askAgain is how long after one that failed
// the next one comes at least. The authority counts failures.
const (
	askTime  = 5 * time.Minute
	askAgain = 2 * time.Minute
)

// ACMEOptions say who asks whom for what.
type ACMEOptions struct {
	// Domains are the names that get certificates, each one of its own; at least one.
	Domains []string
	// Email is where the authority reaches who runs this; may be empty.
	Email string
	// Directory is the authority's URL; empty: LetsEncrypt.
	Directory string
	// CA is a PEM file of the authorities by which the directory's own certificate is judged,
	// empty for those of the system.
	CA string
	// Cache is a directory for the account and the certificates. Servers that answer for the
	// same names share one, so that each can answer the challenges of the others.
	Cache string
	Log   *slog.Logger
}

// ACME is certificates from an authority: fetched when they are first needed, and anew a
// month before they end.
type ACME struct {
	o ACMEOptions
	m autocert.Manager

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// NewACME looks at the options. Start asks for the certificates.
func NewACME(o ACMEOptions) (*ACME, error) {
	if o.Directory == "" {
		o.Directory = LetsEncrypt
	}
	client := &http.Client{Timeout: 30 * time.Second}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.acme_ca: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.acme_ca: %s has no certificate", o.CA)
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		client.Transport = transport
	}
	return &ACME{o: o, m: autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(o.Cache), HostPolicy: autocert.HostWhitelist(o.Domains...),
		Client: &acme.Client{DirectoryURL: o.Directory, HTTPClient: client}, Email: o.Email,
	}}, nil
}

// GetCertificate is tls.Config's. Who asks for no name gets the first one's.
func (a *ACME) GetCertificate(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if h.ServerName == "" {
		named := *h
		named.ServerName = a.o.Domains[0]
		h = &named
	}
	return a.m.GetCertificate(h)
}

// Challenges answers an authority that looks at the port for plain HTTP; all else is next's.
func (a *ACME) Challenges(next http.Handler) http.Handler {
	h := a.m.HTTPHandler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A port other than 80 behind the name is none of its business.
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			named := *r
			named.Host = host
			r = &named
		}
		h.ServeHTTP(w, r)
	})
}

// Start asks for the certificates that are not there, again until they are, so that nobody
// who connects has to wait for one. Close ends that.
func (a *ACME) Start() {
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	for _, name := range a.o.Domains {
		a.wg.Go(func() { a.obtain(ctx, name) })
	}
}

func (a *ACME) obtain(ctx context.Context, name string) {
	for ctx.Err() == nil {
		c, err := a.ask(ctx, name)
		if err == nil {
			a.o.Log.Info("the certificate is there", "domain", name, "until", until(c))
			return
		}
		a.o.Log.Error("the authority gave no certificate, asking again", "domain", name, "directory", a.o.Directory, "in", askAgain.String(), "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(askAgain):
		}
	}
}

// ask waits for a certificate of a kind that every client takes.
func (a *ACME) ask(ctx context.Context, name string) (*tls.Certificate, error) {
	type answer struct {
		c   *tls.Certificate
		err error
	}
	got := make(chan answer, 1)
	go func() { // it takes no context; its own time is askTime at most
		c, err := a.m.GetCertificate(&tls.ClientHelloInfo{
			ServerName: name, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
			SupportedCurves: []tls.CurveID{tls.CurveP256}, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		})
		got <- answer{c, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(askTime):
		return nil, errors.New("no answer in time")
	case x := <-got:
		return x.c, x.err
	}
}

// Close ends what Start began.
func (a *ACME) Close() {
	if a.stop != nil {
		a.stop()
		a.wg.Wait()
	}
}
