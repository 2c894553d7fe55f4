package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/dispatch"
	"github.com/skein-im/skein/internal/gateway"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/messaging"
	"github.com/skein-im/skein/internal/outbox"
	"github.com/skein-im/skein/internal/transport/tcp"
	"github.com/skein-im/skein/internal/transport/ws"
	"github.com/skein-im/skein/wire"
	"github.com/skein-im/skein/wire/netio"
)

// Options are what a Config cannot say.
type Options struct {
	Logger *slog.Logger
	// Transports by URL scheme, beside tcp, tls, ws and wss.
	Transports map[string]wire.Transport
	// Codecs beside skein.v1.pb and skein.v1.json.
	Codecs []wire.Codec
	// AcceptLoss opens a journal that lost acknowledged entries, as a new timeline.
	AcceptLoss bool
	// WrapDispatch lets a test lose, repeat or delay what goes to the gateways.
	WrapDispatch func(im.Dispatch) im.Dispatch
	// Heartbeat overrides the default intervals (laboratories, tests).
	Heartbeat gateway.Heartbeat
}

// App is one server process. Open makes it, Serve runs it to its end.
type App struct {
	cfg     config.Config
	log     *slog.Logger
	metrics *prometheus.Registry
	failed  chan error // capacity 1: the journal failed
	state   state

	data       *dataDir
	directory  *directory.DB
	journal    *pebble.Journal
	accounts   *account.Service
	groups     *group.Service
	dispatcher *dispatch.Dispatcher
	messaging  *messaging.Service
	outbox     *outbox.Runner
	gateway    *gateway.Gateway
	logic      *logic

	poller    *netio.Poller
	listeners []listening
	public    *httpServer
	admin     *httpServer
	claim     string
}

type listening struct {
	url string
	wire.Listener
}

// Open opens the stores and listeners, but serves nothing yet. On an error
// everything that was opened is closed again.
func Open(ctx context.Context, cfg config.Config, o Options) (_ *App, err error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &App{cfg: cfg, log: o.Logger, metrics: prometheus.NewRegistry(), failed: make(chan error, 1)}
	a.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if err := a.openStores(ctx, o); err != nil {
		return nil, err
	}
	if err := a.makeServices(o); err != nil {
		return nil, err
	}
	if err := a.catchUp(ctx); err != nil {
		return nil, err
	}
	if a.claim, err = a.accounts.PrepareClaim(ctx); err != nil {
		return nil, err
	}
	if err := a.openListeners(ctx, o); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *App) openStores(ctx context.Context, o Options) (err error) {
	if a.data, err = openData(a.cfg.Data); err != nil {
		return err
	}
	if a.directory, err = sqlite.Open(a.data.file("directory.db"), sqlite.Options{}); err != nil {
		return err
	}
	if err = a.directory.Ping(ctx); err != nil {
		return err
	}
	a.journal, err = pebble.Open(a.data.file("journal"), pebble.Options{
		AcceptLoss: o.AcceptLoss,
		MinFree:    int64(a.cfg.Journal.MinFree),
		CacheBytes: int64(a.cfg.Journal.CacheBytes),
		Logger:     a.log,
		Registerer: a.metrics,
	})
	return err
}

