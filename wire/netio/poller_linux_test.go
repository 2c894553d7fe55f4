package netio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skein-im/skein/wire/netio"
)

func newPoller(t *testing.T) *netio.Poller {
	t.Helper()
	p, err := netio.NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// tcpSocket returns a socket that parks, and its peer.
func tcpSocket(t *testing.T, p *netio.Poller) (*netio.Socket, *net.TCPConn) {
	t.Helper()
	server, client := tcpPair(t)
	return netio.New(server, p), client.(*net.TCPConn)
}

func shut(s *netio.Socket) {
	if s.BeginClose() {
		_ = s.Close(nil)
	}
}

// TestParkEnds: a wait ends once, whether its reason comes after it began or
// was there before.
func TestParkEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*netio.Poller, *netio.Socket, *net.TCPConn)
		want error // of Fill
		only bool  // the reason can only come after
	}{
		{"with a byte", func(_ *netio.Poller, _ *netio.Socket, peer *net.TCPConn) { _, _ = peer.Write([]byte("x")) }, nil, false},
		{"with the peer's end", func(_ *netio.Poller, _ *netio.Socket, peer *net.TCPConn) { _ = peer.CloseWrite() }, io.EOF, false},
		{"with a close", func(_ *netio.Poller, s *netio.Socket, _ *net.TCPConn) { shut(s) }, net.ErrClosed, true},
		{"with the poller", func(p *netio.Poller, _ *netio.Socket, peer *net.TCPConn) {
			_ = p.Close()
			_, _ = peer.Write([]byte("x"))
		}, nil, true},
	} {
		for _, after := range []bool{true, false} {
			if c.only && !after {
				continue
			}
			t.Run(fmt.Sprintf("%s, after %v", c.name, after), func(t *testing.T) {
				p := newPoller(t)
				s, peer := tcpSocket(t, p)
				if !after {
					c.end(p, s, peer)
				}
				resumed := make(chan struct{}, 10)
				if !s.Park(func() { resumed <- struct{}{} }) {
					t.Fatal("the socket does not park")
				}
				if after {
					c.end(p, s, peer)
				}
				<-resumed
				if err := s.Fill(1); !errors.Is(err, c.want) || (c.want == nil && string(s.Peek()) != "x") {
					t.Fatalf("Fill = %v with %q, want %v", err, s.Peek(), c.want)
				}
				shut(s)
				_ = p.Close() // whatever waits is resumed now
				if len(resumed) > 0 {
					t.Error("resumed twice")
				}
			})
		}
	}
}

func TestParkRefuses(t *testing.T) {
	p := newPoller(t)
	refuses := func(t *testing.T, s *netio.Socket) {
		t.Helper()
		if s.Park(func() { t.Error("resumed without a wait") }) {
			t.Error("it parks")
		}
		s.Nudge() // means nothing, or nothing bad
	}
	t.Run("unread bytes", func(t *testing.T) {
		s, peer := tcpSocket(t, p)
		_, _ = peer.Write([]byte("abc"))
		if err := s.Fill(3); err != nil {
			t.Fatal(err)
		}
		s.Skip(2)
		refuses(t, s)
		if string(s.Peek()) != "c" {
			t.Errorf("%q is left", s.Peek())
		}
	})
	t.Run("closed", func(t *testing.T) {
		s, _ := tcpSocket(t, p)
		shut(s)
		refuses(t, s)
	})
	t.Run("TLS", func(t *testing.T) {
		server, client := tlsPair(t)
		s := netio.New(server, p)
		refuses(t, s)
		_, _ = client.Write([]byte("x"))
		if err := s.Fill(1); err != nil {
			t.Error(err)
		}
	})
	t.Run("no poller", func(t *testing.T) {
		s, _ := tcpSocket(t, nil)
		refuses(t, s)
	})
	t.Run("closed poller", func(t *testing.T) {
		gone := newPoller(t)
		_ = gone.Close()
		s, _ := tcpSocket(t, gone)
		refuses(t, s)
	})
}

// TestNudge: it ends a wait for the beginning of a message and no other, whether
// it comes before or during the wait, and the socket is as it was.
func TestNudge(t *testing.T) {
	p := newPoller(t)
	s, peer := tcpSocket(t, p)
	s.Nudge()
	for range 3 {
		if err := s.Fill(2); err != netio.ErrNudged {
			t.Fatalf("Fill = %v, want %v", err, netio.ErrNudged)
		}
		go s.Nudge()
	}
	for s.Fill(2) != netio.ErrNudged { // the last of these
	}
	// Amidst a message it changes nothing.
	_, _ = peer.Write([]byte("a"))
	if err := s.Fill(1); err != nil {
		t.Fatal(err)
	}
	s.Nudge()
	filled := make(chan error)
	go func() { filled <- s.Fill(2) }()
	s.Nudge()
	_, _ = peer.Write([]byte("b"))
	if err := <-filled; err != nil || string(s.Peek()) != "ab" {
		t.Fatalf("Fill = %v with %q", err, s.Peek())
	}
	s.Skip(2)
	s.Nudge() // nothing is left of the others, or it falls together with this one
	if err := s.Fill(1); err != netio.ErrNudged {
		t.Fatalf("Fill = %v, want %v", err, netio.ErrNudged)
	}
	// A parked socket has nobody to nudge.
	resumed := make(chan struct{})
	if !s.Park(func() { close(resumed) }) {
		t.Fatal("the socket does not park")
	}
	s.Nudge()
	_, _ = peer.Write([]byte("c"))
	<-resumed
	if err := s.Fill(1); err != nil || string(s.Peek()) != "c" {
		t.Fatalf("Fill = %v with %q", err, s.Peek())
	}
}

