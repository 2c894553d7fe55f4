package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/transport/tcp"
	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

// listen serves the world on a TCP port whose connections park, and returns
// the address.
func (w *world) listen(t *testing.T) string {
	t.Helper()
	o := wire.ListenOptions{Poller: transporttest.Poller(t)}.WithCodecs(wire.Protobuf())
	l, err := tcp.Transport{}.Listen(t.Context(), &url.URL{Scheme: "tcp", Host: "127.0.0.1:0"}, o)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- l.Serve(w.g.Serve) }()
	t.Cleanup(func() {
		_ = l.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// over logs in over a socket. nil: the server has ended it.
func (w *world) over(address, user string) *peer {
	w.t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	p := &peer{t: w.t, w: w, nc: nc, codec: wire.Protobuf()}
	if p.conn, err = wire.OpenStream(nc, wire.ProtobufName); err != nil {
		return nil
	}
	p.send(hello(user, "1", phone))
	if f, err := p.next(); err != nil || f.GetWelcome() == nil {
		_ = nc.Close()
		return nil
	}
	return p
}

// TestSilentConnectionsHaveNoGoroutine, over real sockets; and they are there
// when something is said, by either side.
func TestSilentConnectionsHaveNoGoroutine(t *testing.T) {
	w := newWorld(t)
	address := w.listen(t)
	w.login("zoe", "1") // in memory: cannot park
	var peers []*peer
	for i := range 20 {
		p := w.over(address, fmt.Sprintf("u%d", i))
		if p == nil {
			t.Fatal("no session")
		}
		defer p.nc.Close()
		peers = append(peers, p)
	}
	for sessionGoroutines() > 1 {
		runtime.Gosched()
	}
	if got := sessionGoroutines(); got != 1 {
		t.Fatalf("%d goroutines, want the one that cannot park", got)
	}
	for i, p := range peers {
		u := im.UserID(fmt.Sprintf("u%d", i))
		w.g.ToUsers([]im.UserID{u}, parcel(entry(dm, 1, "x")))
		w.g.Flush()
		p.want("push dm:ann:bob#1=x")
		p.quiet()
	}
}

// sessionGoroutines counts the goroutines that read or wait for a session.
func sessionGoroutines() int {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
	return strings.Count(b.String(), "gateway.(*session).run(")
}

// TestParkingUnderFire: sessions that park after every message meet clients
// that go, kicks, pushes, a drain and the end. All of them are over then.
func TestParkingUnderFire(t *testing.T) {
	w := newWorld(t)
	w.g.parkTicks = 0
	address := w.listen(t)
	var clients sync.WaitGroup
	drained := make(chan struct{})
	for n := range 8 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(n)))
			user := fmt.Sprintf("u%d", n)
			for round := 0; ; round++ {
				select {
				case <-drained:
					return
				default:
				}
				if p := w.over(address, user); p != nil {
					p.play(random, im.UserID(user), round)
				}
				if round == 100 && n == 0 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					if err := w.g.Drain(ctx, time.Millisecond); err != nil {
						t.Error(err)
					}
					cancel()
					close(drained)
				}
			}
		})
	}
	clients.Wait()
	_ = w.g.Close()
	if got := w.g.Stats(); got != (Stats{}) {
		t.Errorf("%+v is left", got)
	}
}

// play is one connection's life after the Welcome.
func (p *peer) play(random *rand.Rand, u im.UserID, round int) {
	pings := random.IntN(5)
	for i := range pings {
		p.send(ping())
		if i%2 == 0 {
			p.w.g.ToUsers([]im.UserID{u}, parcel(entry(dm, uint64(100*round+i), "x")))
			p.w.g.Flush()
		}
		runtime.Gosched()
	}
	pongs, over := 0, false
	for pongs < pings && !over {
		f, err := p.next()
		if over = err != nil; !over && f.GetPong() != nil {
			pongs++
		}
	}
	switch random.IntN(3) {
	case 0:
		p.w.g.Control(im.Control{User: u, Session: "s-1"})
		for !over {
			_, err := p.next()
			over = err != nil
		}
	case 1:
		p.send(wire.NewClientFrame(&wire.Bye{}))
	}
	_ = p.nc.Close()
}
