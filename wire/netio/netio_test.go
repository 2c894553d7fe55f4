package netio_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire/netio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tcpPair returns a socket and its peer.
func tcpPair(t testing.TB) (server, client net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	return server, client
}

func tlsPair(t testing.TB) (server, client net.Conn) {
	t.Helper()
	s, c := tcpPair(t)
	sc, cc := transporttest.TLS(t)
	ts, tc := tls.Server(s, sc), tls.Client(c, cc)
	var wg sync.WaitGroup
	wg.Go(func() { _ = tc.Handshake() })
	if err := ts.Handshake(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	return ts, tc
}

// park lets the socket wait for need bytes until it has seen received bytes and
// nothing more comes.
func park(t *testing.T, s *netio.Socket, need int, received uint64) {
	t.Helper()
	for range 1000 {
		_ = s.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		err := s.Fill(need)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("Fill(%d) = %v, want the deadline", need, err)
		}
		if s.Received() >= received {
			_ = s.SetReadDeadline(time.Time{})
			return
		}
	}
	t.Fatal("the bytes do not arrive")
}

func TestIdleHoldsNoBuffer(t *testing.T) {
	for _, kind := range []struct {
		name string
		pair func(testing.TB) (net.Conn, net.Conn)
		idle int
	}{{"tcp", tcpPair, 0}, {"tls", tlsPair, 64}} {
		t.Run(kind.name, func(t *testing.T) {
			server, client := kind.pair(t)
			s := netio.New(server, nil)
			park(t, s, 1, 0)
			if got := s.Holds(); got > kind.idle {
				t.Errorf("a fresh idle socket holds %d bytes", got)
			}
			_, _ = client.Write(make([]byte, 5000))
			if err := s.Fill(5000); err != nil {
				t.Fatal(err)
			}
			s.Skip(5000)
			park(t, s, 1, 5000)
			if got := s.Holds(); got > kind.idle {
				t.Errorf("after a message an idle socket holds %d bytes", got)
			}
		})
	}
}

// TestPartialMessages: what waits for its rest costs what has arrived, within a
// factor of two, and nothing is lost on the way.
func TestPartialMessages(t *testing.T) {
	server, client := tcpPair(t)
	s := netio.New(server, nil)
	const need = 100_000
	sent := []byte{}
	for _, piece := range []int{1, 2, 100, 900, 30, 2000, 8192, 9000, 20000, 1} {
		p := bytes.Repeat([]byte{byte(piece)}, piece)
		sent = append(sent, p...)
		if _, err := client.Write(p); err != nil {
			t.Fatal(err)
		}
		park(t, s, need, uint64(len(sent)))
		if got := s.Holds(); got > 2*len(sent) {
			t.Errorf("%d bytes have arrived, %d are held", len(sent), got)
		}
		if !bytes.Equal(s.Peek(), sent) {
			t.Fatalf("after %d bytes something else is there", len(sent))
		}
	}
	rest := make([]byte, need-len(sent)+3)
	if _, err := client.Write(rest); err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(need); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Peek()[:need], append(sent, rest...)[:need]) {
		t.Fatal("the message is damaged")
	}
	s.Skip(need)
	if err := s.Fill(3); err != nil {
		t.Fatal(err)
	}
}

// TestFillInAnyPieces compares with what was sent for many sizes of messages
// and pieces.
func TestFillInAnyPieces(t *testing.T) {
	var data []byte
	for i := range 60_000 {
		data = append(data, byte(i*7>>3))
	}
	for _, chunk := range []int{1, 3, 63, 64, 65, 1000, 8191, 8192, 8193, 0} {
		s := netio.New(transporttest.NewScript(data, chunk), nil)
		s.Prefill([]byte("early"))
		want := append([]byte("early"), data...)
		for size := 1; len(want) > 0; size = size*3/2 + 1 {
			n := min(size, len(want))
			if err := s.Fill(n); err != nil {
				t.Fatalf("chunk %d: %v", chunk, err)
			}
			if !bytes.Equal(s.Peek()[:n], want[:n]) {
				t.Fatalf("chunk %d: wrong bytes, %d before the end", chunk, len(want))
			}
			s.Skip(n)
			want = want[n:]
		}
		if err := s.Fill(1); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
	}
	s := netio.New(transporttest.NewScript([]byte("abc"), 0), nil)
	if err := s.Fill(4); err != io.ErrUnexpectedEOF {
		t.Fatalf("cut off: %v", err)
	}
}

