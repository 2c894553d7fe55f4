package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/soak"
)

// clusterFault is what happens to a cluster.
type clusterFault struct {
	name, does string
	// calm is the least time between two rounds, time the most that one takes.
	calm, time time.Duration
	// strike is one round; everything is healed when it returns.
	strike func(*cluster, context.Context) error
	// gentle: nobody may be turned away, not even for now.
	gentle bool
	// nodes are the roles of the nodes it happens to.
	nodes    [][]string
	database databaseKind
}

func clusterFaults() []*clusterFault {
	return []*clusterFault{
		{"kill-gateway", "kill -9 a gateway, started again after 1–3 s", time.Second, time.Minute, killing1(gateway), false, apart, single},
		{"kill-logic", "kill -9 a logic node, started again after 1–3 s", time.Second, time.Minute, killing1(logic), false, apart, single},
		{"kill-api", "kill -9 an API node, started again after 1–3 s", time.Second, time.Minute, killing1(api), false, apart, single},
		{"kill-all-gateways", "kill -9 all gateways at once", 2 * time.Second, time.Minute, (*cluster).killAllGateways, false, apart, single},
		{"freeze", "SIGSTOP any node for 10 s", 2 * time.Second, time.Minute, (*cluster).freeze, false, apart, single},
		{"cut-database", "5–12 s without a packet between a logic node and PostgreSQL", 2 * time.Second, time.Minute, (*cluster).cutDatabase, false, apart, single},
		{"cut-bus", "5–12 s without a packet between any node and all others", 2 * time.Second, time.Minute, (*cluster).cutBus, false, apart, single},
		{"lock-rows", "a foreign transaction holds the rows of a third of the conversations, and of the marks, for 0.3–4 s; every second time a logic node is killed meanwhile", 2 * time.Second, time.Minute, (*cluster).lockRows, false, apart, single},
		{"restart-postgres", "kill -9 PostgreSQL, started again after 1 s", 2 * time.Second, time.Minute, (*cluster).restartPostgres, false, apart, single},
		{"put-back", "put an older copy of PostgreSQL in its place, on the same timeline, while nodes and clients stay", 2 * time.Second, time.Minute, (*cluster).putBack, false, apart, single},
		{"alike-put-back", "the same with three nodes that have all roles", 2 * time.Second, time.Minute, (*cluster).putBack, false, alike, single},
		{"rolling", "SIGTERM and start all nodes, one after the other", time.Second, 3 * time.Minute, (*cluster).rolling, true, apart, single},
		{"upgrade", "three nodes with all roles exchanged for the next version, one after the other, with a migration, and back; every second time contracted in between", time.Second, 4 * time.Minute, (*cluster).upgrade, true, alike, single},
		{"alike-kill", "kill -9 one of three nodes with all roles, started again after 1–3 s", time.Second, time.Minute, killing1(gateway), false, alike, single},
		{"alike-freeze", "SIGSTOP one of three nodes with all roles for 10 s", 2 * time.Second, time.Minute, (*cluster).freeze, false, alike, single},
		{"alike-cut-bus", "5–12 s without a packet between one of three nodes with all roles and the others", 2 * time.Second, time.Minute, (*cluster).cutBus, false, alike, single},
		{"alike-cut-database", "5–12 s without a packet between one of three nodes with all roles and PostgreSQL", 2 * time.Second, time.Minute, (*cluster).cutDatabase, false, alike, single},
		{"failover", "kill -9 PostgreSQL, after 0.5–2 s one of its two synchronous standbys is promoted", 2 * time.Second, time.Minute, (*cluster).failover, false, apart, synchronous},
		{"alike-failover", "the same with three nodes that have all roles", 2 * time.Second, time.Minute, (*cluster).failover, false, alike, synchronous},
		{"failover-cut", "not a packet more from or to PostgreSQL's machine, after 0.5–2 s one of its two synchronous standbys is promoted", 2 * time.Second, 2 * time.Minute, (*cluster).failoverCut, false, apart, synchronous},
		{"failover-lossy", "kill -9 PostgreSQL 0.3–2 s after its asynchronous standby was cut off, which is promoted then: what was acknowledged meanwhile is lost, and nobody skips what comes after", 2 * time.Second, 2 * time.Minute, (*cluster).failoverLossy, false, apart, asynchronous},
		{"alike-failover-lossy", "the same with three nodes that have all roles", 2 * time.Second, 2 * time.Minute, (*cluster).failoverLossy, false, alike, asynchronous},
	}
}

// chosenFaults returns the faults of a name; "all" is all.
func chosenFaults(name string) ([]*clusterFault, error) {
	all := clusterFaults()
	if name == "all" {
		return all, nil
	}
	var names []string
	for _, f := range all {
		if f.name == name {
			return []*clusterFault{f}, nil
		}
		names = append(names, f.name)
	}
	return nil, fmt.Errorf("no fault %q: all, %s", name, strings.Join(names, ", "))
}

// begin notes that a fault strikes now.
func (c *cluster) begin(what string, gone ...*node) *soak.Moment {
	c.say("%s", what)
	m := soak.Moment{Began: soak.Now(), What: what}
	for _, n := range gone {
		if n.is(gateway) {
			m.Gone = append(m.Gone, n.http, n.tcp)
		}
	}
	c.moments = append(c.moments, m)
	return &c.moments[len(c.moments)-1]
}