func (a *App) makeServices(o Options) error {
	key, err := a.data.adminKey()
	if err != nil {
		return err
	}
	c := a.cfg
	a.logic = &logic{}
	m := &members{directory: a.directory}
	a.gateway = gateway.New(gateway.Options{
		Logic:          a.logic,
		Codecs:         a.codecs(o),
		Heartbeat:      o.Heartbeat,
		Limits:         gateway.Limits{PullEntries: messaging.MaxPull},
		Rates:          gateway.Rates{Sends: gateway.Rate{PerSecond: c.Gateway.SendRate, Burst: c.Gateway.SendBurst}},
		Timeline:       a.journal.Timeline,
		Groups:         m.groupsOf,
		MaxConnections: c.Gateway.MaxConnections,
		MaxPerUser:     c.Gateway.MaxPerUser,
		MaxPerAddress:  c.Gateway.MaxPerAddress,
		Logger:         a.log,
		Registerer:     a.metrics,
	})
	var gateways im.Dispatch = a.gateway
	if o.WrapDispatch != nil {
		gateways = o.WrapDispatch(gateways)
	}
	a.dispatcher = dispatch.New(gateways, time.Now)
	a.messaging = messaging.New(messaging.Options{
		Journal: a.journal, Members: m, Deliverer: a.dispatcher, Logger: a.log, Registerer: a.metrics,
		RecallWindow: time.Duration(c.Messaging.RecallWindow), MaxQueued: c.Messaging.MaxQueued,
		OnFailed: func(err error) { a.failed <- err },
	})
	a.outbox = outbox.New(a.directory, a.messaging, outbox.Options{Applied: m.applied, Logger: a.log, Registerer: a.metrics})
	m.contacts = contact.New(a.directory, a.outbox, contact.Options{Control: gateways.Control})
	m.groups = group.New(a.directory, a.outbox, group.Options{MaxMembers: c.Groups.MaxMembers, Registerer: a.metrics})
	policy := account.DMContacts
	if c.Accounts.DMPolicy == "everyone" {
		policy = account.DMEveryone
	}
	a.accounts = account.New(a.directory, account.Options{
		OpenRegistration: c.Accounts.Registration == "open",
		AccessLifetime:   time.Duration(c.Accounts.AccessLifetime),
		RefreshLifetime:  time.Duration(c.Accounts.RefreshLifetime),
		AdminKeyHash:     account.HashKey(key),
		DevicePolicy:     c.Accounts.DevicePolicy,
		Control:          gateways.Control,
		DefaultDMPolicy:  policy,
		Logger:           a.log,
		Registerer:       a.metrics,
	})
	a.logic.Service, a.logic.accounts = a.messaging, a.accounts
	a.logic.calls = api.NewCalls(api.Deps{
		Accounts: a.accounts, Contacts: m.contacts, Groups: m.groups, Messages: a.messaging,
	})
	a.groups = m.groups
	return nil
}

// catchUp ends what an earlier run left undone. Groups whose entries the journal
// lost come first: their promises wait for the revision that this brings back.
func (a *App) catchUp(ctx context.Context) error {
	restored, err := a.groups.Reconcile(ctx, a.directory, a.journal)
	if restored > 0 {
		a.log.Warn("the journal came back without the latest entries of some groups; they are usable again, with the members they had", "groups", restored)
	}
	if err != nil {
		return fmt.Errorf("compare the groups with the journal: %w", err)
	}
	a.outbox.Start()
	return nil
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
		HandshakeTimeout: 5 * time.Second, Origins: a.cfg.HTTP.Origins, Poller: a.poller, Log: a.log,
	}.WithCodecs(a.codecs(o)...)
	if a.cfg.TLS.Cert != "" {
		cert, err := tls.LoadX509KeyPair(a.cfg.TLS.Cert, a.cfg.TLS.Key)
		if err != nil {
			return fmt.Errorf("tls.cert, tls.key: %w", err)
		}
		lo.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	transports := map[string]wire.Transport{"tcp": tcp.Transport{}, "tls": tcp.Transport{}, "ws": ws.Transport{}, "wss": ws.Transport{}}
	for scheme, t := range o.Transports {
		transports[scheme] = t
	}
	for _, raw := range a.cfg.Listeners {
		u, err := url.Parse(raw)
		if err != nil {
			return fmt.Errorf("listeners: %w", err)
		}
		t := transports[u.Scheme]
		if t == nil {
			return fmt.Errorf("listeners: %s: no transport for %q", raw, u.Scheme)
		}
		if (u.Scheme == "tls" || u.Scheme == "wss") && lo.TLS == nil {
			return fmt.Errorf("listeners: %s needs tls.cert and tls.key", raw)
		}
		l, err := t.Listen(ctx, u, lo)
		if err != nil {
			return fmt.Errorf("listeners: %s: %w", raw, err)
		}
		a.listeners = append(a.listeners, listening{raw, l})
	}
	return a.openHTTP(lo)
}

