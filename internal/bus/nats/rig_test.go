package nats_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/bus/bustest"
	"github.com/skein-im/skein/internal/bus/nats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "a secret that is long enough"

// logs collects what a node logs.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func start(t testing.TB, opts nats.Options, h bus.Handler) *nats.Bus {
	t.Helper()
	b, err := nats.Open(context.Background(), opts, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// rig is a cluster of embedded servers on the loopback interface. Each has a
// proxy before it, at an address that it keeps and by which the others know it.
type rig struct {
	logs    *logs
	mu      sync.Mutex
	seed    string
	proxies map[string]*proxy
	cut     map[string]bool // "a b", both ways
}

func newRig(t *testing.T) *rig {
	r := &rig{logs: &logs{}, proxies: map[string]*proxy{}, cut: map[string]bool{}}
	t.Cleanup(func() {
		if t.Failed() {
			s := r.logs.String()
			t.Log(s[max(0, len(s)-20_000):])
		}
	})
	return r
}

func (r *rig) Open(t *testing.T, name string, h bus.Handler, l bustest.Limits) bus.Bus {
	t.Helper()
	r.mu.Lock()
	p := r.proxies[name]
	if p == nil {
		p = newProxy(t, r, name)
		r.proxies[name] = p
	}
	var peers []string
	if r.seed == "" {
		r.seed = name
	} else if r.seed != name {
		peers = []string{r.proxies[r.seed].addr}
	}
	r.mu.Unlock()
	b := start(t, nats.Options{
		Name: name, Listen: "127.0.0.1:0", Advertise: p.addr, Peers: peers, Secret: secret,
		QueueMessages: l.Messages, QueueBytes: l.Bytes, Logger: r.logs.logger(),
	}, h)
	p.setTarget(b.Addr().String())
	return b
}

func (r *rig) Cut(t *testing.T, a, b string) {
	t.Helper()
	r.mu.Lock()
	r.cut[a+" "+b], r.cut[b+" "+a] = true, true
	pa, pb := r.proxies[a], r.proxies[b]
	r.mu.Unlock()
	pa.listener.Close()
	pb.listener.Close()
	failed := strings.Count(r.logs.String(), dialFailed)
	// Nobody is told: both have to notice that nothing comes any more.
	for _, l := range append(pa.linksFrom(b), pb.linksFrom(a)...) {
		l.sides.Wait()
	}
	// And long enough that somebody has tried to come back, in vain.
	eventually(t, "a dial to fail", func() bool { return strings.Count(r.logs.String(), dialFailed) > failed })
}

// dialFailed is what a server logs of a peer that it cannot reach.
const dialFailed = "Error trying to connect to route"

func (r *rig) Mend(t *testing.T, a, b string) {
	r.mu.Lock()
	delete(r.cut, a+" "+b)
	delete(r.cut, b+" "+a)
	pa, pb := r.proxies[a], r.proxies[b]
	r.mu.Unlock()
	// Connections that were tried meanwhile would not come to life in a real network
	// either, or only after a while.
	for _, l := range append(pa.linksFrom(b), pb.linksFrom(a)...) {
		l.close()
	}
	pa.listen(t, pa.addr)
	pb.listen(t, pb.addr)
}

func (r *rig) isCut(a, b string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut[a+" "+b]
}

// proxy stands before a node.
type proxy struct {
	rig      *rig
	owner    string
	tls      *tls.Config
	listener net.Listener // the test's goroutine's
	addr     string
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	links  []*link
	closed bool
}

func newProxy(t *testing.T, r *rig, owner string) *proxy {
	p := &proxy{rig: r, owner: owner, tls: issued(t, secret, nats.NodeName)}
	p.listen(t, local)
	t.Cleanup(func() {
		p.listener.Close()
		p.mu.Lock()
		p.closed = true
		links := p.links
		p.mu.Unlock()
		for _, l := range links {
			l.close()
		}
		p.running.Wait()
	})
	return p
}

// listen lets connections in. Those that are there do not need it.
func (p *proxy) listen(t *testing.T, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	p.listener, p.addr = l, l.Addr().String()
	p.running.Go(func() { p.accept(l) })
}

func (p *proxy) setTarget(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

func (p *proxy) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		up, err := net.Dial("tcp", target)
		if err != nil {
			conn.Close()
			continue
		}
		// It reads who dials, so it has to be somebody whom both ends believe.
		down, up := net.Conn(secured{tls.Server(conn, p.tls), conn}), net.Conn(secured{tls.Client(up, p.tls), up})
		l := &link{proxy: p, down: down, up: up}
		p.mu.Lock()
		p.links = append(p.links, l)
		closed := p.closed
		p.mu.Unlock()
		if closed {
			l.close()
			return
		}
		l.sides.Add(2)
		p.running.Go(func() { l.copy(up, down, true) })
		p.running.Go(func() { l.copy(down, up, false) })
	}
}

// secured is a TLS connection that ends as its network does: without a word.
type secured struct {
	*tls.Conn
	raw net.Conn
}

func (s secured) Close() error { return s.raw.Close() }

// linksFrom are the connections that a node made to the proxy's.
func (p *proxy) linksFrom(name string) (all []*link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		if l.dialer() == name {
			all = append(all, l)
		}
	}
	return all
}

// link is one connection through a proxy.
type link struct {
	proxy    *proxy
	down, up net.Conn
	sides    sync.WaitGroup // ends that still hold the connection

	mu   sync.Mutex
	from string // who dialled, once it has said so
	hole bool   // nothing gets through, for ever
}

func (l *link) close() {
	l.down.Close()
	l.up.Close()
}

func (l *link) dialer() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.from
}

// swallowed tells whether nothing gets through.
func (l *link) swallowed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hole = l.hole || l.from != "" && l.proxy.rig.isCut(l.from, l.proxy.owner)
	return l.hole
}

// serverName is how a server introduces itself.
var serverName = regexp.MustCompile(`"server_name":"([a-z0-9]+)-`)

func (l *link) copy(dst, src net.Conn, fromDialer bool) {
	defer l.sides.Done()
	buf := make([]byte, 64<<10)
	var said []byte
	for {
		n, err := src.Read(buf)
		if fromDialer && l.dialer() == "" {
			said = append(said, buf[:n]...)
			if m := serverName.FindSubmatch(said); m != nil {
				l.mu.Lock()
				l.from = string(m[1])
				l.mu.Unlock()
			}
		}
		swallowed := l.swallowed()
		if err == nil && !swallowed {
			_, err = dst.Write(buf[:n])
		}
		if err != nil {
			if !swallowed {
				l.close() // as one end does, so does the other see
			} else {
				src.Close()
			}
			return
		}
	}
}

func TestBus(t *testing.T) {
	for _, test := range bustest.Tests() {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, newRig(t)) })
	}
}