// TestCloseDeliversLast: the peer gets the last bytes and an end, not a reset,
// although it was sending.
func TestCloseDeliversLast(t *testing.T) {
	for range 20 {
		server, client := tcpPair(t)
		s := netio.New(server, nil)
		if _, err := client.Write(make([]byte, 20_000)); err != nil {
			t.Fatal(err)
		}
		if err := s.Fill(1); err != nil {
			t.Fatal(err)
		}
		if !s.BeginClose() || s.BeginClose() {
			t.Fatal("BeginClose is true once")
		}
		if err := s.Close([]byte("bye")); err != nil {
			t.Fatal(err)
		}
		_, _ = client.Write(make([]byte, 20_000))
		if got, err := io.ReadAll(client); err != nil || string(got) != "bye" {
			t.Fatalf("the peer reads %q, %v", got, err)
		}
		_ = client.Close()
	}
}

// TestCloseDeliversWhatWasWritten: also what the peer had no room for yet.
func TestCloseDeliversWhatWasWritten(t *testing.T) {
	server, client := tcpPair(t)
	s := netio.New(server, nil)
	if _, err := client.Write(make([]byte, 20_000)); err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(20_000); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(make([]byte, 20_000)); err != nil { // stays unread
		t.Fatal(err)
	}
	written := 0
	for {
		n, err := s.TryWrite(make([]byte, 64<<10))
		if err != nil {
			t.Fatal(err)
		}
		if written += n; n == 0 {
			break
		}
	}
	s.BeginClose()
	if err := s.Close(nil); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); err != nil || len(got) != written {
		t.Fatalf("%d bytes of %d arrive, %v", len(got), written, err)
	}
}

func TestLingerEnds(t *testing.T) {
	server, client := tcpPair(t)
	s := netio.New(server, nil)
	s.BeginClose()
	_ = s.Close(nil)
	// The peer never closes, and goes on sending; after at most a second or a
	// mebibyte it is cut off.
	for {
		if _, err := client.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}

func TestRemoteAddrHasNoPort(t *testing.T) {
	server, _ := tcpPair(t)
	if got := netio.New(server, nil).RemoteAddr(); got != "127.0.0.1" {
		t.Errorf("RemoteAddr() = %q", got)
	}
}

// exhausted fails as accept(2) does without file descriptors.
type exhausted struct {
	net.Listener
	failures int
	closed   chan struct{}
}

type emfile struct{}

func (emfile) Error() string   { return "too many open files" }
func (emfile) Temporary() bool { return true }
func (emfile) Timeout() bool   { return false }

func (e *exhausted) Accept() (net.Conn, error) {
	if e.failures--; e.failures >= 0 {
		return nil, &net.OpError{Op: "accept", Err: emfile{}}
	}
	<-e.closed
	return nil, net.ErrClosed
}
func (e *exhausted) Close() error   { close(e.closed); return nil }
func (e *exhausted) Addr() net.Addr { return &net.TCPAddr{} }

func TestAcceptSurvivesExhaustion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		e := &exhausted{failures: 12, closed: make(chan struct{})}
		l := netio.Listen(e, slog.New(slog.NewTextHandler(&logged, nil)))
		begin := time.Now()
		done := make(chan error)
		go func() { _, err := l.Accept(); done <- err }()
		time.Sleep(time.Minute) // the bubble's clock
		synctest.Wait()
		if e.failures >= 0 {
			t.Fatalf("after %v it has not tried again often enough", time.Since(begin))
		}
		if lines := strings.Count(logged.String(), "too many open files"); lines != 12 {
			t.Errorf("%d lines logged", lines)
		}
		_ = l.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestAcceptWaitEndsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &exhausted{failures: 1 << 30, closed: make(chan struct{})}
		l := netio.Listen(e, slog.New(slog.DiscardHandler))
		done := make(chan error)
		go func() { _, err := l.Accept(); done <- err }()
		time.Sleep(10 * time.Second)
		_ = l.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}
