package app

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/certs"
)

// openTLS finds the certificate of all ports with TLS; nil: there is none.
func (a *App) openTLS() (*tls.Config, error) {
	t := &a.cfg.TLS
	switch {
	case t.Cert != "":
		files, err := certs.OpenFiles(t.Cert, t.Key, a.log)
		if err != nil {
			return nil, err
		}
		a.live.certificate.Store(files)
		return &tls.Config{GetCertificate: a.live.getCertificate, MinVersion: tls.VersionTLS12}, nil
	case len(t.ACMEDomains) > 0:
		o := acmeOptions(&a.cfg)
		o.Log = a.log
		var err error
		if a.acme, err = certs.NewACME(o); err != nil {
			return nil, err
		}
		return &tls.Config{GetCertificate: a.acme.GetCertificate, MinVersion: tls.VersionTLS12}, nil
	}
	return nil, nil
}

// publicTLS is the configuration of the public port.
func (a *App) publicTLS(t *tls.Config) *tls.Config {
	if t == nil {
		return nil
	}
	t = t.Clone()
	t.NextProtos = []string{"http/1.1"} // a WebSocket takes over an HTTP/1.1 connection
	if a.acme != nil {
		t.NextProtos = append(t.NextProtos, certs.ChallengeProtocol)
	}
	return t
}

// strictly has browsers told to come by HTTPS only.
func (a *App) strictly(next http.Handler) http.Handler {
	most := time.Duration(a.cfg.TLS.HSTS)
	if !a.cfg.TLS.On() || most < time.Second {
		return next
	}
	header := fmt.Sprintf("max-age=%d", int64(most/time.Second))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", header)
		next.ServeHTTP(w, r)
	})
}

// openRedirect opens the port for plain HTTP.
func (a *App) openRedirect() (err error) {
	if a.cfg.TLS.RedirectListen == "" {
		return nil
	}
	var h http.Handler = http.HandlerFunc(a.redirect)
	if a.acme != nil {
		h = a.acme.Challenges(h)
	}
	a.plain, err = a.listenHTTP("tls.redirect_listen", a.cfg.TLS.RedirectListen, h, nil, a.open)
	return err
}

// redirect sends a browser to the same page of the public port, under the host that it asked
// for: only that it speaks TLS there is new. Anything but a look at a page is refused: what
// it carries was readable on the way, and a client that goes on so must not seem to work.
func (a *App) redirect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "this server speaks HTTPS only", http.StatusForbidden)
		return
	}
	to := a.URL()
	if host := hostOf(r.Host); a.cfg.HTTP.PublicURL == "" && host != "" {
		to = a.namedURL(host)
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, strings.TrimSuffix(to, "/")+r.URL.RequestURI(), http.StatusPermanentRedirect)
}

// hostOf is the name or address of a Host header, "" if it is neither.
func hostOf(header string) string {
	u, err := url.Parse("//" + header)
	if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return ""
	}
	return u.Hostname()
}

// namedURL is the public port under a name.
func (a *App) namedURL(host string) string {
	_, port, err := net.SplitHostPort(a.public.addr())
	if err != nil || port == "443" {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return "https://" + host
	}
	return "https://" + net.JoinHostPort(host, port)
}

// warn tells an operator at the start what strangers could make use of.
func (a *App) warn() {
	c := &a.cfg
	at := a.public != nil && isPublic(c.HTTP.Listen)
	if at && !c.TLS.On() && !strings.HasPrefix(c.HTTP.PublicURL, "https:") && len(c.HTTP.TrustedProxies) == 0 {
		a.log.Warn("the public port speaks plain HTTP where strangers may listen: passwords and messages can be read on the way; set tls.acme_domains, or tls.cert, or put a proxy with TLS in front and name it in http.trusted_proxies", "address", c.HTTP.Listen)
	}
	if a.logic != nil && c.Accounts.Registration == "open" && (at || isPublicURL(c.HTTP.PublicURL)) {
		a.log.Warn("anyone who reaches this server may make an account; accounts.registration = \"invitation\" asks for a link of an administrator's", "address", c.HTTP.Listen)
	}
	if a.admin != nil && isPublic(c.Admin.Listen) {
		a.log.Warn("the private port may be reached by strangers: it shows profiles and metrics, and asks for no password", "address", c.Admin.Listen)
	}
	for _, raw := range c.Listeners {
		if u, err := url.Parse(raw); err == nil && (u.Scheme == "tcp" || u.Scheme == "ws") && isPublic(u.Host) {
			a.log.Warn("a listener speaks in the clear where strangers may listen: passwords and messages can be read on the way", "address", raw)
		}
	}
}

// isPublic tells whether others than this machine and private networks may reach a port that
// listens at an address. A name is taken to be one of these.
func isPublic(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && (ip.IsUnspecified() || !private(ip))
}

func private(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}

// isPublicURL tells whether an address for people leads to strangers, too.
func isPublicURL(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !private(ip)
}
