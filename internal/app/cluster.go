package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/bus/nats"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/remote"
)

// joinCluster opens the bus, if there are other nodes.
func (a *App) joinCluster(ctx context.Context, o Options) (err error) {
	if !a.cfg.Clustered() {
		return nil
	}
	name := a.cfg.Node.Name
	open := func(h bus.Handler) (bus.Bus, error) {
		b, err := nats.Open(ctx, nats.Options{
			Name: name, Listen: a.cfg.Node.Listen, Peers: a.cfg.Cluster, Secret: a.cfg.Node.Secret, Certificates: certificates(a.cfg.Node), URL: a.cfg.ExternalBus(), Logger: a.log,
		}, h)
		if err != nil {
			return nil, fmt.Errorf("node.listen, cluster: %w", err)
		}
		a.clusterAddr = address(b.Addr())
		return b, nil
	}
	if o.OpenBus != nil {
		open = func(h bus.Handler) (bus.Bus, error) { return o.OpenBus(name, h) }
	}
	a.node, err = remote.New(remote.Options{
		Name: name, Open: open, API: a.cfg.Is(config.RoleAPI), Logger: a.log.With("node", name), Registerer: a.metrics,
	})
	return err
}

func certificates(n config.Node) nats.Certificates {
	return nats.Certificates{CA: n.TLSCA, Cert: n.TLSCert, Key: n.TLSKey}
}

// ClusterAddr is where other nodes reach this one; empty alone and over an
// external bus.
func (a *App) ClusterAddr() string { return a.clusterAddr }

func address(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// nodeName is the host's name and something random: two processes of a host
// differ, and so do two runs of one.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	host, _, _ = strings.Cut(host, ".")
	host = strings.Map(func(r rune) rune {
		if im.ValidID(string(r)) {
			return r
		}
		return '-'
	}, host)
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return host[:min(len(host), 48)] + "-" + hex.EncodeToString(b[:])
}

// backend is what other nodes ask of this one's stores.
type backend struct{ a *App }

func (b backend) Position(ctx context.Context) (uint64, error) {
	at, err := b.a.shared.Pulse(ctx)
	return at.Pos, err
}
func (b backend) Timeline() string { return b.a.journal.Timeline() }

func (b backend) Eras() im.Eras { return b.a.shared.Eras() }

func (b backend) Changed(ctx context.Context, since uint64, limit int) ([]im.ParcelHead, bool, error) {
	return b.a.shared.Changed(ctx, since, limit)
}

func (b backend) Standing(ctx context.Context, u im.UserID) (im.Standing, error) {
	return b.a.standing(ctx, u)
}

func (b backend) Media(ctx context.Context, method string, payload []byte) ([]byte, error) {
	if b.a.media == nil {
		return nil, im.Errorf(im.CodeUnimplemented, "this server takes no uploads")
	}
	return b.a.media.Answer(ctx, method, payload)
}

func (b backend) Forget(x, y im.UserID) {
	b.a.members.contacts.Forget(x, y)
}

// startCluster begins to work with the others.
func (a *App) startCluster() error {
	if a.node == nil {
		return nil
	}
	var g remote.Gateway
	if a.gateway != nil {
		g = a.tracedGateway()
	}
	if a.logic == nil {
		return a.node.Start(g, nil, nil)
	}
	return a.node.Start(g, a.logic, backend{a})
}

const (
	// uselessAfter is how long a gateway may be without any logic node until it sends
	// its clients to another one: the others may reach some.
	uselessAfter = 10 * time.Second
	// placeEvery is how often a gateway among others looks up the position of a busy
	// connection: less often than one with nothing to say compares, which needs none.
	placeEvery = 40 * time.Second
	// auditEvery is how often a gateway reads the standing of its users again, for
	// what nobody noticed that it was lost.
	auditEvery = 10 * time.Minute
)

// watchOver looks after a gateway among others until stop is closed.
func (a *App) watchOver(stop <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	useful, audited := time.Now(), time.Now()
	for {
		select {
		case <-stop:
			return
		case now := <-ticker.C:
			if a.node.Ready() {
				useful = now
			}
			a.gateway.TurnAway(now.Sub(useful) > uselessAfter, a.live.drainTime())
			if now.Sub(audited) > auditEvery {
				audited = now
				a.gateway.Verify(false)
			}
		}
	}
}
