package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/announce"
	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/internal/audit"
	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/certs"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/dispatch"
	"github.com/skein-im/skein/internal/export"
	"github.com/skein-im/skein/internal/feed"
	"github.com/skein-im/skein/internal/filter"
	"github.com/skein-im/skein/internal/gateway"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/later"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/messaging"
	"github.com/skein-im/skein/internal/outbox"
	"github.com/skein-im/skein/internal/preview"
	"github.com/skein-im/skein/internal/push"
	"github.com/skein-im/skein/internal/remote"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/sticker"
	"github.com/skein-im/skein/internal/supervise"
	"github.com/skein-im/skein/internal/tracing"
	"github.com/skein-im/skein/internal/trail"
	"github.com/skein-im/skein/wire"
	"github.com/skein-im/skein/wire/netio"
)

// Options are what a Config cannot say.
type Options struct {
	Logger *slog.Logger
	// Level is that of Logger; with it Reload changes log.level. nil: it stays.
	Level *slog.LevelVar
	// Sockets are ports that a supervisor opened: http, admin and redirect take the place of
	// http.listen, admin.listen and tls.redirect_listen.
	Sockets map[string]net.Listener
	// Supervisor is told of the server's life; nil: nobody is.
	Supervisor Supervisor
	// Version names the program, for its log and its metrics.
	Version string
	// Transports by URL scheme, beside tcp, tls, ws and wss.
	Transports map[string]wire.Transport
	// Codecs beside skein.v1.pb and skein.v1.json.
	Codecs []wire.Codec
	// AcceptLoss opens a journal that lost acknowledged entries, as a new timeline.
	AcceptLoss bool
	// Existing refuses to start where the embedded store is not there: nothing is made.
	Existing bool
	// NewKeys begins with keys that are not those the store was used with.
	NewKeys bool
	// WrapDispatch lets a test lose, repeat or delay what goes to the gateways.
	WrapDispatch func(im.Dispatch) im.Dispatch
	// Heartbeat overrides the default intervals (laboratories, tests).
	Heartbeat gateway.Heartbeat
	// Rates overrides how often a device may ask for what (laboratories, tests).
	Rates limits.Rates
	// PlaceEvery overrides how often a gateway among others looks up the positions of
	// busy connections (tests).
	PlaceEvery time.Duration
	// OpenBus replaces the bus between nodes, for tests that lose what it carries.
	OpenBus func(name string, h bus.Handler) (bus.Bus, error)
	// Now is what users go by: when an entry was stored, what is due, over or gone, how
	// long a token holds. It never goes back. Only tests set it: no setting can. A journal
	// in PostgreSQL stores entries at the database's time. What goes on between processes
	// is measured by the real clock. Default time.Now.
	Now func() time.Time
	// Free is how many bytes may be written below a directory before the stores are opened;
	// for tests. Default the file system's.
	Free func(dir string) (uint64, error)
}

