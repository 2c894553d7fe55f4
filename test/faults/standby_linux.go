package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/soak"
)

// databaseKind is how many servers the database has, and what commits wait for.
type databaseKind int

const (
	single databaseKind = iota
	// synchronous: two standbys, and every commit waits for one of them.
	synchronous
	// asynchronous: one standby, and nobody waits for it.
	asynchronous
)

// standbys is how many a database has.
func (k databaseKind) standbys() int { return map[databaseKind]int{synchronous: 2, asynchronous: 1}[k] }

// databaseServer is one of the database's, on a machine of its own.
type databaseServer struct {
	machine  *machine
	postgres *pgtest.Server
}

// databasePort is the same on all machines.
const databasePort = 5432

// startDatabase starts the primary, and its standbys as docs/operations.md has
// them: each follows whoever is the primary.
func (c *cluster) startDatabase(data string) (err error) {
	machines := []*machine{c.database}
	for range c.fault.database.standbys() {
		m, err := c.net.machine()
		if err != nil {
			return err
		}
		machines = append(machines, m)
		c.standbys = append(c.standbys, &databaseServer{machine: m})
	}
	settings := func(n int) map[string]string { return c.databaseSettings(machines, n) }
	place := func(m *machine) pgtest.Place {
		return pgtest.Place{Address: m.addr, Port: databasePort, Enter: m.enter}
	}
	if c.postgres, err = pgtest.StartAt(place(c.database), data, settings(0)); err != nil {
		return err
	}
	for n, s := range c.standbys {
		dir := filepath.Join(c.dir, fmt.Sprint("standby", n+1))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if s.postgres, err = pgtest.StandbyAt(place(s.machine), dir, settings(n+1), c.postgres); err != nil {
			return fmt.Errorf("standby %d: %w", n+1, err)
		}
	}
	return nil
}

// databaseSettings are those of the nth server. All have the same, as any of them
// may become the primary.
func (c *cluster) databaseSettings(machines []*machine, n int) map[string]string {
	if len(machines) == 1 {
		return nil
	}
	var hosts, names []string
	for i, m := range machines {
		hosts, names = append(hosts, m.addr), append(names, fmt.Sprint("db", i+1))
	}
	settings := map[string]string{
		"cluster_name":     names[n],
		"primary_conninfo": fmt.Sprintf("host=%s port=%d user=skein target_session_attrs=read-write connect_timeout=2", strings.Join(hosts, ","), databasePort),
		// Standbys that were away for a while find what they missed.
		"wal_keep_size":               "1GB",
		"wal_retrieve_retry_interval": "200ms",
	}
	if c.fault.database == synchronous {
		settings["synchronous_standby_names"] = "ANY 1 (" + strings.Join(names, ", ") + ")"
	}
	return settings
}

// store is the database's URL for nodes: with standbys, all of them.
func (c *cluster) store() string {
	if len(c.standbys) == 0 {
		return c.postgres.URL()
	}
	hosts := []string{fmt.Sprintf("%s:%d", c.database.addr, databasePort)}
	for _, s := range c.standbys {
		hosts = append(hosts, fmt.Sprintf("%s:%d", s.machine.addr, databasePort))
	}
	return "postgres://skein@" + strings.Join(hosts, ",") + "/postgres?target_session_attrs=read-write"
}

// failover is the loss of the primary's process: the standby that has most takes
// its place, and what was the primary comes back as a standby. All that was
// acknowledged has waited for a standby, so nothing is lost, and nobody is told
// that it might be.
func (c *cluster) failover(ctx context.Context) error {
	m := c.begin("kill -9 the database's primary")
	if err := c.postgres.Kill(); err != nil {
		return err
	}
	return c.failed(ctx, m, func() error { return nil })
}

// failoverCut is the loss of the primary's machine: nobody is told that a
// connection ended. It is ended for good before it is reached again.
func (c *cluster) failoverCut(ctx context.Context) error {
	m := c.begin("cut off the database's primary")
	lost, old := c.database, c.postgres
	others := c.except(nil)
	for _, s := range c.standbys {
		others = append(others, s.machine)
	}
	if err := lost.cut(others...); err != nil {
		return err
	}
	return c.failed(ctx, m, func() error { return errors.Join(old.Kill(), lost.join(others...)) })
}

