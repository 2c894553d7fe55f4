package pipe

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

func TestPairCarriesMessagesBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, nc := Pair(wire.ProtobufName)
		client := wire.NewStreamConn(nc, wire.ProtobufName)
		if n, err := server.TryWrite(server.AppendMessage(nil, []byte("hi"))); n != 6 || err != nil {
			t.Fatalf("TryWrite = %d, %v", n, err)
		}
		if m, err := client.ReadMessage(); string(m) != "hi" || err != nil {
			t.Fatalf("client reads %q, %v", m, err)
		}
		done := make(chan error)
		go func() {
			m, err := server.ReadMessage()
			if string(m) != "there" {
				t.Errorf("server reads %q", m)
			}
			done <- err
		}()
		synctest.Wait() // the server waits for the message
		if err := client.Write(client.AppendMessage(nil, []byte("there")), time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		_ = client.Close("", "")
		if _, err := server.ReadMessage(); err != io.EOF {
			t.Fatalf("after the client's close: %v, want io.EOF", err)
		}
		_ = server.Close("", "")
	})
}

func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := PairSize(wire.JSONName, 100)
		p := make([]byte, 250)
		if n, err := server.TryWrite(p); n != 100 || err != nil {
			t.Fatalf("TryWrite = %d, %v, want 100 of 250", n, err)
		}
		if n, err := server.TryWrite(p); n != 0 || err != nil {
			t.Fatalf("TryWrite into a full pipe = %d, %v", n, err)
		}
		begin := time.Now()
		if err := server.Write(p, begin.Add(3*time.Second)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("Write = %v, want the deadline", err)
		}
		if waited := time.Since(begin); waited != 3*time.Second {
			t.Fatalf("Write waited %v", waited)
		}
		if n, err := io.ReadFull(client, make([]byte, 100)); err != nil {
			t.Fatalf("client reads %d, %v", n, err)
		}
		if n, err := server.TryWrite(p); n != 100 || err != nil {
			t.Fatalf("TryWrite after the reader caught up = %d, %v", n, err)
		}
		_ = server.Close("", "")
		_ = client.Close()
	})
}

func TestCloseWakesReaderAndWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := PairSize(wire.JSONName, 10)
		errs := make(chan error, 2)
		go func() { _, err := server.ReadMessage(); errs <- err }()
		go func() { errs <- server.Write(make([]byte, 100), time.Now().Add(time.Hour)) }()
		synctest.Wait()
		_ = server.Close(wire.CodeReplaced, "")
		for range 2 {
			if err := <-errs; !errors.Is(err, net.ErrClosed) {
				t.Errorf("woken with %v, want net.ErrClosed", err)
			}
		}
	})
}

func TestListenerDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen(wire.ListenOptions{}.WithCodecs(wire.Protobuf(), wire.JSON()))
		served := make(chan error)
		go func() {
			served <- l.Serve(func(c wire.Conn) {
				m, _ := c.ReadMessage()
				_, _ = c.TryWrite(c.AppendMessage(nil, append([]byte(c.Info().Codec+" "), m...)))
				_ = c.Close("", "")
			})
		}()
		nc, err := l.Dial(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		c, err := wire.OpenStream(nc, wire.JSONName)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.TryWrite(c.AppendMessage(nil, []byte("x")))
		if m, err := c.ReadMessage(); err != nil || string(m) != "skein.v1.json x" {
			t.Fatalf("got %q, %v", m, err)
		}
		_ = c.Close("", "")
		_ = l.Close()
		if err := <-served; err != nil {
			t.Fatalf("Serve = %v", err)
		}
		if _, err := l.Dial(context.Background()); !errors.Is(err, net.ErrClosed) {
			t.Fatalf("Dial after Close = %v", err)
		}
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	transporttest.Run(t, transporttest.Subject{
		Listen: func(_ *testing.T, o wire.ListenOptions) wire.Listener { return Listen(o) },
		Connect: func(t *testing.T, l wire.Listener) net.Conn {
			nc, err := l.(*Listener).Dial(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return nc
		},
		Handshake: transporttest.StreamHandshake,
		Announce:  transporttest.StreamAnnounce,
		TryWrites: true,
		Orderly:   true,
	})
}
