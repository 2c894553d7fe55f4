package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"

	"github.com/skein-im/skein/internal/bus"
)

const (
	cluster = "skein"
	// noPort is no TCP port: listening on it fails before any system call.
	noPort = 1 << 17
	// startDeadline is how long a server may take to listen.
	startDeadline = 10 * time.Second
	// maxPending is what may wait for this node's own client, in bytes. For a route
	// the server knows no such bound; there writeDeadline is one.
	maxPending = 32 << 20
	// retries is how often, once a second, a node that was found through others is
	// looked for after it was lost. The configured ones are looked for for ever. A day
	// outlasts a network's fault; the addresses of nodes that are gone are forgotten
	// some time.
	retries = 24 * 60 * 60
)

// embedded is a NATS server for routes alone: nobody can connect but this
// process, over memory, and peers that show a certificate (links.go).
type embedded struct{ *natsd.Server }

func startServer(opts Options, log *slog.Logger) (*embedded, error) {
	o, err := serverOptions(opts)
	if err != nil {
		return nil, err
	}
	server, err := natsd.NewServer(o)
	if err != nil {
		return nil, err
	}
	notes := &notes{log: log.With("bus", opts.Name), fatal: make(chan string, 1)}
	server.SetLoggerV2(notes, log.Enabled(context.Background(), slog.LevelDebug), false, false)
	e := &embedded{server}
	server.Start()
	if err := e.waitForPort(notes.fatal); err != nil {
		e.stop()
		return nil, fmt.Errorf("listen on %s for routes: %w", opts.Listen, err)
	}
	return e, nil
}

// waitForPort waits until the server listens for routes. It has no event for it.
func (e *embedded) waitForPort(fatal <-chan string) error {
	deadline := time.NewTimer(startDeadline)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for e.ClusterAddr() == nil {
		select {
		case <-tick.C:
		case s := <-fatal:
			return errors.New(s)
		case <-deadline.C:
			return errors.New("the server did not start in time")
		}
	}
	return nil
}

func serverOptions(opts Options) (*natsd.Options, error) {
	ring, err := ringOf(opts)
	if err != nil {
		return nil, err
	}
	links, err := linkTLS(ring)
	if err != nil {
		return nil, err
	}
	host, port, err := splitAddress(opts.Listen)
	if err != nil {
		return nil, err
	}
	if port == 0 {
		port = natsd.RANDOM_PORT
	}
	if host == "" {
		host = "0.0.0.0"
	}
	o := &natsd.Options{
		// Two lives of a node are two servers: the peers may still hold the dead one.
		ServerName: opts.Name + "-" + rand.Text()[:6],
		// No port for clients. DontListen would be the word for it, but then the server
		// waits for that port for ever before it opens the one for routes. One that does
		// not exist makes it say so in its log and go on.
		Host:                   "127.0.0.1",
		Port:                   noPort,
		NoSigs:                 true,
		NoSystemAccount:        true,
		DisableJetStreamBanner: true,
		NoHeaderSupport:        true,
		NoFastProducerStall:    true, // nobody waits for a slow peer
		MaxPayload:             bus.MaxMessage,
		MaxPending:             maxPending,
		WriteDeadline:          writeDeadline,
		ConnectErrorReports:    60,
		ReconnectErrorReports:  60,
		Cluster: natsd.ClusterOpts{
			Name:           cluster,
			Host:           host,
			Port:           port,
			Advertise:      opts.Advertise,
			TLSConfig:      links,
			TLSTimeout:     writeDeadline.Seconds(),
			PoolSize:       1,
			Compression:    natsd.CompressionOpts{Mode: natsd.CompressionOff},
			ConnectRetries: retries,
			PingInterval:   pingEvery,
			MaxPingsOut:    pingsOut,
			WriteDeadline:  writeDeadline,
			// The default goes on as long as a few bytes get through, with all that waits
			// in memory.
			WriteTimeout: natsd.WriteTimeoutPolicyClose,
		},
	}
	if opts.Advertise != "" {
		if _, _, err := splitAddress(opts.Advertise); err != nil {
			return nil, fmt.Errorf("advertise: %w", err)
		}
	}
	for _, p := range opts.Peers {
		if _, _, err := splitAddress(p); err != nil {
			return nil, fmt.Errorf("peer: %w", err)
		}
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: p})
	}
	return o, nil
}

func splitAddress(s string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(p)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%q has no valid port", s)
	}
	return host, port, nil
}

func (e *embedded) stop() {
	e.Shutdown()
	e.WaitForShutdown()
}

// current lists the routes that stand: their peers' ids with a number that no
// other route has had.
func (e *embedded) current() map[string]route {
	z, err := e.Routez(nil)
	if err != nil {
		return nil // never: only a filter can be wrong
	}
	all := make(map[string]route, len(z.Routes))
	for _, r := range z.Routes {
		all[r.RemoteID] = route{id: r.Rid, peer: r.RemoteName}
	}
	return all
}