// healed notes that nothing hurts any more, once all nodes say so.
func (c *cluster) healed(ctx context.Context, m *soak.Moment) error {
	m.Healed = soak.Now()
	err := c.ready(ctx)
	c.say("healed after %v, ready %v later", time.Duration(m.Healed-m.Began), time.Duration(soak.Now()-m.Healed).Round(time.Millisecond))
	return err
}

// again starts nodes that were killed.
func (c *cluster) again(ctx context.Context, nodes ...*node) error {
	var wg sync.WaitGroup
	errs := make([]error, len(nodes))
	for i, n := range nodes {
		wg.Go(func() {
			if _, err := n.start(ctx); err != nil {
				errs[i] = fmt.Errorf("start %s again: %w", n.name, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// killing1 kills a random node of a role; of the gateways one that was not
// killed last, as nobody is connected to that.
func killing1(role string) func(*cluster, context.Context) error {
	return func(c *cluster, ctx context.Context) error {
		all := c.of(role)
		if role == gateway && len(all) > 1 {
			all = slices.DeleteFunc(all, func(n *node) bool { return n == c.killed })
		}
		c.killed = all[c.rng.IntN(len(all))]
		return c.killNodes(ctx, c.killed)
	}
}

func (c *cluster) killAllGateways(ctx context.Context) error {
	return c.killNodes(ctx, c.of(gateway)...)
}

func (c *cluster) killNodes(ctx context.Context, nodes ...*node) error {
	m := c.begin("kill -9 "+names(nodes), nodes...)
	for _, n := range nodes {
		if err := n.cmd.Process.Kill(); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		n.kill()
	}
	if err := wait(ctx, c.between(time.Second, 3*time.Second)); err != nil {
		return err
	}
	if err := c.again(ctx, nodes...); err != nil {
		return err
	}
	return c.healed(ctx, m)
}

func names(nodes []*node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.name)
	}
	return strings.Join(out, ", ")
}

// freezeTime is past what nodes wait for each other.
const freezeTime = 10 * time.Second

func (c *cluster) freeze(ctx context.Context) error {
	n := c.nodes[c.rng.IntN(len(c.nodes))]
	m := c.begin("freeze " + n.name)
	if err := freeze(n.cmd.Process); err != nil {
		return err
	}
	err := wait(ctx, freezeTime)
	if err := errors.Join(err, thaw(n.cmd.Process)); err != nil {
		return err
	}
	return c.healed(ctx, m)
}

func (c *cluster) cutDatabase(ctx context.Context) error {
	all := c.of(logic)
	n := all[c.rng.IntN(len(all))]
	return c.partition(ctx, n, "the database", c.database)
}

func (c *cluster) cutBus(ctx context.Context) error {
	n := c.nodes[c.rng.IntN(len(c.nodes))]
	return c.partition(ctx, n, "all other nodes", c.except(n)...)
}

func (c *cluster) partition(ctx context.Context, n *node, from string, machines ...*machine) error {
	m := c.begin("cut " + n.name + " from " + from)
	if err := n.machine.cut(machines...); err != nil {
		return err
	}
	err := wait(ctx, c.between(5*time.Second, 12*time.Second))
	if err := errors.Join(err, n.machine.join(machines...)); err != nil {
		return err
	}
	return c.healed(ctx, m)
}

// lockRowsSQL locks the rows of a third of the conversations, and of the marks, tells
// how many of the former, and keeps them for some seconds.
const lockRowsSQL = `SELECT l.n, pg_sleep($1)::text FROM (SELECT
	(SELECT count(*) FROM (SELECT FROM journal_heads WHERE abs(hashtext(conversation)) % 3 = $2 FOR UPDATE) h) AS n,
	(SELECT count(*) FROM (SELECT FROM journal_marks WHERE abs(hashtext("user")) % 3 = $2 FOR UPDATE) m) AS marks OFFSET 0) l`

func (c *cluster) lockRows(ctx context.Context) error {
	hold := c.between(300*time.Millisecond, 4*time.Second)
	c.begin(fmt.Sprintf("lock rows for %v", hold.Round(time.Millisecond)))
	moment, third := len(c.moments)-1, c.rng.IntN(3)
	held := make(chan error, 1)
	go func() {
		got, err := pgtest.Collect[struct {
			N     int64
			Sleep string
		}](ctx, c.postgres.URL(), lockRowsSQL, hold.Seconds(), third)
		if err == nil && got[0].N == 0 {
			err = errors.New("there was no row to lock")
		}
		held <- err
	}()
	if c.rounds%2 == 1 {
		if err := wait(ctx, hold/2); err != nil {
			return errors.Join(err, <-held)
		}
		if err := killing1(logic)(c, ctx); err != nil {
			return errors.Join(err, <-held)
		}
	}
	if err := <-held; err != nil {
		return fmt.Errorf("lock rows: %w", err)
	}
	return c.healed(ctx, &c.moments[moment])
}

func (c *cluster) restartPostgres(ctx context.Context) error {
	m := c.begin("kill -9 the database")
	if err := c.postgres.Kill(); err != nil {
		return err
	}
	if err := wait(ctx, time.Second); err != nil {
		return err
	}
	if err := c.postgres.Restart(); err != nil {
		return fmt.Errorf("start the database again: %w", err)
	}
	return c.healed(ctx, m)
}

func (c *cluster) rolling(ctx context.Context) error {
	for _, n := range slices.Clone(c.nodes) {
		m := c.begin("restart "+n.name, n)
		if err := n.stop(ctx); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		if err := c.again(ctx, n); err != nil {
			return err
		}
		if err := c.healed(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