// failed has a standby take the place of a primary that is gone; back makes its
// machine one that can be used again.
func (c *cluster) failed(ctx context.Context, m *soak.Moment, back func() error) error {
	if err := wait(ctx, c.between(500*time.Millisecond, 2*time.Second)); err != nil {
		return errors.Join(err, back())
	}
	next, err := c.furthest()
	if err != nil {
		return errors.Join(err, back())
	}
	if err := errors.Join(c.promote(next), back()); err != nil {
		return err
	}
	if err := c.follow(ctx, next); err != nil {
		return err
	}
	return c.healed(ctx, m)
}

// failoverLossy is a failover as it must not be made: to a standby that was
// behind. What was acknowledged meanwhile is lost. The server has to notice, every
// device to be told, and none may skip what is acknowledged after that.
func (c *cluster) failoverLossy(ctx context.Context) error {
	next := c.standbys[0]
	ret := soak.Return{What: "a failover to a standby that was behind", CopyBegan: soak.Now(), Of: len(c.returns), Stays: true}
	if err := c.followed(ctx, next); err != nil {
		return err
	}
	if err := next.machine.cut(c.database); err != nil {
		return err
	}
	ret.CopyEnded = soak.Now()
	if err := wait(ctx, c.between(300*time.Millisecond, 2*time.Second)); err != nil {
		return err
	}
	m := c.begin("kill -9 the database's primary, whose standby is behind")
	if err := c.postgres.Kill(); err != nil {
		return err
	}
	ret.Over = soak.Now()
	if err := c.compare(ctx, &ret, next); err != nil {
		return err
	}
	if err := c.world.Heard(ctx, silence); err != nil {
		return err
	}
	// Who talks where has to be known before anybody can talk.
	c.world.WentBack(&ret)
	ret.Began = soak.Now()
	if err := c.promote(next); err != nil {
		return err
	}
	// Not before: the machine of the one that was killed still sends what that had
	// written to its sockets, and a standby would take it.
	if err := next.machine.join(c.database); err != nil {
		return err
	}
	if err := c.follow(ctx, next); err != nil {
		return err
	}
	if err := c.healed(ctx, m); err != nil {
		return err
	}
	ret.Ready = soak.Now()
	c.returns = append(c.returns, ret)
	return nil
}

// compare reads what the primary had that is gone, while no node reaches it, and
// what its standby has of it.
func (c *cluster) compare(ctx context.Context, ret *soak.Return, next *databaseServer) (err error) {
	nodes := c.except(nil)
	if err := c.database.cut(nodes...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.postgres.Kill(), c.database.join(nodes...)) }()
	if err := c.postgres.Restart(); err != nil {
		return fmt.Errorf("the primary, by itself: %w", err)
	}
	var wrong []string
	if ret.End, wrong, err = readPostgres(ctx, c.postgres.URL()); err != nil {
		return err
	}
	c.trouble = append(c.trouble, wrong...)
	for {
		received, err := next.postgres.Received()
		if err != nil {
			return err
		}
		replayed, err := next.postgres.Replayed()
		if err != nil {
			return err
		}
		if replayed >= received {
			break
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	ret.Kept, wrong, err = readPostgres(ctx, next.postgres.URL())
	c.trouble = append(c.trouble, wrong...)
	return err
}

// furthest is the standby that has most of the primary's log: a commit waits for
// any one of them.
func (c *cluster) furthest() (best *databaseServer, err error) {
	var most int64
	for _, s := range c.standbys {
		n, err := s.postgres.Received()
		if err != nil {
			return nil, err
		}
		if best == nil || n > most {
			best, most = s, n
		}
	}
	return best, nil
}

// promote makes a standby the primary, and the primary, which is gone, a standby
// that has to follow.
func (c *cluster) promote(s *databaseServer) error {
	if err := s.postgres.Promote(); err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	c.postgres, s.postgres = s.postgres, c.postgres
	c.database, s.machine = s.machine, c.database
	return nil
}

// follow makes what was the primary a standby, from nothing.
func (c *cluster) follow(ctx context.Context, s *databaseServer) error {
	if err := s.postgres.Follow(c.postgres); err != nil {
		return fmt.Errorf("the primary of before as a standby: %w", err)
	}
	return c.followed(ctx, s)
}

// followed waits until a standby has all that is written now: then it may become
// the primary.
func (c *cluster) followed(ctx context.Context, s *databaseServer) error {
	written, err := c.postgres.Written()
	if err != nil {
		return err
	}
	deadline := soak.Now() + int64(readyTime)
	for {
		n, err := s.postgres.Received()
		if err == nil && n >= written {
			return nil
		}
		if soak.Now() > deadline {
			return errors.Join(errors.New("a standby does not follow"), err)
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