func (a *App) openHTTP(lo wire.ListenOptions) (err error) {
	var proxies []netip.Prefix
	for _, p := range a.cfg.HTTP.TrustedProxies {
		proxies = append(proxies, netip.MustParsePrefix(p)) // Check parsed it
	}
	plain := lo
	plain.TLS = nil // the public server ends TLS itself
	public := http.NewServeMux()
	public.Handle("/ws", api.BehindProxies(proxies, ws.Handler(plain, a.gateway.Serve)))
	public.Handle("/", api.NewHTTP(a.logic, api.HTTPOptions{
		Log: a.log, TrustedProxies: proxies, Origins: a.cfg.HTTP.Origins, Metrics: a.metrics,
		Limiter: a.logic.calls.Limiter, // what a user may do is the same over a connection
	}))
	if a.public, err = listenHTTP("http.listen", a.cfg.HTTP.Listen, public, lo.TLS, a.log); err != nil {
		return err
	}
	if a.cfg.Admin.Listen != "" {
		a.admin, err = listenHTTP("admin.listen", a.cfg.Admin.Listen, a.adminHandler(), nil, a.log)
	}
	return err
}

// URL is where people reach the server.
func (a *App) URL() string {
	if a.cfg.HTTP.PublicURL != "" {
		return a.cfg.HTTP.PublicURL
	}
	scheme := "http"
	if a.cfg.TLS.Cert != "" {
		scheme = "https"
	}
	return scheme + "://" + a.public.addr()
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

// Serve runs the server until ctx ends (drain, nil) or the journal fails (the
// error). It closes everything.
func (a *App) Serve(ctx context.Context) error {
	ended := make(chan error, len(a.listeners)+2)
	for _, l := range a.listeners {
		go func() { ended <- wrap(l.url, l.Serve(a.gateway.Serve)) }()
	}
	go func() { ended <- wrap("http.listen", a.public.serve()) }()
	if a.admin != nil {
		go func() { ended <- wrap("admin.listen", a.admin.serve()) }()
	}
	defer newTidier().start()()
	a.state.set(stateReady)
	var err error
	select {
	case <-ctx.Done():
	case err = <-a.failed:
		a.state.set(stateFailed)
		err = fmt.Errorf("the journal failed, stopped serving: %w", err)
	case err = <-ended:
	}
	if err == nil {
		a.state.set(stateDraining)
		spread := time.Duration(a.cfg.Gateway.DrainTime)
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), spread+10*time.Second)
		defer cancel()
		if derr := a.gateway.Drain(drain, spread); derr != nil {
			a.log.Warn("drain did not finish", "err", derr)
		}
	}
	return errors.Join(err, a.close())
}

func wrap(what string, err error) error {
	if err == nil || errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// close stops what was started, in reverse; also after a start that failed
// half-way.
func (a *App) close() error {
	for _, l := range a.listeners {
		l.Close()
	}
	if a.gateway != nil {
		a.gateway.Close()
	}
	if a.poller != nil {
		a.poller.Close()
	}
	for _, s := range []*httpServer{a.public, a.admin} {
		if s != nil {
			s.close()
		}
	}
	if a.outbox != nil {
		a.outbox.Close()
	}
	if a.messaging != nil {
		a.messaging.Close()
	}
	if a.dispatcher != nil {
		a.dispatcher.Close()
	}
	var errs []error
	if a.accounts != nil {
		errs = append(errs, a.accounts.Close())
	}
	if a.journal != nil {
		errs = append(errs, a.journal.Close())
	}
	if a.directory != nil {
		errs = append(errs, a.directory.Close())
	}
	if a.data != nil {
		errs = append(errs, a.data.close())
	}
	return errors.Join(errs...)
}