// App is one server process. Open makes it, Serve runs it to its end.
type App struct {
	cfg     config.Config
	version string
	now     func() time.Time
	log     *slog.Logger
	metrics *prometheus.Registry
	failed  chan error // capacity 1: the journal failed
	// stopping is closed when Serve begins to end: nobody keeps a snapshot any longer.
	stopping chan struct{}
	state    state
	// slow is log.slow, in nanoseconds.
	slow       atomic.Int64
	began      time.Time
	supervisor Supervisor
	live       inEffect

	data      *dataDir
	key       string // the admin key of the start, "" without the role logic
	directory *directory.DB
	journal   journal
	empty     func(context.Context) (bool, error) // nothing was ever stored in the journal
	hold      *postgres.Hold                      // nil, or what keeps others from the database while keys are exchanged
	shared    sharedJournal                       // the journal, when other processes append to it; nil otherwise
	accounts  *account.Service
	trail     *trail.Service
	filter    *filter.Service
	// announcements are what the deployment announces; nil without the logic role.
	announcements *announce.Service
	board         board
	health        health
	members       *members
	dispatcher    *dispatch.Dispatcher
	messaging     *messaging.Service
	outbox        *outbox.Runner
	later         *later.Service
	media         *media.Service   // nil: no uploads are taken
	exports       *export.Service  // nil: none are made
	stickers      *sticker.Service // nil: no uploads are taken
	// stickersKnown is that for the gateway, which is made before.
	stickersKnown atomic.Pointer[sticker.Service]
	timers        *later.Timers
	erasures      *later.Erasures
	retention     *later.Retention // nil: messages are kept for ever
	followers     []*feed.Follower
	audit         *audit.File  // nil without one
	index         search.Index // nil without one
	indexer       *search.Indexer
	previews      *preview.Service // what links lead to
	push          *push.Service    // nil: nobody is woken
	gateway       *gateway.Gateway
	tracer        *tracing.Tracer // nil: nothing is traced
	// devices and limiter are what both doors of this process count.
	devices *limits.Devices
	limiter *api.Limiter
	// credentials is the line of both doors for passwords.
	credentials *limits.Logins
	// logic is the logic role of this process, nil without it; ask is the one that
	// gateway and API ask, wherever it is.
	logic    *logic
	ask      im.Logic
	timeline func() string
	history  history
	node     *remote.Node // nil alone
	// clusterAddr is where the other nodes reach this one.
	clusterAddr string

	// open are the connections of the public ports that wait for a request, or have one
	// under way.
	open      *limits.Sockets
	poller    *netio.Poller
	listeners []listening
	public    *httpServer
	plain     *httpServer // leads to public; nil without tls.redirect_listen
	acme      *certs.ACME // nil without tls.acme_domains
	sockets   map[string]net.Listener
	admin     *httpServer
	claim     string
	ownerless bool // there is a store and nobody owns the server: see prepareClaim
}