// TestNudgeAndClose: the close after a nudge, and before one, delivers the last
// bytes like any other.
func TestNudgeAndClose(t *testing.T) {
	p := newPoller(t)
	for range 20 {
		s, peer := tcpSocket(t, p)
		s.Nudge()
		if err := s.Fill(1); err != netio.ErrNudged {
			t.Fatal(err)
		}
		_, _ = peer.Write(make([]byte, 20_000))
		if err := s.Fill(1); err != nil {
			t.Fatal(err)
		}
		s.BeginClose()
		_ = s.Close([]byte("bye"))
		s.Nudge()
		if _, err := peer.Write(make([]byte, 20_000)); err != nil {
			t.Fatalf("the peer was cut off: %v", err)
		}
		if got, err := io.ReadAll(peer); err != nil || string(got) != "bye" {
			t.Fatalf("the peer reads %q, %v", got, err)
		}
		_ = peer.Close()
	}
}

// TestParkInterleavings lets everything meet that can: bytes and the end of
// the peer, nudges and a close with parking and waiting, on sockets whose
// descriptors are used again. Nothing is lost, nobody waits for ever, and each
// wait is ended once (a reader that is resumed twice is two readers: the race
// detector's finding).
func TestParkInterleavings(t *testing.T) {
	p := newPoller(t)
	var rounds sync.WaitGroup
	for worker := range 4 {
		rounds.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 300 {
				interleave(t, p, random.Uint64(), random.IntN(3))
			}
		})
	}
	rounds.Wait()
}

// reader reads a socket to its end as a session does.
type reader struct {
	s      *netio.Socket
	random *rand.Rand
	got    []byte
	err    error
	active atomic.Int32
	done   chan struct{}
}

func (r *reader) run() {
	if r.active.Add(1) != 1 {
		panic("two readers")
	}
	for {
		parks := r.random.IntN(2) == 0
		r.active.Add(-1)
		if parks && r.s.Park(r.run) {
			return
		}
		r.active.Add(1)
		switch err := r.s.Fill(1); {
		case err == nil:
			r.got = append(r.got, r.s.Peek()...)
			r.s.Skip(len(r.s.Peek()))
		case err != netio.ErrNudged:
			r.err = err
			close(r.done)
			return
		}
	}
}

// interleave runs one connection. ending: 0 the peer ends, 1 we close when all
// has arrived or may not have, 2 both at the same time.
func interleave(t *testing.T, p *netio.Poller, seed uint64, ending int) {
	s, peer := tcpSocket(t, p)
	r := &reader{s: s, random: rand.New(rand.NewPCG(seed, 1)), done: make(chan struct{})}
	var wg sync.WaitGroup
	go r.run()
	sent := make([]byte, 0, 200)
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.Nudge()
				runtime.Gosched()
			}
		}
	})
	random := rand.New(rand.NewPCG(seed, 2))
	for i := range 20 {
		piece := bytes.Repeat([]byte{byte(i)}, 1+random.IntN(10))
		sent = append(sent, piece...)
		_, _ = peer.Write(piece)
		for range random.IntN(4) {
			runtime.Gosched()
		}
	}
	if ending != 1 {
		wg.Go(func() { _ = peer.CloseWrite() })
	}
	if ending != 0 {
		wg.Go(func() { shut(s) })
	}
	<-r.done
	close(stop)
	wg.Wait()
	shut(s)
	_ = peer.Close()
	switch {
	case ending == 0 && (r.err != io.EOF || !bytes.Equal(r.got, sent)):
		t.Errorf("%d bytes of %d, %v", len(r.got), len(sent), r.err)
	case !bytes.HasPrefix(sent, r.got):
		t.Errorf("%d bytes are not the first of %d", len(r.got), len(sent))
	case ending == 1 && !errors.Is(r.err, net.ErrClosed):
		t.Errorf("the reader ends with %v", r.err)
	}
}

// BenchmarkWait is what a message costs that is waited for, by a goroutine or
// parked: one byte there and one back.
func BenchmarkWait(b *testing.B) {
	for _, parked := range []bool{false, true} {
		b.Run(fmt.Sprintf("parked=%v", parked), func(b *testing.B) {
			p, err := netio.NewPoller()
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			server, peer := tcpPair(b)
			s := netio.New(server, p)
			var serve func()
			serve = func() {
				for s.Fill(1) == nil {
					n, _ := s.TryWrite(s.Peek())
					s.Skip(n)
					if parked && s.Park(serve) {
						return
					}
				}
			}
			go serve()
			one := make([]byte, 1)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = peer.Write(one)
				if _, err := io.ReadFull(peer, one); err != nil {
					b.Fatal(err)
				}
			}
			shut(s)
		})
	}
}
