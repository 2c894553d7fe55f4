package e2e

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// cluster is a World of several nodes, in this process, over a real PostgreSQL
// and their own NATS servers, with nothing of their memory shared.
type cluster struct {
	dir      string
	database string
	terms    terms

	mu      sync.Mutex
	nodes   []*member // in the order they were started
	dialled atomic.Uint64
}

// member is one of the nodes.
type member struct {
	name  string
	roles []string
	app   *app.App
	stop  context.CancelFunc
	ended chan error
}

const clusterSecret = "a secret for tests that is long enough"

// split has a role per process, twice but for the API.
func split(t *testing.T, o terms) World {
	c := &cluster{dir: t.TempDir(), database: pgtest.Database(t), terms: o}
	c.Start(t)
	t.Cleanup(func() { c.Stop(t) })
	return c
}

func (c *cluster) Start(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range []*member{
		{name: "logic1", roles: []string{"logic"}}, {name: "logic2", roles: []string{"logic"}},
		{name: "gateway1", roles: []string{"gateway"}}, {name: "gateway2", roles: []string{"gateway"}},
		{name: "api1", roles: []string{"api"}},
	} {
		c.start(t, m)
	}
}

// start joins one node; the first is the one that the others know.
func (c *cluster) start(t *testing.T, m *member) {
	t.Helper()
	cfg := settings(t, filepath.Join(c.dir, m.name), c.terms.settings)
	cfg.Roles, cfg.Node.Name, cfg.Node.Listen, cfg.Node.Secret = m.roles, m.name, "127.0.0.1:0", clusterSecret
	cfg.Postgres.Connections = 8
	cfg.Media.Store = filepath.Join(c.dir, "media") // which all nodes share
	if !cfg.Is("gateway") {
		cfg.Listeners = nil
	}
	if cfg.Is("logic") {
		cfg.Store = c.database
	}
	if len(c.nodes) > 0 {
		cfg.Cluster = []string{c.nodes[0].app.ClusterAddr()}
		if c.terms.bus != nil {
			cfg.Cluster = []string{"127.0.0.1:1"} // which nobody looks for
		}
	}
	a, err := app.Open(context.Background(), cfg, app.Options{Logger: c.terms.logger(m.name), Heartbeat: c.terms.heartbeat, WrapDispatch: c.terms.dispatch, OpenBus: c.terms.bus, PlaceEvery: c.terms.places})
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	m.app, m.stop, m.ended = a, stop, make(chan error, 1)
	go func() { m.ended <- a.Serve(ctx) }()
	c.nodes = append(c.nodes, m)
}

func (c *cluster) Stop(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.nodes {
		m.stop()
	}
	for _, m := range c.nodes {
		if err := <-m.ended; err != nil {
			t.Errorf("%s ended with %v", m.name, err)
		}
	}
	c.nodes = nil
}

// leave stops one node.
func (c *cluster) leave(t *testing.T, m *member) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	m.stop()
	if err := <-m.ended; err != nil {
		t.Errorf("%s ended with %v", m.name, err)
	}
	c.nodes = slices.DeleteFunc(slices.Clone(c.nodes), func(x *member) bool { return x == m })
}

// with are the nodes that have a role.
func (c *cluster) with(role string) (all []*member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.nodes {
		if m.roles[0] == role {
			all = append(all, m)
		}
	}
	return all
}

func (c *cluster) HTTP() string { return c.with("api")[0].app.URL() }

// Dial takes the gateways in turns, so that the two sides of a chat are at
// different ones.
func (c *cluster) Dial(ctx context.Context, scheme string) (net.Conn, error) {
	gateways := c.with("gateway")
	if len(gateways) == 0 {
		return nil, net.ErrClosed
	}
	g := gateways[c.dialled.Add(1)%uint64(len(gateways))].app
	address := strings.TrimPrefix(g.URL(), "http://")
	if scheme == "tcp" {
		address = strings.TrimPrefix(g.ListenURLs()[0], "tcp://")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func (c *cluster) AdminKey() string {
	raw, err := os.ReadFile(filepath.Join(c.dir, "logic1", app.AdminKeyFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
