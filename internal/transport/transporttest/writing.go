package transporttest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// slowReader: TryWrite never waits and may stop within a message; Write waits
// until its deadline; what was taken arrives unharmed.
func slowReader(t *testing.T, s Subject) {
	conn, peer := serve(t, s, wire.ListenOptions{}).connect(t, wire.ProtobufName)
	message := make([]byte, 10_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(message) // as long on the wire, deflated or not
	framed := conn.AppendMessage(nil, message)
	blob := bytes.Repeat(framed, 2000)
	taken := 0
	for {
		n, err := conn.TryWrite(blob[taken:])
		if err != nil {
			t.Fatal(err)
		}
		if taken += n; n == 0 {
			break
		}
	}
	if !s.TryWrites {
		if taken != 0 {
			t.Fatalf("TryWrite took %d bytes", taken)
		}
		return
	}
	if taken == 0 || taken == len(blob) {
		t.Fatalf("a peer that does not read took %d of %d bytes", taken, len(blob))
	}
	rest := blob[taken:]
	finished := make(chan error, 1)
	go func() { finished <- conn.Write(rest, time.Now().Add(20*time.Second)) }()
	for i := range len(blob) / len(framed) {
		if m, err := peer.Next(); err != nil || !bytes.Equal(m, message) {
			t.Fatalf("message %d: %d bytes, %v", i, len(m), err)
		}
	}
	if err := <-finished; err != nil {
		t.Fatal(err)
	}
	for {
		if n, err := conn.TryWrite(blob); n < len(blob) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if err := conn.Write(blob, time.Now().Add(10*time.Millisecond)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("Write to a peer that does not read = %v, want the deadline", err)
	}
}

// closeAfterWrites: also when the peer was sending and nobody read it.
func closeAfterWrites(t *testing.T, s Subject) {
	srv := serve(t, s, wire.ListenOptions{})
	for _, code := range []wire.Code{"", wire.CodeReplaced, wire.CodeFrameTooLong} {
		conn, peer := srv.connect(t, wire.JSONName)
		send(t, peer, peer.Frame(pattern(10_000)))
		if _, err := conn.ReadMessage(); err != nil {
			t.Fatal(err)
		}
		// These stay unread.
		if _, err := peer.Write(bytes.Repeat(peer.Frame(pattern(1000)), 20)); err != nil {
			t.Fatal(err)
		}
		if err := conn.Write(conn.AppendMessage(nil, []byte("last words")), time.Now().Add(10*time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(code, "because"); err != nil {
			t.Fatal(err)
		}
		if m, err := peer.Next(); err != nil || string(m) != "last words" {
			t.Fatalf("%s: the last message: %q, %v", code, m, err)
		}
		_, err := peer.Next()
		switch {
		case s.Codes && code != "":
			if codeOf(err) != code {
				t.Fatalf("the peer sees %v, want %s", err, code)
			}
		case err != io.EOF:
			t.Fatalf("the peer sees %v, want an orderly end", err)
		}
		if _, err := conn.TryWrite([]byte("x")); s.TryWrites && err == nil {
			t.Error("TryWrite after Close does not fail")
		}
		if err := conn.Write([]byte("x"), time.Now().Add(time.Second)); err == nil {
			t.Error("Write after Close does not fail")
		}
		_ = peer.Close()
	}
}

func closeWakes(t *testing.T, s Subject) {
	conn, _ := serve(t, s, wire.ListenOptions{}).connect(t, wire.ProtobufName)
	errs := make(chan error, 2)
	go func() { _, err := conn.ReadMessage(); errs <- err }()
	go func() {
		blob := conn.AppendMessage(nil, make([]byte, 1<<20))
		for {
			if err := conn.Write(blob, time.Now().Add(time.Minute)); err != nil {
				errs <- err
				return
			}
		}
	}()
	_ = conn.Close(wire.CodeSlowConsumer, "")
	for range 2 {
		if err := <-errs; !errors.Is(err, net.ErrClosed) {
			t.Errorf("woken with %v, want net.ErrClosed", err)
		}
	}
	if _, err := conn.ReadMessage(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("ReadMessage after Close = %v, want net.ErrClosed", err)
	}
}

func closeFromMany(t *testing.T, s Subject) {
	srv := serve(t, s, wire.ListenOptions{})
	for range 5 {
		conn, peer := srv.connect(t, wire.ProtobufName)
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				if _, err := conn.ReadMessage(); err != nil {
					return
				}
			}
		})
		wg.Go(func() {
			framed := conn.AppendMessage(nil, pattern(100))
			for {
				if err := conn.Write(framed, time.Now().Add(10*time.Second)); err != nil {
					return
				}
			}
		})
		wg.Go(func() {
			framed := peer.Frame(pattern(100))
			for {
				if _, err := peer.Write(framed); err != nil {
					return
				}
			}
		})
		wg.Go(func() {
			for {
				if _, err := peer.Next(); err != nil {
					return
				}
			}
		})
		for range 4 {
			wg.Go(func() { _ = conn.Close(wire.CodeReplaced, "") })
		}
		_ = conn.Close(wire.CodeReplaced, "")
		_ = peer.SetDeadline(time.Now().Add(20 * time.Second))
		wg.Wait()
		_ = peer.Close()
	}
}

func unknownCodec(t *testing.T, s Subject) {
	srv := serve(t, s, wire.ListenOptions{})
	peer, err := s.Handshake(s.Connect(t, srv.Listener), "skein.v9.morse")
	if err != nil {
		return // refused before there was a connection
	}
	defer peer.Close()
	m, err := peer.Next()
	if err != nil {
		t.Fatal(err)
	}
	var frame wire.ServerFrame
	if err := wire.JSON().Decode(m, &frame); err != nil || frame.GetError().GetCode() != string(wire.CodeCodecUnsupported) {
		t.Fatalf("the answer to an unknown codec is %s (%v)", m, err)
	}
	if m, err := peer.Next(); err == nil {
		t.Fatalf("after the error: %q, want the end", m)
	}
}

func silence(t *testing.T, s Subject) {
	srv := serve(t, s, wire.ListenOptions{HandshakeTimeout: 20 * time.Millisecond})
	nc := s.Connect(t, srv.Listener)
	defer nc.Close()
	_ = nc.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(nc); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("a connection without a handshake stays open")
	}
}

func closeListener(t *testing.T, s Subject) {
	srv := serve(t, s, wire.ListenOptions{})
	conn, peer := srv.connect(t, wire.ProtobufName)
	half := s.Connect(t, srv.Listener)
	defer half.Close()
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	err := <-srv.done
	srv.done <- err
	if err != nil {
		t.Fatalf("Serve = %v", err)
	}
	if _, err := io.ReadAll(half); err == nil {
		t.Log("a connection without a handshake was ended in order")
	}
	if _, err := peer.Write(peer.Frame([]byte("still here"))); err != nil {
		t.Fatal(err)
	}
	if m, err := conn.ReadMessage(); err != nil || string(m) != "still here" {
		t.Fatalf("a served connection after the listener closed: %q, %v", m, err)
	}
}
