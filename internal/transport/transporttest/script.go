package transporttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// Script is a connection whose peer has said data, in pieces of chunk bytes,
// and then nothing more. What is written to it is kept.
type Script struct {
	data  []byte
	chunk int

	mu      sync.Mutex
	written bytes.Buffer
}

// NewScript returns a script; chunk 0 means all at once.
func NewScript(data []byte, chunk int) *Script {
	if chunk <= 0 {
		chunk = len(data) + 1
	}
	return &Script{data: data, chunk: chunk}
}

// Read implements net.Conn.
func (s *Script) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.chunk)], s.data)
	s.data = s.data[n:]
	return n, nil
}

// Write implements net.Conn.
func (s *Script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written.Write(p)
}

// TryWrite implements netio.TryWriter.
func (s *Script) TryWrite(p []byte) (int, error) { return s.Write(p) }

// Written is what was written so far.
func (s *Script) Written() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.written.Bytes())
}

// The rest of net.Conn does nothing.

// Close implements net.Conn.
func (s *Script) Close() error { return nil }

// LocalAddr implements net.Conn.
func (s *Script) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (s *Script) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// SetDeadline implements net.Conn.
func (s *Script) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (s *Script) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (s *Script) SetWriteDeadline(time.Time) error { return nil }

// Transcript reads a Conn to its end and tells what came out: the number of
// messages, a hash of them, the error, and how many bytes they had. It allocates
// next to nothing itself.
func Transcript(conn wire.Conn) (summary string, bytes int) {
	hash := sha256.New()
	var length [8]byte
	for count := 0; ; count++ {
		m, err := conn.ReadMessage()
		if err != nil {
			return fmt.Sprintf("%d messages %x, %s %v", count, hash.Sum(nil), codeOf(err), err), bytes
		}
		binary.BigEndian.PutUint64(length[:], uint64(len(m)))
		hash.Write(length[:])
		hash.Write(m)
		bytes += len(m)
	}
}

// CostsAtMost reports whether f allocates at most bound bytes. The count is the
// whole program's, so what other goroutines allocate in the meantime must not
// decide: the cheapest of some runs counts.
func CostsAtMost(bound uint64, f func()) (cost uint64, ok bool) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	for range 10 {
		metrics.Read(sample)
		before := sample[0].Value.Uint64()
		f()
		metrics.Read(sample)
		if cost = sample[0].Value.Uint64() - before; cost <= bound {
			return cost, true
		}
	}
	return cost, false
}
