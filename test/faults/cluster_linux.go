package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/soak"
)

// The roles of the nodes.
const (
	gateway = "gateway"
	logic   = "logic"
	api     = "api"
)

// apart are the nodes of a cluster whose roles are apart, alike those of one whose
// nodes all have all of them.
var (
	apart = [][]string{{gateway}, {gateway}, {logic}, {logic}, {api}}
	alike = [][]string{{gateway, logic, api}, {gateway, logic, api}, {gateway, logic, api}}
)

// clusterHeal is from the last fault to silence; readyTime is what a cluster
// may take to be whole again.
const (
	clusterHeal = 60 * time.Second
	readyTime   = 45 * time.Second
)

// node is one process of the cluster, on a machine of its own.
type node struct {
	*server
	name    string
	roles   []string
	machine *machine
}

func (n *node) is(role string) bool { return slices.Contains(n.roles, role) }

// cluster is a run against many nodes, from the first machine to the judgement.
type cluster struct {
	o     options
	fault *clusterFault
	net   *network
	dir   string
	rng   *rand.Rand

	database *machine
	postgres *pgtest.Server
	// standbys follow it, each on a machine of its own.
	standbys []*databaseServer
	nodes    []*node
	world    *soak.World

	killed  *node // last, by killing1
	copies  []serverCopy
	rounds  int
	moments []soak.Moment
	returns []soak.Return
	// trouble is what went wrong beside what clients see: nodes that ended by
	// themselves, or did not end well.
	trouble  []string
	calm     error
	fsync    time.Duration
	check    *soak.Report
	recovery soak.Recovery
	refused  int
}

func newCluster(o options, f *clusterFault, net *network) *cluster {
	h := fnv.New64()
	h.Write([]byte(f.name))
	return &cluster{o: o, fault: f, net: net, rng: rand.New(rand.NewPCG(o.seed, h.Sum64()))}
}

// between is a random time.
func (c *cluster) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.rng.Int64N(int64(most-least)))
}

func (c *cluster) say(format string, args ...any) {
	if c.o.verbose {
		fmt.Fprintf(os.Stderr, "%s %d: %s\n", c.fault.name, c.rounds, fmt.Sprintf(format, args...))
	}
}

func (c *cluster) run(ctx context.Context) (err error) {
	if c.dir, err = os.MkdirTemp("", "skein-faults-"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, buildTime+time.Duration(c.o.rounds)*c.fault.time)
	defer cancel()
	defer func() { err = errors.Join(err, c.end()) }()
	if err := c.start(ctx); err != nil {
		return err
	}
	if err := c.makeWorld(ctx); err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, c.world.Close())
		}
	}()
	if err := c.strikes(ctx); err != nil {
		return err
	}
	views, err := c.readServer(ctx)
	if err != nil {
		return err
	}
	closed = true
	if err := c.world.Close(); err != nil {
		return fmt.Errorf("close the devices: %w", err)
	}
	return c.judge(ctx, views)
}

