package transporttest

import (
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/skein-im/skein/wire"
)

// echo answers messages, and parks after each one where it can.
func echo(c wire.Conn) {
	for {
		m, err := c.ReadMessage()
		if err == nil {
			_, err = c.TryWrite(c.AppendMessage(nil, m))
		}
		if err != nil {
			_ = c.Close("", "")
			return
		}
		if p, ok := c.(wire.Parker); ok && p.Park(func() { echo(c) }) {
			return
		}
	}
}

// BenchmarkIdle measures what an idle connection costs the server in memory of
// the Go heap and of stacks, after it has carried messages and, if the listener
// was given a Poller, parked. The clients are bare
// file descriptors, so that their side costs this process nothing. preamble is
// the client's handshake, answered with something if answered is true; message
// is one framed message.
func BenchmarkIdle(b *testing.B, l wire.Listener, preamble []byte, answered bool, message []byte) {
	const conns = 2000
	addr := l.Addr().(*net.TCPAddr)
	var mu sync.Mutex
	var open []wire.Conn
	go func() {
		_ = l.Serve(func(c wire.Conn) {
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			echo(c)
		})
	}()
	for b.Loop() {
		heap0, stack0, rss0 := memory()
		fds := make([]int, 0, conns)
		buf := make([]byte, 4096)
		exchange := func(fd int, p []byte) {
			if _, err := syscall.Write(fd, p); err != nil {
				b.Fatal(err)
			}
			if n, err := syscall.Read(fd, buf); n <= 0 || err != nil {
				b.Fatal(n, err)
			}
		}
		for range conns {
			fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
			if err != nil {
				b.Fatal(err)
			}
			fds = append(fds, fd)
			if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}); err != nil {
				b.Fatal(err)
			}
			if answered {
				exchange(fd, preamble)
				exchange(fd, message)
			} else {
				exchange(fd, append(preamble[:len(preamble):len(preamble)], message...))
			}
			exchange(fd, message)
		}
		heap1, stack1, rss1 := memory()
		b.ReportMetric(float64(heap1-heap0)/conns, "heap-B/conn")
		b.ReportMetric(float64(stack1-stack0)/conns, "stack-B/conn")
		b.ReportMetric(float64(rss1-rss0)/conns, "rss-B/conn")
		for _, fd := range fds {
			_ = syscall.Close(fd)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	runtime.KeepAlive(open)
	_ = l.Close()
}

func memory() (heap, stack, rss int64) {
	for range 4 {
		runtime.GC()
		runtime.Gosched() // stacks shrink when they are scanned
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	statm, _ := os.ReadFile("/proc/self/statm")
	pages := int64(0)
	field := 0
	for _, c := range statm {
		switch {
		case c == ' ':
			field++
		case field == 1:
			pages = 10*pages + int64(c-'0')
		}
	}
	return int64(m.HeapAlloc), int64(m.StackInuse), pages * int64(os.Getpagesize())
}
