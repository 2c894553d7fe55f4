package transporttest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

func sizes() []int {
	return []int{1, 2, 60, 64, 124, 125, 126, 127, 128, 1000, 8185, 8190, 8192, 8200, 16384, 65535, 65536, 65537, 200_000}
}

func echoSizes(t *testing.T, s Subject) {
	srv := serve(t, s, wire.ListenOptions{})
	for _, codec := range Codecs() {
		conn, peer := srv.connect(t, codec.Name())
		conn.SetReadLimit(200_000)
		stop := make(chan error, 1)
		go func() {
			var framed []byte
			for {
				m, err := conn.ReadMessage()
				if err != nil {
					stop <- err
					return
				}
				framed = conn.AppendMessage(framed[:0], m)
				if err := conn.Write(framed, time.Now().Add(10*time.Second)); err != nil {
					stop <- err
					return
				}
			}
		}()
		for _, n := range sizes() {
			want := pattern(n)
			go func() { _, _ = peer.Write(peer.Frame(want)) }()
			got, err := peer.Next()
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: echo of %d bytes: %d bytes, %v", codec.Name(), n, len(got), err)
			}
		}
		_ = conn.Close("", "")
		<-stop
	}
}

func manyAtOnce(t *testing.T, s Subject) {
	conn, peer := serve(t, s, wire.ListenOptions{}).connect(t, wire.JSONName)
	const count = 300
	var all []byte
	for i := range count {
		all = append(all, peer.Frame(pattern(1+i))...)
	}
	send(t, peer, all)
	buffered := 0
	for i := range count {
		m, err := conn.ReadMessage()
		if err != nil || !bytes.Equal(m, pattern(1+i)) {
			t.Fatalf("message %d: %q, %v", i, m, err)
		}
		if conn.Buffered() {
			buffered++
		}
	}
	if conn.Buffered() {
		t.Error("Buffered after the last message")
	}
	if buffered == 0 {
		t.Error("Buffered was never true although all messages were sent at once")
	}
	if got := conn.(wire.ByteCounter).Received(); got < uint64(len(all)) {
		t.Errorf("Received() = %d after %d bytes", got, len(all))
	}
}

func byteByByte(t *testing.T, s Subject) {
	conn, peer := serve(t, s, wire.ListenOptions{}).connect(t, wire.ProtobufName)
	want := [][]byte{pattern(1), pattern(130), pattern(3)}
	var all []byte
	for _, m := range want {
		all = append(all, peer.Frame(m)...)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range all {
			_, _ = peer.Write(all[i : i+1])
		}
	}()
	for i, w := range want {
		if m, err := conn.ReadMessage(); err != nil || !bytes.Equal(m, w) {
			t.Fatalf("message %d: %q, %v", i, m, err)
		}
	}
	<-done
}

func cutOffEverywhere(t *testing.T, s Subject) {
	srv := serve(t, s, wire.ListenOptions{})
	_, probe := srv.connect(t, wire.ProtobufName)
	first := len(probe.Frame(pattern(5)))
	all := append(probe.Frame(pattern(5)), probe.Frame(pattern(130))...)
	for cut := range len(all) + 1 {
		conn, peer := srv.connect(t, wire.ProtobufName)
		go func() {
			_, _ = peer.Write(all[:cut])
			_ = peer.Close()
		}()
		whole := 0
		var err error
		for {
			if _, err = conn.ReadMessage(); err != nil {
				break
			}
			whole++
		}
		want := 0
		if cut >= first {
			want++
		}
		if cut == len(all) {
			want++
		}
		if whole != want {
			t.Fatalf("cut at %d: %d messages, want %d", cut, whole, want)
		}
		between := cut == 0 || cut == first || cut == len(all)
		if orderly := err == io.EOF; orderly != (s.Orderly && between) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		_ = conn.Close("", "")
	}
}

func tooLong(t *testing.T, s Subject) {
	srv := serve(t, s, wire.ListenOptions{})
	for _, n := range []uint64{101, 1 << 14, 1 << 20, 1<<32 - 1} {
		conn, peer := srv.connect(t, wire.ProtobufName)
		conn.SetReadLimit(100)
		send(t, peer, append(peer.Frame(pattern(100)), s.Announce(n)...))
		if m, err := conn.ReadMessage(); err != nil || len(m) != 100 {
			t.Fatalf("a message of the limit: %d bytes, %v", len(m), err)
		}
		if _, err := conn.ReadMessage(); codeOf(err) != wire.CodeFrameTooLong {
			t.Fatalf("%d bytes announced: %v, want frame_too_long", n, err)
		}
	}
	// Before the Hello the limit is 16 KiB (SPEC §1.5).
	conn, peer := srv.connect(t, wire.ProtobufName)
	send(t, peer, append(peer.Frame(pattern(16<<10)), peer.Frame(pattern(16<<10+1))...))
	if m, err := conn.ReadMessage(); err != nil || len(m) != 16<<10 {
		t.Fatalf("16 KiB before the Hello: %d bytes, %v", len(m), err)
	}
	if _, err := conn.ReadMessage(); codeOf(err) != wire.CodeFrameTooLong {
		t.Fatalf("more than 16 KiB before the Hello: %v", err)
	}
}

// announced: a length within the limit costs nothing until its bytes arrive.
func announced(t *testing.T, s Subject) {
	conn, peer := serve(t, s, wire.ListenOptions{}).connect(t, wire.ProtobufName)
	conn.SetReadLimit(1 << 30)
	counter := conn.(wire.ByteCounter)
	before := counter.Received()
	beginning := append(s.Announce(1<<30), pattern(100)...)
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	failed := make(chan error, 1)
	go func() { _, err := conn.ReadMessage(); failed <- err }()
	send(t, peer, beginning)
	for counter.Received() < before+uint64(len(beginning)) {
		runtime.Gosched()
	}
	_ = peer.Close()
	if err := <-failed; err == nil || err == io.EOF {
		t.Fatalf("cut off within a message: %v", err)
	}
	runtime.ReadMemStats(&m1)
	if took := m1.TotalAlloc - m0.TotalAlloc; took > 1<<20 {
		t.Errorf("a message of 1 GiB was announced and 100 bytes sent: %d bytes were allocated", took)
	}
}

func garbage(t *testing.T, s Subject) {
	srv := serve(t, s, wire.ListenOptions{})
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		conn, peer := srv.connect(t, wire.ProtobufName)
		junk := make([]byte, 1+random.IntN(3000))
		for i := range junk {
			junk[i] = byte(random.Uint32())
		}
		go func() {
			_, _ = peer.Write(junk)
			_ = peer.Close()
		}()
		var err error
		for err == nil {
			var m []byte
			if m, err = conn.ReadMessage(); len(m) > len(junk) {
				t.Fatalf("a message of %d bytes out of %d", len(m), len(junk))
			}
		}
		if code := codeOf(err); code == "" && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			t.Logf("garbage ended with %v", err)
		}
		_ = conn.Close(wire.CodeProtocolError, "")
	}
}