// Open opens the stores and listeners, but serves nothing yet. On an error
// everything that was opened is closed again.
func Open(ctx context.Context, cfg config.Config, o Options) (_ *App, err error) {
	if err := Check(&cfg, o); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &App{cfg: cfg, version: o.Version, now: o.Now, log: o.Logger, metrics: prometheus.NewRegistry(), failed: make(chan error, 1), stopping: make(chan struct{}), began: time.Now(), sockets: maps.Clone(o.Sockets), supervisor: o.Supervisor, board: board{news: make(chan struct{}, 1)}}
	a.slow.Store(int64(cfg.Log.Slow))
	a.live.begin(&cfg, o.Level)
	if cfg.Clustered() && cfg.Node.Name == "" {
		a.cfg.Node.Name = nodeName()
	}
	a.metrics.MustRegister(buildInfo(o.Version), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a.logStarting(o.Version)
	a.startTracing(o.Version)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if err := a.openStores(ctx, o); err != nil {
		return nil, err
	}
	if a.directory != nil {
		if err := a.openKeys(ctx, o.NewKeys); err != nil {
			return nil, err
		}
	}
	if err := a.makeServices(ctx, o); err != nil {
		return nil, err
	}
	if err := a.catchUp(ctx); err != nil {
		return nil, err
	}
	if err := a.startCluster(); err != nil {
		return nil, err
	}
	if a.shared != nil {
		a.history.app.Store(a)
	}
	if err := a.openListeners(ctx, o); err != nil {
		return nil, err
	}
	if err := a.unusedSockets(); err != nil {
		return nil, err
	}
	a.warn()
	a.warnCertificates()
	a.metrics.MustRegister(newCertificateEnds(a)) // from now on they are there
	for _, f := range a.followers {
		f.Start()
	}
	return a, nil
}

// makeServices makes what the roles of this process need. Between the roles
// there is nothing when they are all here and alone, and the node otherwise.
func (a *App) makeServices(ctx context.Context, o Options) error {
	if err := a.joinCluster(ctx, o); err != nil {
		return err
	}
	a.live.rates = o.Rates
	a.devices = limits.NewDevices(a.live.ratesOf(&a.cfg))
	a.limiter = api.NewLimiter(api.LimiterOptions{Devices: a.devices, Now: a.now})
	a.credentials = limits.NewLogins(time.Now)
	if a.cfg.Is(config.RoleLogic) {
		a.logic = &logic{}
	}
	switch {
	case a.node != nil:
		a.ask, a.timeline = a.node.Logic(), a.node.Timeline
	default:
		a.ask, a.timeline = a.logic, a.journal.Timeline
	}
	if a.cfg.Is(config.RoleGateway) {
		a.makeGateway(o)
	}
	if a.logic == nil {
		if err := a.makeMediaApart(); err != nil {
			return err
		}
		if a.cfg.Is(config.RoleAPI) {
			a.makeExports(clusterKey(a.cfg.Node.Secret))
		}
		return nil
	}
	var gateways im.Dispatch = a.gateway
	if a.node != nil {
		gateways = a.node.Dispatch()
	}
	if o.WrapDispatch != nil {
		gateways = o.WrapDispatch(gateways)
	}
	return a.makeLogic(ctx, gateways)
}

func (a *App) makeGateway(o Options) {
	c := a.cfg
	options := gateway.Options{
		Logic:     a.tracedAsk(a.ask),
		Codecs:    a.codecs(o),
		Heartbeat: o.Heartbeat,
		Limits:    gateway.Limits{PullEntries: messaging.MaxPull, EditWindow: time.Duration(c.Messaging.EditWindow), RecallWindow: time.Duration(c.Messaging.RecallWindow), Retention: time.Duration(c.Messaging.Retention), MediaBytes: mediaBytes(&c)},
		Devices:   a.devices,
		ClassOf:   api.OfDevice(),
		Open:      api.NeedNoToken(), WaitElsewhere: api.WaitElsewhere(),
		Credentials: a.credentials,
		Timeline:    a.timeline,
		Standing:    a.standing,
		Stickers:    a.stickersRevision,
		Announced:   a.board.revision.Load,
		News:        a.board.changed,
		Now:         a.now,
		Bounds:      bounds(&c),
		Slow:        a.slowCall,
		Logger:      a.log,
		Registerer:  a.metrics,
	}
	if a.node != nil {
		options.Standing, options.Peers, options.PlaceEvery = a.node.Standing, a.node, placeEvery
		if o.PlaceEvery > 0 {
			options.PlaceEvery = o.PlaceEvery
		}
	}
	a.gateway = gateway.New(options)
}

// makeLogic makes the services that decide and store, over the gateways
// wherever they are.
func (a *App) makeLogic(ctx context.Context, gateways im.Dispatch) error {
	key, c := a.key, a.cfg
	m := &members{directory: a.directory}
	a.members = m
	a.dispatcher = dispatch.New(a.tracedDispatch(gateways), time.Now)
	if err := a.makeFollowers(); err != nil {
		return err
	}
	if err := a.makeMedia(ctx, key); err != nil {
		return err
	}
	a.makeExports(key)
	if err := a.makePlace(ctx, gateways); err != nil {
		return err
	}
	options := messaging.Options{
		Filter:  a.theFilter(),
		Journal: a.tracedJournal(), Marks: a.journal, Recalls: a.journal, Labels: a.journal, Lookups: a.journal, Pages: a.journal, Trims: a.trims(), Permissions: m, Members: m, Deliverer: a.dispatcher, Logger: a.log, Registerer: a.metrics,
		RecallWindow: time.Duration(c.Messaging.RecallWindow), EditWindow: time.Duration(c.Messaging.EditWindow), MaxPins: c.Messaging.MaxPins, MaxQueued: c.Messaging.MaxQueued,
		Timers: a.directory, Streams: messaging.Streams{
			StoreEvery: time.Duration(c.Messaging.StreamStore), StoreBytes: streamStoreBytes, Silence: time.Duration(c.Messaging.StreamSilence),
			PerUser: c.Messaging.StreamsPerUser, MaxBytes: contract.MaxContentBytes,
		},
		Periods: a.directory, Retention: a.directory, KeepFor: time.Duration(c.Messaging.Retention),
		Now:      a.now,
		OnFailed: func(err error) { a.failed <- err },
	}
	if len(a.followers) > 0 {
		options.Deliverer = waking{a.dispatcher, a.followers}
	}
	options.Deliverer = a.tracedDeliverer(options.Deliverer)
	if a.shared != nil {
		options.Known = a.shared.Known
	}
	if a.shared == nil && a.gateway != nil && gateways == im.Dispatch(a.gateway) { // nothing is lost between the two
		options.Positions = &messaging.Positions{Receipts: a.dispatcher.Receipts, Tell: a.gateway.Position, Promised: func(ctx context.Context) (bool, error) {
			ps, _, err := a.directory.Pending(ctx, 0, 1)
			return len(ps) > 0, err
		}}
	}
	a.messaging = a.newMessaging(options)
	shared := a.shared != nil
	a.outbox = outbox.New(a.directory, a.messaging, outbox.Options{Applied: m.applied, Shared: shared, Now: a.now, Logger: a.log, Registerer: a.metrics})
	m.outbox = a.outbox
	contacts := contact.Options{Control: gateways.Control, Shared: shared, RequestsLast: time.Duration(c.Accounts.RequestsLast), RequestsPerDay: c.Accounts.RequestsPerDay, AskAgain: orNone(time.Duration(c.Accounts.RequestAgain)), Lifetimes: a.directory, Now: a.now}
	if a.node != nil {
		contacts.Changed = a.node.Forget
	}
	m.contacts = contact.New(a.directory, a.directory, a.outbox, contacts)
	m.groups = group.New(a.directory, a.directory, a.directory, a.outbox, group.Options{
		MaxMembers: c.Groups.MaxMembers, MaxGroups: c.Groups.MaxPerUser, AddsPerHour: c.Groups.MaxAddsPerHour, StrangersPerDay: c.Groups.MaxStrangersPerDay, MadePerDay: c.Groups.MaxMadePerDay, Shared: shared, Places: a.directory, All: a.directory, Help: m.Help, Now: a.now, Registerer: a.metrics,
	})
	if err := a.makeAccounts(key, gateways); err != nil {
		return err
	}
	a.makeLater(m)
	a.makePush(key)
	a.logic.Service, a.logic.sends, a.logic.accounts = a.messaging, a.tracedSender(), a.accounts
	a.logic.calls = a.makeCalls(m)
	return nil
}

// catchUp ends what an earlier run left undone. Groups whose entries the journal
// lost come first: their promises wait for the revision that this brings back.
//
// Nodes that share a database skip the comparison: journal and directory are one
// backup there, and the others are changing both meanwhile.
func (a *App) catchUp(ctx context.Context) (err error) {
	if a.logic == nil {
		return nil
	}
	if a.shared == nil {
		restored, err := a.members.groups.Reconcile(ctx, a.directory, a.journal)
		if restored > 0 {
			a.log.Warn("the journal came back without the latest entries of some groups; they are usable again, with the members they had", "groups", restored)
		}
		if err != nil {
			return fmt.Errorf("compare the groups with the journal: %w", err)
		}
		// Before anybody is refused for a change that is promised and not applied: a
		// server that was put back has users who know of it.
		if left, err := a.outbox.Replay(ctx); err != nil {
			a.log.Warn("outbox: promises are left undone and will be tried again", "left", left, "err", err)
		}
	}
	a.outbox.Start()
	a.startLater()
	a.startPush(ctx)
	a.startSweeping()
	return a.prepareClaim(ctx)
}

// prepareClaim makes the link that makes the first administrator. A server that
// stores messages is somebody's: whoever reads its log must not become its
// administrator because a table of users is gone.
func (a *App) prepareClaim(ctx context.Context) error {
	empty, err := a.empty(ctx)
	if err != nil {
		return err
	}
	if empty {
		a.claim, err = a.accounts.PrepareClaim(ctx)
		return err
	}
	owned, err := a.directory.Owned(ctx)
	if a.ownerless = err == nil && !owned; a.ownerless {
		a.log.Warn("nobody owns this server, and it has messages, so no link is printed that makes an owner: skein user role @NAME owner makes one of a user")
	}
	return err
}

// Ownerless tells whether nobody owns the server and no link makes an owner, as after an
// import.
func (a *App) Ownerless() bool { return a.ownerless }

// Serve runs the server until ctx ends (drain, nil) or the journal fails (the
// error). It closes everything.
func (a *App) Serve(ctx context.Context) error {
	ended := make(chan error, len(a.listeners)+3)
	for _, l := range a.listeners {
		go func() { ended <- wrap(l.url, l.Serve(a.gateway.Serve)) }()
	}
	if a.public != nil {
		go func() { ended <- wrap("http.listen", a.public.serve()) }()
	}
	if a.admin != nil {
		go func() { ended <- wrap("admin.listen", a.admin.serve()) }()
	}
	if a.plain != nil {
		go func() { ended <- wrap("tls.redirect_listen", a.plain.serve()) }()
	}
	if a.acme != nil {
		a.acme.Start()
	}
	defer newTidier().start()()
	if a.messaging != nil {
		defer a.startHealth()()
	}
	if a.gateway != nil {
		defer a.startBoard()()
	}
	if a.members != nil && a.members.contacts != nil {
		defer a.startSweep()()
	}
	if a.node != nil && a.gateway != nil {
		stop := make(chan struct{})
		defer close(stop)
		go a.watchOver(stop)
	}
	a.state.set(stateReady)
	a.logReady()
	defer a.startWatchdog()()
	a.tell(supervise.Ready, supervise.Status("serving "+a.URL()))
	var err error
	select {
	case <-ctx.Done():
	case err = <-a.failed:
		a.state.set(stateFailed)
		err = fmt.Errorf("the journal failed, stopped serving: %w", err)
	case err = <-ended:
	}
	stopped := a.logStopping(ctx, err)
	a.tell(supervise.Stopping)
	close(a.stopping)
	if err == nil {
		a.state.set(stateDraining)
		a.drain(context.WithoutCancel(ctx))
	}
	err = errors.Join(err, a.close())
	stopped(err)
	return err
}

// drain lets go of what can be elsewhere: connections, and requests of other
// nodes. What is here already is finished.
func (a *App) drain(ctx context.Context) {
	spread := a.live.drainTime()
	ctx, cancel := context.WithTimeout(ctx, spread+10*time.Second)
	defer cancel()
	if a.gateway != nil {
		if err := a.gateway.Drain(ctx, spread); err != nil {
			a.log.Warn("drain did not finish", "err", err)
		}
	}
	if a.node != nil {
		a.node.Leave(ctx)
	}
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
	if a.acme != nil {
		a.acme.Close()
	}
	a.closeSockets()
	if a.gateway != nil {
		a.gateway.Close()
	}
	if a.poller != nil {
		a.poller.Close()
	}
	for _, s := range []*httpServer{a.public, a.plain, a.admin} {
		if s != nil {
			s.close()
		}
	}
	a.closeLater()
	a.endSweeping()
	if a.outbox != nil {
		a.outbox.Close()
	}
	if a.messaging != nil {
		a.messaging.Close()
	}
	a.closePlace()
	if a.dispatcher != nil {
		a.dispatcher.Close()
	}
	errs := []error{a.closeFollowers()}
	if a.node != nil {
		errs = append(errs, a.node.Close())
	}
	errs = append(errs, a.closeAccounts())
	if a.journal != nil {
		errs = append(errs, a.journal.Close())
	}
	if a.directory != nil {
		errs = append(errs, a.directory.Close())
	}
	errs = append(errs, a.release())
	if a.data != nil {
		errs = append(errs, a.data.close())
	}
	if a.tracer != nil {
		a.tracer.Close()
	}
	return errors.Join(errs...)
}
