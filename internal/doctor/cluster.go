package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/skein-im/skein/internal/config"
)

// spareFiles is what a server needs besides its connections: the store's files,
// the database's connections, the log.
const spareFiles = 1500

// machine looks at what every node needs.
func (e *examiner) machine() {
	if e.c.Is(config.RoleGateway) {
		e.files()
	}
	synchronised, off, err := clock()
	switch {
	case err != nil: // it cannot be known here
	case !synchronised:
		e.add(Warn, "clock", "it follows no other clock", "times of messages drift, and tokens end early or late: run an NTP client (chrony, systemd-timesyncd)")
	default:
		e.add(OK, "clock", fmt.Sprintf("it is kept in time (at most %v off)", off.Round(time.Millisecond)), "")
	}
}

func (e *examiner) files() {
	limit, err := openFiles()
	if errors.Is(err, errors.ErrUnsupported) {
		return // there is no limit of its own
	}
	if err != nil {
		e.add(Warn, "file descriptors", err.Error(), "")
		return
	}
	need := uint64(max(e.c.Gateway.MaxConnections, 0)) + spareFiles
	level := OK
	if limit < need { // a server raises its limit to this one
		level = Warn
	}
	e.judge(level, "file descriptors", fmt.Sprintf("at most %d; gateway.max_connections is %d", limit, e.c.Gateway.MaxConnections),
		fmt.Sprintf("connections are refused before the limit is reached: raise it to %d (ulimit -n, LimitNOFILE=), or lower gateway.max_connections to %d",
			need, max(int64(limit)-spareFiles, 0)))
}

// cluster looks at the way to other nodes.
func (e *examiner) cluster(ctx context.Context) {
	if !e.c.Clustered() {
		return
	}
	if e.c.Node.Secret == "" {
		e.add(Bad, "node.secret", "there is none", "make one (openssl rand -hex 32), and give it to all nodes, best as SKEIN_NODE_SECRET_FILE")
	} else {
		e.add(OK, "node.secret", fmt.Sprintf("%d characters", len(e.c.Node.Secret)), "")
	}
	e.listens(ctx)
	for _, peer := range e.c.Cluster {
		what, address := "node "+peer, peer
		if strings.Contains(peer, "://") {
			u, err := url.Parse(peer)
			if err != nil {
				continue // the settings are bad, which was told
			}
			if address = u.Host; u.Port() == "" {
				address = net.JoinHostPort(u.Hostname(), "4222")
			}
			what = "bus " + address // without its password
		}
		if err := e.dial(ctx, address); err != nil {
			e.add(Bad, what, "it cannot be reached: "+err.Error(), "is it running, and does a firewall let this machine through?")
			continue
		}
		e.add(OK, what, "its port answers", "")
	}
}

// listens looks whether this node's own port can be had, or is had by a server.
func (e *examiner) listens(ctx context.Context) {
	address := e.c.Node.Listen
	if address == "" {
		return
	}
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		_ = l.Close()
		e.add(OK, "node.listen", address+" is free", "")
	case errors.Is(err, syscall.EADDRINUSE) && e.dial(ctx, address) == nil:
		e.add(OK, "node.listen", address+" is in use and answers: by this node's server, presumably", "")
	default:
		e.add(Bad, "node.listen", err.Error(), "name an address of this machine and a port that nothing else uses")
	}
}
