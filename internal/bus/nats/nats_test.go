package nats_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"

	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/bus/bustest"
	"github.com/skein-im/skein/internal/bus/nats"
)

const local = "127.0.0.1:0"

// eventually waits for what nobody tells.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited in vain: " + what)
		}
	}
}

// The first node of a cluster looks for peers that are not started yet: that is no error.
func TestPeerThatIsNotThere(t *testing.T) {
	var l logs
	start(t, nats.Options{Name: "a", Listen: local, Secret: secret, Logger: l.logger(), Peers: []string{"127.0.0.1:1"}}, bustest.NewRecorder())
	eventually(t, "a try", func() bool { return strings.Contains(l.String(), "Error trying to connect to route") })
	if strings.Contains(l.String(), "ERROR") {
		t.Errorf("log: %s", l.String())
	}
}

// TestWrongSecret: a node with another secret gets no route, both logs say why,
// and neither holds a secret or what is made of it.
func TestWrongSecret(t *testing.T) {
	var la, lb logs
	ra, rb := bustest.NewRecorder(), bustest.NewRecorder()
	a := start(t, nats.Options{Name: "a", Listen: local, Secret: secret, Logger: la.logger()}, ra)
	b := start(t, nats.Options{Name: "b", Listen: local, Secret: "another", Logger: lb.logger(), Peers: []string{a.Addr().String()}}, rb)
	for _, n := range []*nats.Bus{a, b} {
		if err := n.Subscribe("x"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a to log the refusal", func() bool { return strings.Contains(la.String(), "TLS route handshake error") })
	eventually(t, "b to log the refusal", func() bool { return strings.Contains(lb.String(), "TLS route handshake error") })
	for _, n := range []*nats.Bus{a, b} {
		n.Publish("x", []byte("x"))
		n.Flush()
	}
	// A right one comes in all the same, and what is told to it does not reach b.
	rc := bustest.NewRecorder()
	c := start(t, nats.Options{Name: "c", Listen: local, Secret: secret, Peers: []string{a.Addr().String()}}, rc)
	if err := c.Subscribe("x"); err != nil {
		t.Fatal(err)
	}
	rc.Settle(t, a, "x")
	ra.Settle(t, c, "x")
	if rb.Count() != 0 || ra.Count() != 0 {
		t.Errorf("a got %q, b got %q", ra.Got(), rb.Got())
	}
	// b's own server may list the route for the moment until the refusal arrives,
	// and b may look just then. That such a route went is told; that one stands must
	// never be.
	for _, reason := range rb.Losses() {
		if !strings.HasSuffix(reason, " lost") {
			t.Errorf("b was told %q", reason)
		}
	}
	for _, reason := range ra.Losses() {
		if !strings.HasPrefix(reason, "route to c-") {
			t.Errorf("a was told %q", reason)
		}
	}
	for _, s := range []string{la.String(), lb.String()} {
		if strings.Contains(s, secret) || strings.Contains(s, "another") {
			t.Error("a secret is in the log")
		}
	}
}

// TestNobodyButRoutes: the one port there is takes no clients, and there is no system account to ask.
func TestNobodyButRoutes(t *testing.T) {
	before := listening(t)
	b := start(t, nats.Options{Name: "a", Listen: local, Secret: secret}, bustest.NewRecorder())
	if after := listening(t); runtime.GOOS == "linux" && after != before+1 {
		t.Errorf("%d ports were opened, want the one for routes", after-before)
	}
	if c, err := client.Connect("nats://" + b.Addr().String()); err == nil {
		c.Close()
		t.Error("a client came in")
	}
}

// listening counts this process's listening sockets, on Linux.
func listening(t *testing.T) (n int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	ours := map[string]bool{}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, "socket:[") {
			ours[strings.Trim(to[len("socket:"):], "[]")] = true
		}
	}
	for _, f := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // no IPv6
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && ours[f[9]] {
				n++
			}
		}
	}
	return n
}

func TestOptions(t *testing.T) {
	for _, o := range []nats.Options{
		{Name: "a", Secret: secret},
		{Name: "a", Secret: secret, Listen: local, URL: "nats://127.0.0.1:1"},
		{Name: "a", Listen: local},
		{Secret: secret, Listen: local},
		{Name: "a", Secret: secret, Listen: "nowhere"},
		{Name: "a", Secret: secret, Listen: "127.0.0.1:70000"},
		{Name: "a", Secret: secret, Listen: local, Peers: []string{"nowhere"}},
		{Name: "a", Secret: secret, Listen: local, Advertise: "nowhere"},
		{Name: "a", URL: "nats://127.0.0.1:1", Credentials: "/does/not/exist"},
	} {
		b, err := nats.Open(context.Background(), o, bustest.NewRecorder())
		if err == nil {
			b.Close()
			t.Errorf("opened with %+v", o)
		}
	}
}

// TestPortTaken: a port that is not free is an error of Open, not a log line.
func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := nats.Open(context.Background(), nats.Options{Name: "a", Secret: secret, Listen: l.Addr().String()}, bustest.NewRecorder())
	if err == nil {
		b.Close()
		t.Fatal("opened")
	}
	if !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
}

