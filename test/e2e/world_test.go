// Package e2e plays scenarios with the Go SDK, and with the real binary,
// against a whole server.
//
// The scenarios of one list (scenarios_test.go) know a deployment as a World
// only, so that the same list runs against any number of nodes. What concerns
// one process (start, stop, disk, command line) stands beside it.
package e2e

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/gateway"
	"github.com/skein-im/skein/internal/im"
)

// patience is how long anything that must come may take.
const patience = 30 * time.Second

// World is a deployment under test.
type World interface {
	// HTTP is the base URL of the API.
	HTTP() string
	// Dial opens a connection to what listens for a scheme, ws or tcp. Clients use
	// it instead of an address, so they find the server after it was restarted.
	Dial(ctx context.Context, scheme string) (net.Conn, error)
	AdminKey() string
	// Stop ends the deployment as an operator does; Start brings it back with its
	// data.
	Stop(t *testing.T)
	Start(t *testing.T)
}

// terms are what a scenario asks of its deployment.
type terms struct {
	settings map[string]string
	// heartbeat of the connections; zero fields take the default.
	heartbeat gateway.Heartbeat
	// dispatch lets a scenario lose, repeat or delay what goes to the gateways.
	dispatch func(im.Dispatch) im.Dispatch
	// places is how often gateways among others look up positions; 0: as they do.
	places time.Duration
	// bus replaces the one between the nodes, if there are several.
	bus func(name string, h bus.Handler) (bus.Bus, error)
	// log makes the log of a node, "" for one that is alone; nil: there is none.
	log func(node string) *slog.Logger
}

// logger is the log of a node.
func (o *terms) logger(node string) *slog.Logger {
	if o.log == nil {
		return nil
	}
	return o.log(node)
}

// deployment makes a World that runs until the test ends.
type deployment func(t *testing.T, o terms) World

// node is a World of one process, this one.
type node struct {
	dir   string
	terms terms
	// acceptLoss is for the next Start.
	acceptLoss bool

	app   atomic.Pointer[app.App] // clients dial while it starts
	stop  context.CancelFunc
	ended chan error
}

func oneNode(t *testing.T, o terms) World {
	n := &node{dir: t.TempDir(), terms: o}
	n.Start(t)
	t.Cleanup(func() { n.Stop(t) })
	return n
}

// manyStrangers: tests add a user to many groups, by users whom they do not know.
const manyStrangers = 1_000_000

// settings are a configuration for tests in a data directory.
func settings(t *testing.T, dir string, more map[string]string) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Data, cfg.HTTP.Listen, cfg.Admin.Listen = dir, "127.0.0.1:0", "127.0.0.1:0"
	cfg.Listeners = []string{"tcp://127.0.0.1:0"}
	cfg.Gateway.DrainTime = 0
	cfg.Groups.MaxStrangersPerDay, cfg.Groups.MaxMadePerDay = manyStrangers, manyStrangers
	for key, value := range more {
		if err := cfg.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

func (n *node) open(t *testing.T) error {
	a, err := app.Open(context.Background(), settings(t, n.dir, n.terms.settings), app.Options{
		Logger: n.terms.logger(""), Heartbeat: n.terms.heartbeat, WrapDispatch: n.terms.dispatch, AcceptLoss: n.acceptLoss,
	})
	if err == nil {
		n.app.Store(a)
	}
	return err
}

func (n *node) Start(t *testing.T) {
	t.Helper()
	if err := n.open(t); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	n.stop, n.ended = stop, make(chan error, 1)
	a := n.app.Load()
	go func() { n.ended <- a.Serve(ctx) }()
}

func (n *node) Stop(t *testing.T) {
	t.Helper()
	if n.stop == nil {
		return
	}
	n.stop()
	n.stop = nil
	if err := <-n.ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func (n *node) HTTP() string { return n.app.Load().URL() }

func (n *node) Dial(ctx context.Context, scheme string) (net.Conn, error) {
	address := strings.TrimPrefix(n.app.Load().URL(), "http://")
	if scheme == "tcp" {
		address = strings.TrimPrefix(n.app.Load().ListenURLs()[0], "tcp://")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func (n *node) AdminKey() string {
	raw, err := os.ReadFile(filepath.Join(n.dir, app.AdminKeyFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// deadline bounds one scenario.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}
