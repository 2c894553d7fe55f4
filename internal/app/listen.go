package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/internal/transport/ws"
	"github.com/skein-im/skein/internal/webapp"
	"github.com/skein-im/skein/wire"
	"github.com/skein-im/skein/wire/netio"
)

type listening struct {
	url string
	wire.Listener
}

func (a *App) codecs(o Options) []wire.Codec {
	return append([]wire.Codec{wire.Protobuf(), wire.JSON()}, o.Codecs...)
}

// openListeners binds every port, so that one in use ends the start.
func (a *App) openListeners(ctx context.Context, o Options) error {
	var err error
	if a.poller, err = netio.NewPoller(); err != nil {
		return err
	}
	lo := wire.ListenOptions{
		HandshakeTimeout: 5 * time.Second, Origins: a.cfg.HTTP.Origins, Poller: a.poller, Log: a.log, Deflate: a.cfg.Gateway.Deflate,
	}.WithCodecs(a.codecs(o)...)
	if lo.TLS, err = a.openTLS(); err != nil {
		return err
	}
	known := transports(o)
	for _, raw := range a.cfg.Listeners {
		u, err := url.Parse(raw)
		if err != nil {
			return fmt.Errorf("listeners: %w", err)
		}
		l, err := known[u.Scheme].Listen(ctx, u, lo) // Check saw that there is one
		if err != nil {
			return fmt.Errorf("listeners: %s: %w", raw, err)
		}
		a.listeners = append(a.listeners, listening{raw, l})
		a.logListening("listeners", u.Scheme, l.Addr().String())
	}
	return a.openHTTP(lo)
}

func (a *App) openHTTP(lo wire.ListenOptions) (err error) {
	var proxies []netip.Prefix
	for _, p := range a.cfg.HTTP.TrustedProxies {
		proxies = append(proxies, netip.MustParsePrefix(p)) // Check parsed it
	}
	a.open = limits.NewSockets(socketBounds(&a.cfg), func(addr netip.Addr) bool {
		return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
	})
	plain := lo
	plain.TLS = nil // the public server ends TLS itself
	public := http.NewServeMux()
	if a.gateway != nil {
		public.Handle("/ws", api.BehindProxies(proxies, ws.Handler(plain, a.gateway.Serve)))
	}
	if a.cfg.Is(config.RoleAPI) {
		public.Handle("/", api.NewHTTP(a.ask, api.HTTPOptions{
			Log: a.log, Slow: a.slowCall, TrustedProxies: proxies, Origins: a.cfg.HTTP.Origins, Limiter: a.limiter, Credentials: a.credentials, Media: a.media, Export: a.exports, Web: webapp.Handler, Metrics: a.metrics,
		}))
	}
	if a.gateway == nil && !a.cfg.Is(config.RoleAPI) {
		return a.openAdmin() // nobody but the other nodes comes here
	}
	if a.public, err = a.listenHTTP("http.listen", a.cfg.HTTP.Listen, a.strictly(public), a.publicTLS(lo.TLS), a.open); err != nil {
		return err
	}
	if err = a.openRedirect(); err != nil {
		return err
	}
	return a.openAdmin()
}

func (a *App) openAdmin() (err error) {
	if a.cfg.Admin.Listen == "" {
		return nil
	}
	a.admin, err = a.listenHTTP("admin.listen", a.cfg.Admin.Listen, a.adminHandler(), nil, nil)
	return err
}

// URL is where people reach the server; empty when only other nodes do.
func (a *App) URL() string {
	if a.public == nil {
		return ""
	}
	if a.cfg.HTTP.PublicURL != "" {
		return strings.TrimSuffix(a.cfg.HTTP.PublicURL, "/") // paths are added to it
	}
	if len(a.cfg.TLS.ACMEDomains) > 0 {
		return a.namedURL(a.cfg.TLS.ACMEDomains[0])
	}
	if a.cfg.TLS.On() {
		return "https://" + a.public.addr()
	}
	return "http://" + a.public.addr()
}

// ClaimURL makes the first administrator, once; empty when there is one.
func (a *App) ClaimURL() string {
	if a.claim == "" {
		return ""
	}
	return a.URL() + "/claim?code=" + url.QueryEscape(a.claim)
}

// AdminURL is the private port's, empty when it is off.
func (a *App) AdminURL() string {
	if a.admin == nil {
		return ""
	}
	return "http://" + a.admin.addr()
}

// ListenURLs are the further listeners with their real ports.
func (a *App) ListenURLs() []string {
	var urls []string
	for _, l := range a.listeners {
		u, _ := url.Parse(l.url) // parsed in openListeners
		if _, ok := l.Addr().(*net.TCPAddr); ok {
			u.Host = l.Addr().String()
		}
		urls = append(urls, u.String())
	}
	return urls
}
