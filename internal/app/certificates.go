package app

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/certs"
	"github.com/skein-im/skein/internal/config"
)

// Certificate is one that settings name, as it is on the disk now.
type Certificate struct {
	Source   string // the setting, and what it names
	NotAfter time.Time
	// Trouble is what is wrong with it, "" if nothing; Over: clients refuse it already.
	Trouble string
	Over    bool
}

// Certificates looks at those that a server with these settings shows. What cannot be read is
// Check's; what an authority has not given yet is no trouble.
func Certificates(c *config.Config, now time.Time) (all []Certificate) {
	look := func(source string, names []string, read func() (certs.Held, error)) {
		h, err := read()
		if err != nil {
			return
		}
		k := Certificate{Source: source, NotAfter: h.NotAfter}
		k.Trouble, k.Over = h.Judge(now, names...)
		all = append(all, k)
	}
	if c.TLS.Cert != "" {
		var names []string
		if u, err := url.Parse(c.HTTP.PublicURL); err == nil && u.Hostname() != "" {
			names = append(names, u.Hostname())
		}
		look("tls.cert "+c.TLS.Cert, names, func() (certs.Held, error) { return certs.Read(c.TLS.Cert) })
	}
	if len(c.TLS.ACMEDomains) > 0 {
		if a, err := certs.NewACME(acmeOptions(c)); err == nil {
			for _, domain := range c.TLS.ACMEDomains {
				look("tls.acme_domains "+domain, []string{domain}, func() (certs.Held, error) { return a.Held(context.Background(), domain) })
			}
		}
	}
	if c.Clustered() && c.Node.TLSCert != "" {
		look("node.tls_cert "+c.Node.TLSCert, nil, func() (certs.Held, error) { return certs.Read(c.Node.TLSCert) })
	}
	return all
}

// String is a sentence about what is wrong.
func (k *Certificate) String() string {
	return fmt.Sprintf("the certificate of %s: %s", k.Source, k.Trouble)
}

// warnCertificates has the log of a start say what clients will refuse, or soon will.
func (a *App) warnCertificates() {
	for _, k := range Certificates(&a.cfg, a.now()) {
		switch {
		case k.Over:
			a.log.Error("a certificate is no good any more, or not yet: clients refuse it", "certificate", k.Source, "why", k.Trouble)
		case k.Trouble != "":
			a.log.Warn("a certificate needs to be looked after", "certificate", k.Source, "why", k.Trouble)
		}
	}
}

// certificateEnds are the ends of the certificates that are in use, as metrics.
type certificateEnds struct {
	app  *App
	desc *prometheus.Desc
}

func newCertificateEnds(a *App) *certificateEnds {
	return &certificateEnds{a, prometheus.NewDesc("skein_certificate_not_after_seconds", "When a certificate of this server ends, in seconds since 1970.", []string{"source", "names"}, nil)}
}

func (c *certificateEnds) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

func (c *certificateEnds) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // a cache may be on a disk of others
	defer cancel()
	for _, k := range c.app.certificatesHealth(ctx) {
		if !k.NotAfter.IsZero() {
			to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(k.NotAfter.Unix()), k.Source, strings.Join(k.Names, ","))
		}
	}
}