// start makes the machines, the database and the nodes.
func (c *cluster) start(ctx context.Context) (err error) {
	if c.database, err = c.net.machine(); err != nil {
		return err
	}
	data := filepath.Join(c.dir, "postgres")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := c.startDatabase(data); err != nil {
		return fmt.Errorf("the database: %w", err)
	}
	if c.fsync, err = measureFsync(c.dir); err != nil {
		return err
	}
	if err := c.makeNodes(); err != nil {
		return err
	}
	// All at once, as they wait for each other.
	var wg sync.WaitGroup
	errs := make([]error, len(c.nodes))
	for i, n := range c.nodes {
		wg.Go(func() { _, errs[i] = n.start(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *cluster) makeNodes() (err error) {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(c.rng.Uint32())
	}
	count := map[string]int{}
	for _, roles := range c.fault.nodes {
		name := roles[0]
		if len(roles) > 1 {
			name = "node"
		}
		count[name]++
		n := &node{name: fmt.Sprintf("%s%d", name, count[name]), roles: roles}
		if n.machine, err = c.net.machine(); err != nil {
			return err
		}
		addr := n.machine.addr
		n.server = &server{
			bin: c.o.bin, data: filepath.Join(c.dir, n.name), env: c.o.serverEnv, enter: n.machine.enter,
			http: addr + ":8080", admin: addr + ":8081", tcp: addr + ":7000",
		}
		if n.logFile, err = os.Create(filepath.Join(c.dir, n.name+".log")); err != nil {
			return err
		}
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		n.args = append([]string{
			"serve", "--data", n.data, "--http", n.http, "--admin", n.admin, "--roles", strings.Join(n.roles, ","),
			"--set", "node.name=" + n.name, "--set", "node.listen=" + n.machine.addr + ":7946", "--set", "node.secret=" + hex.EncodeToString(secret),
		}, terms("2s")...)
		if n.is(gateway) {
			n.args = append(n.args, "--listen", "tcp://"+n.tcp)
		}
		if n.is(logic) {
			n.args = append(n.args, "--store", c.store())
		}
		for _, o := range c.nodes {
			if o != n {
				n.args = append(n.args, "--cluster", o.machine.addr+":7946")
			}
		}
	}
	return nil
}

// of returns the nodes of a role.
func (c *cluster) of(role string) (out []*node) {
	for _, n := range c.nodes {
		if n.is(role) {
			out = append(out, n)
		}
	}
	return out
}

// except returns the machines of all other nodes.
func (c *cluster) except(n *node) (out []*machine) {
	for _, o := range c.nodes {
		if o != n {
			out = append(out, o.machine)
		}
	}
	return out
}

func (c *cluster) makeWorld(ctx context.Context) error {
	key, err := c.of(logic)[0].adminKey()
	if err != nil {
		return err
	}
	dir := filepath.Join(c.dir, "clients")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	plan := soak.Plan{
		HTTP: "http://" + c.of(api)[0].http, AdminKey: key, Dir: dir,
		Clients: c.o.clients, Rate: c.o.rate, Seed: c.o.seed, Patience: 4 * time.Second,
	}
	for _, g := range c.of(gateway) {
		plan.WS = append(plan.WS, "ws://"+g.http+"/ws")
		plan.TCP = append(plan.TCP, "tcp://"+g.tcp)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c.world, err = soak.NewWorld(ctx, plan)
	return err
}

// strikes hurts the cluster under load.
func (c *cluster) strikes(ctx context.Context) error {
	loadCtx, stopLoad := context.WithCancel(ctx)
	var load sync.WaitGroup
	load.Go(func() { c.world.Load(loadCtx) })
	defer load.Wait()
	defer stopLoad()
	for c.rounds < c.o.rounds {
		if err := wait(ctx, c.between(c.fault.calm, c.fault.calm+time.Second)); err != nil {
			return err
		}
		if err := c.revive(ctx); err != nil {
			return err
		}
		c.rounds++
		if err := c.fault.strike(c, ctx); err != nil {
			return fmt.Errorf("round %d: %w", c.rounds, err)
		}
	}
	return wait(ctx, c.fault.calm) // the last one is followed by traffic too
}

// revive starts nodes that ended by themselves, as a supervisor would, and
// remembers that they did.
func (c *cluster) revive(ctx context.Context) error {
	for _, n := range c.nodes {
		err := n.running()
		if err == nil {
			continue
		}
		c.trouble = append(c.trouble, fmt.Sprintf("%s, after round %d: %.2000s", n.name, c.rounds, err))
		if _, err := n.start(ctx); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return nil
}

// ready waits until every node takes requests again.
func (c *cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for _, n := range c.nodes {
		for !n.server.ready(ctx) {
			if n.running() != nil {
				if err := c.revive(ctx); err != nil {
					return err
				}
			}
			if wait(ctx, 20*time.Millisecond) != nil {
				return fmt.Errorf("%s is not ready after %v: %.3000s", n.name, readyTime, n.log)
			}
		}
	}
	return nil
}

// readServer lets all become quiet and reads the cluster twice: through the
// API, and in its database once the nodes have stopped.
func (c *cluster) readServer(ctx context.Context) ([]soak.View, error) {
	calm, cancel := context.WithTimeout(ctx, clusterHeal)
	defer cancel()
	c.calm = c.world.Quiesce(calm)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := c.revive(ctx); err != nil {
		return nil, err
	}
	views, err := c.world.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range c.nodes {
		if err := n.stop(ctx); err != nil {
			c.trouble = append(c.trouble, fmt.Sprintf("%s, at its end: %.4000s", n.name, err))
		}
	}
	journal, wrong, err := readPostgres(ctx, c.postgres.URL())
	c.trouble = append(c.trouble, wrong...)
	return append(views, journal), err
}

func (c *cluster) judge(ctx context.Context, views []soak.View) error {
	stores, err := c.world.Stores(ctx)
	if err != nil {
		return err
	}
	histories, err := c.world.Histories()
	if err != nil {
		return err
	}
	run := soak.Run{Histories: histories, Views: append(views, stores...), Returns: c.returns}
	for i := range c.moments {
		run.Crashes = append(run.Crashes, c.moments[i].Began)
	}
	c.check = soak.Check(run)
	c.recovery, c.refused = soak.Recover(run, c.moments), soak.Refused(run)
	return nil
}

// end takes everything away but the files.
func (c *cluster) end() error {
	var errs []error
	for _, n := range c.nodes {
		if n.cmd != nil {
			n.kill()
		}
		errs = append(errs, n.logFile.Close(), n.machine.close())
	}
	if c.postgres != nil {
		errs = append(errs, c.postgres.Kill())
	}
	if c.database != nil {
		errs = append(errs, c.database.close())
	}
	for _, s := range c.standbys {
		if s.postgres != nil {
			errs = append(errs, s.postgres.Kill())
		}
		errs = append(errs, s.machine.close())
	}
	return errors.Join(errs...)
}
