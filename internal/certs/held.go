package certs

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Held is a certificate that is there.
type Held struct {
	Names               []string
	NotBefore, NotAfter time.Time
}

// Soon is how long before a certificate ends somebody should know: half of the month before
// its end in which it is renewed.
const Soon = 14 * 24 * time.Hour

// Judge tells what is wrong with a certificate, "" if nothing is, and whether it is no good
// already. Names are those that clients come for; with none they are not looked at.
func (h Held) Judge(now time.Time, names ...string) (trouble string, over bool) {
	day := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
	switch left := h.NotAfter.Sub(now); {
	case left <= 0:
		return "it ended on " + day(h.NotAfter), true
	case now.Before(h.NotBefore):
		return "it begins on " + day(h.NotBefore), true
	case left < Soon:
		return fmt.Sprintf("it ends on %s, in %d days", day(h.NotAfter), int(left.Hours()/24)), false
	}
	for _, name := range names {
		c := x509.Certificate{DNSNames: h.Names}
		for _, n := range h.Names {
			if ip := net.ParseIP(n); ip != nil {
				c.IPAddresses = append(c.IPAddresses, ip)
			}
		}
		if c.VerifyHostname(name) != nil {
			return fmt.Sprintf("it is for %s, not for %s", cmp.Or(strings.Join(h.Names, ", "), "no name"), name), false
		}
	}
	return "", false
}

// Read tells of the certificate that a PEM file begins with.
func Read(file string) (Held, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Held{}, err
	}
	return firstOf(data)
}

// firstOf is the first certificate in PEM: the server's own, before those that vouch for it.
func firstOf(data []byte) (Held, error) {
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

func heldOf(c *x509.Certificate) Held {
	h := Held{Names: c.DNSNames, NotBefore: c.NotBefore, NotAfter: c.NotAfter}
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
	return firstOf(data)
}
