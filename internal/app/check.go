package app

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skein-im/skein/internal/certs"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/transport/tcp"
	"github.com/skein-im/skein/internal/transport/ws"
	"github.com/skein-im/skein/wire"
)

// Check refuses settings with which no server starts here: values that cannot work,
// listeners that nothing can open, certificates that are not there, cannot be read or do
// not belong together. It changes nothing, and does not look at stores and ports, which
// may be those of a server that runs.
func Check(c *config.Config, o Options) error {
	return errors.Join(c.Check(), checkListeners(c, o), checkCertificates(c), checkMediaParent(c))
}

// transports are those of the listeners, by URL scheme.
func transports(o Options) map[string]wire.Transport {
	all := map[string]wire.Transport{"tcp": tcp.Transport{}, "tls": tcp.Transport{}, "ws": ws.Transport{}, "wss": ws.Transport{}}
	maps.Copy(all, o.Transports)
	return all
}

func checkListeners(c *config.Config, o Options) error {
	var errs []error
	known := transports(o)
	for _, raw := range c.Listeners {
		u, err := url.Parse(raw)
		switch {
		case err != nil || u.Scheme == "": // Config.Check says so
		case !c.Is(config.RoleGateway):
			errs = append(errs, fmt.Errorf("listeners: %s needs the role gateway", raw))
		case known[u.Scheme] == nil:
			errs = append(errs, fmt.Errorf("listeners: %s: no transport for %q: there are %s", raw, u.Scheme, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		case (u.Scheme == "tls" || u.Scheme == "wss") && !c.TLS.On():
			errs = append(errs, fmt.Errorf("listeners: %s needs tls.cert and tls.key, or tls.acme_domains", raw))
		}
	}
	return errors.Join(errs...)
}

// checkCertificates reads what the start will read. Settings of which one is missing are
// Config.Check's.
func checkCertificates(c *config.Config) error {
	var errs []error
	if c.TLS.Cert != "" && c.TLS.Key != "" {
		_, err := certs.OpenFiles(c.TLS.Cert, c.TLS.Key, slog.New(slog.DiscardHandler))
		errs = append(errs, err)
	}
	if len(c.TLS.ACMEDomains) > 0 {
		_, err := certs.NewACME(acmeOptions(c))
		errs = append(errs, err)
	}
	if n := c.Node; c.Clustered() && n.TLSCA != "" && (n.TLSCert == "") == (n.TLSKey == "") {
		if err := certificates(n).Check(); err != nil {
			errs = append(errs, fmt.Errorf("node.tls_ca, node.tls_cert, node.tls_key: %w", err))
		}
	}
	return errors.Join(errs...)
}

func acmeOptions(c *config.Config) certs.ACMEOptions {
	cache := c.TLS.ACMECache
	if !filepath.IsAbs(cache) {
		cache = filepath.Join(c.Data, cache)
	}
	return certs.ACMEOptions{Domains: c.TLS.ACMEDomains, Email: c.TLS.ACMEEmail, Directory: c.TLS.ACMEDirectory, CA: c.TLS.ACMECA, Cache: cache}
}