// outside is a NATS server that others run.
func outside(t *testing.T, port int) *natsd.Server {
	t.Helper()
	s, err := natsd.NewServer(&natsd.Options{
		Host: "127.0.0.1", Port: port, Username: "u", Password: "p", NoSigs: true, NoLog: true, MaxPayload: bus.MaxMessage,
		TLSConfig: issued(t, secret, nats.NodeName), TLSTimeout: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server did not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

func urlOf(s *natsd.Server, user string) string {
	return fmt.Sprintf("nats://%s@%s", user, s.Addr())
}

// external is a rig whose nodes all use one server. Nothing can be cut between
// two of them, and one that comes back is no news for the others.
type external struct{ server *natsd.Server }

func (e external) Open(t *testing.T, name string, h bus.Handler, l bustest.Limits) bus.Bus {
	t.Helper()
	return start(t, nats.Options{Name: name, URL: urlOf(e.server, "u:p"), Secret: secret, QueueMessages: l.Messages, QueueBytes: l.Bytes}, h)
}
func (external) Cut(t *testing.T, _, _ string)  { t.Fatal("not here") }
func (external) Mend(t *testing.T, _, _ string) { t.Fatal("not here") }

func TestExternalBus(t *testing.T) {
	notHere := []string{"CutAndMend", "CutBetweenOthers", "Restart", "JoinThroughOneSeed"}
	for _, test := range bustest.Tests() {
		if !slices.Contains(notHere, test.Name) {
			t.Run(test.Name, func(t *testing.T) { test.Run(t, external{outside(t, -1)}) })
		}
	}
}

// TestExternalRestart: the server goes and comes; both nodes are told after it
// knows their interest again, also what they changed while it was away.
func TestExternalRestart(t *testing.T) {
	server := outside(t, -1)
	var l logs
	ra, rb := bustest.NewRecorder(), bustest.NewRecorder()
	open := func(name string, h bus.Handler) *nats.Bus {
		return start(t, nats.Options{Name: name, URL: urlOf(server, "u:p"), Secret: secret, Logger: l.logger()}, h)
	}
	a, b := open("a", ra), open("b", rb)
	for _, s := range []string{"x", "old"} {
		if err := b.Subscribe(s); err != nil {
			t.Fatal(err)
		}
		rb.Settle(t, a, s)
	}
	port := server.Addr().(*net.TCPAddr).Port
	server.Shutdown()
	server.WaitForShutdown()
	if err := b.Subscribe("new"); err != nil {
		t.Fatal(err)
	}
	b.Unsubscribe("old")
	outside(t, port)
	for _, r := range []*bustest.Recorder{ra, rb} {
		r.Until(t, "to be told", func() bool { return slices.Contains(r.Losses(), "reconnected") })
	}
	for _, s := range []string{"old", "new", "x"} {
		a.Publish(s, []byte(s))
	}
	a.Flush()
	rb.Until(t, "the messages", func() bool { return rb.Count() == 2 })
	if got := rb.Got(); got[0].Subject != "new" || got[1].Subject != "x" {
		t.Errorf("got %q", got)
	}
	if strings.Contains(l.String(), "u:p") {
		t.Error("the password is in the log")
	}
}

// TestExternalRefused: a wrong password is an error of Open at once, a server that
// is not there one when ctx ends.
func TestExternalRefused(t *testing.T) {
	server := outside(t, -1)
	_, err := nats.Open(context.Background(), nats.Options{Name: "a", URL: urlOf(server, "u:wrong"), Secret: secret}, bustest.NewRecorder())
	if !errors.Is(err, client.ErrAuthorization) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("wrong password: %v", err)
	}
	server.Shutdown()
	server.WaitForShutdown()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := nats.Open(ctx, nats.Options{Name: "a", URL: urlOf(server, "u:p"), Secret: secret}, bustest.NewRecorder()); !errors.Is(err, context.Canceled) {
		t.Errorf("no server: %v", err)
	}
}

// TestPublishDoesNotWait: a server that answers no more and reads no more costs
// the publisher messages, not time, and not more memory than the bound.
func TestPublishDoesNotWait(t *testing.T) {
	secure := issued(t, secret, nats.NodeName)
	l, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		accepted <- conn
		fmt.Fprintf(conn, "INFO {\"server_id\":\"x\",\"proto\":1,\"tls_required\":true,\"max_payload\":%d}\r\n", bus.MaxMessage)
		conn = tls.Server(conn, secure)
		r := bufio.NewReader(conn)
		for line := ""; line != "PING\r\n"; {
			if line, err = r.ReadString('\n'); err != nil {
				return
			}
		}
		fmt.Fprint(conn, "PONG\r\n")
	}()
	b := start(t, nats.Options{Name: "a", URL: "nats://" + l.Addr().String(), Secret: secret, QueueBytes: bus.MaxMessage}, bustest.NewRecorder())
	defer (<-accepted).Close()
	data := make([]byte, 64<<10)
	const n = 1000
	for range n {
		if err := b.Subscribe("x"); err != nil {
			t.Fatal(err)
		}
		b.Publish("x", data)
		b.Flush()
		b.Unsubscribe("x")
	}
	// What is not dropped is in the queue, in what the writer took of it, in the
	// client's buffers or in the sockets'.
	if _, out := b.Dropped(); out < n/2 {
		t.Errorf("%d of %d messages dropped", out, n)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
