package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"
)

// Held is a certificate that is there.
type Held struct {
	Names    []string
	NotAfter time.Time
}

func heldOf(c *x509.Certificate) Held {
	h := Held{Names: c.DNSNames, NotAfter: c.NotAfter}
	for _, ip := range c.IPAddresses {
		h.Names = append(h.Names, ip.String())
	}
	return h
}

// Held tells of the certificate that is used.
func (f *Files) Held() (Held, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	leaf, err := leafOf(f.current)
	if err != nil {
		return Held{}, err
	}
	return heldOf(leaf), nil
}

func leafOf(c *tls.Certificate) (*x509.Certificate, error) {
	if c.Leaf != nil {
		return c.Leaf, nil
	}
	return x509.ParseCertificate(c.Certificate[0])
}

// Domains are those that it has, or is to have, a certificate for.
func (a *ACME) Domains() []string { return a.o.Domains }

// errNone: there is no certificate yet.
var errNone = errors.New("there is none yet")

// Held tells of the certificate of a domain that is kept; nobody is asked for one.
func (a *ACME) Held(ctx context.Context, domain string) (Held, error) {
	data, err := a.m.Cache.Get(ctx, domain)
	if err != nil {
		return Held{}, errNone
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return Held{}, err
			}
			return heldOf(c), nil
		}
	}
	return Held{}, errNone
}
