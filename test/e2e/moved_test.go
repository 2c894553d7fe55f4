package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/child"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// movedCommand makes the tests' program be a server whose clock is moved: CLOCK, then
// settings as key=value.
const movedCommand = "moved-serve"

// serveMoved is as `skein serve`, with the clock of a file, clients that ask often for
// what they lack, and devices that ask as often as they like.
func serveMoved(clock string, settings []string) error {
	c, err := child.OpenClock(clock)
	if err != nil {
		return err
	}
	cfg := config.Default()
	for _, kv := range settings {
		key, value, _ := strings.Cut(kv, "=")
		if err := cfg.Set(key, value); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	many := limits.Rate{PerSecond: 1e6, Burst: 1e6}
	a, err := app.Open(ctx, cfg, app.Options{
		Now: c.Now, Heartbeat: pings, Rates: limits.Rates{Sends: many, Marks: many, Reads: many, Calls: many, Signals: many},
	})
	if err != nil {
		return err
	}
	fmt.Printf("Open %s\nListens %s\nCluster %s.\n", a.URL(), a.ListenURLs()[0], a.ClusterAddr())
	return a.Serve(ctx)
}

// moved is a deployment of real processes whose clock the test moves.
type moved struct {
	clock    *child.Clock
	dir      string
	database string // "": the embedded store
	nodes    []*movedNode
	dialled  atomic.Uint64
}

// movedNode is one of the processes.
type movedNode struct {
	mu sync.Mutex // guards what follows against those who dial
	*program
	at addresses

	cluster string
	args    []string
}

// newMoved starts one process, or as many of a cluster, with further settings as key=value.
func newMoved(t *testing.T, database string, nodes int, further ...string) *moved {
	t.Helper()
	return movedAt(t, t.TempDir(), database, nodes, 0, further...)
}

// movedAt is newMoved in a directory, where the data of the first process may be in node0;
// the clock is ahead.
func movedAt(t *testing.T, dir, database string, nodes int, ahead time.Duration, further ...string) *moved {
	t.Helper()
	m := &moved{dir: dir, database: database}
	m.clock = must(child.OpenClock(filepath.Join(m.dir, "clock")))(t)
	t.Cleanup(func() { m.clock.Close() })
	m.move(t, ahead)
	for n := range nodes {
		args := []string{
			movedCommand, filepath.Join(m.dir, "clock"), "data=" + filepath.Join(m.dir, fmt.Sprint("node", n)), "http.listen=127.0.0.1:0", "admin.listen=127.0.0.1:0",
			"listeners=tcp://127.0.0.1:0", "gateway.drain_time=0s", "accounts.dm_policy=everyone",
		}
		if database != "" {
			args = append(args, "store="+database, "postgres.connections=8")
		}
		if nodes > 1 {
			args = append(args, fmt.Sprint("node.name=node", n), "node.listen=127.0.0.1:0", "node.secret="+clusterSecret)
		}
		if n > 0 {
			args = append(args, "cluster="+m.nodes[0].cluster)
		}
		node := &movedNode{args: append(args, further...)}
		node.start(t)
		m.nodes = append(m.nodes, node)
	}
	return m
}

func (n *movedNode) start(t *testing.T) {
	t.Helper()
	self := must(os.Executable())(t)
	p := launchAt(t, self, nil, n.args...)
	t.Cleanup(p.terminate)
	var at addresses
	at.http = strings.TrimPrefix(p.out.expect(t, `Open http://[0-9.:]+`), "Open ")
	at.tcp = strings.TrimPrefix(p.out.expect(t, `Listens tcp://[0-9.:]+`), "Listens tcp://")
	n.cluster = strings.TrimSuffix(strings.TrimPrefix(p.out.expect(t, `Cluster [^\n]*\.\n`), "Cluster "), ".\n")
	n.mu.Lock()
	n.program, n.at = p, at
	n.mu.Unlock()
}

// kill ends the process as kill -9 does.
func (n *movedNode) kill(t *testing.T) {
	t.Helper()
	if err := n.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-n.done
}

// move lets time pass, for the database first: nothing is stored that was said later.
func (m *moved) move(t *testing.T, d time.Duration) {
	t.Helper()
	if m.database != "" {
		if err := pgtest.MoveClock(m.database, m.clock.Ahead()+d); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.clock.Move(d); err != nil {
		t.Fatal(err)
	}
}

// live are the processes that run.
func (m *moved) live() (all []*movedNode) {
	for _, n := range m.nodes {
		p, _ := n.now()
		select {
		case <-p.done:
		default:
			all = append(all, n)
		}
	}
	return all
}

// now is the process that was started last, and where it listens.
func (n *movedNode) now() (*program, addresses) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.program, n.at
}

func (m *moved) HTTP() string {
	_, at := m.live()[0].now()
	return at.http
}

// Dial takes the processes in turns.
func (m *moved) Dial(ctx context.Context, scheme string) (net.Conn, error) {
	live := m.live()
	if len(live) == 0 {
		return nil, net.ErrClosed
	}
	_, at := live[m.dialled.Add(1)%uint64(len(live))].now()
	address := strings.TrimPrefix(at.http, "http://")
	if scheme == "tcp" {
		address = at.tcp
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func (m *moved) AdminKey() string { return (&node{dir: filepath.Join(m.dir, "node0")}).AdminKey() }

func (m *moved) Stop(*testing.T) {
	for _, n := range m.live() {
		n.terminate()
	}
}

func (m *moved) Start(t *testing.T) {
	for _, n := range m.nodes {
		n.start(t)
	}
}
