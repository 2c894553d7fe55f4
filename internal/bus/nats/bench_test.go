package nats_test

import (
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bus/bustest"
	"github.com/skein-im/skein/internal/bus/nats"
)

// meter counts what arrives and says when that is enough.
type meter struct {
	n    atomic.Int64
	want atomic.Int64
	done chan struct{}
	lost atomic.Int64
}

func (m *meter) Message(string, []byte) {
	if m.n.Add(1) == m.want.Load() {
		m.done <- struct{}{}
	}
}
func (m *meter) Idle()       {}
func (m *meter) Lost(string) { m.lost.Add(1) }

// cpu is the process's processor time so far.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTwoNodes sends messages of 200 bytes from one node to another, both in
// this process, so the processor's time is both ends' together. Window is how
// many are on their way at most: equal to the batch, each is waited for, and all
// wake-ups are paid; with many, the hops gather by themselves.
func BenchmarkTwoNodes(b *testing.B) {
	for _, c := range []struct{ batch, window int }{{1, 1}, {16, 16}, {1, 4096}, {16, 4096}} {
		b.Run(fmt.Sprintf("batch=%d/window=%d", c.batch, c.window), func(b *testing.B) { twoNodes(b, c.batch, c.window) })
	}
}

func twoNodes(b *testing.B, batch, window int) {
	m := &meter{done: make(chan struct{}, 1)}
	from := start(b, nats.Options{Name: "a", Listen: local, Secret: secret}, bustest.NewRecorder())
	to := start(b, nats.Options{Name: "b", Listen: local, Secret: secret, Peers: []string{from.Addr().String()}}, m)
	if err := to.Subscribe("u.1"); err != nil {
		b.Fatal(err)
	}
	m.want.Store(1)
	for arrived := false; !arrived; {
		from.Publish("u.1", nil)
		from.Flush()
		select {
		case <-m.done:
			arrived = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	time.Sleep(100 * time.Millisecond) // probes on their way
	data := make([]byte, 200)
	m.n.Store(0)
	m.want.Store(0)
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	for sent := 0; sent < b.N; {
		part := min(window, b.N-sent)
		m.want.Store(int64(sent + part))
		for i := range part {
			from.Publish("u.1", data)
			if i%batch == batch-1 {
				from.Flush()
			}
		}
		from.Flush()
		sent += part
		<-m.done
	}
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
}

// BenchmarkSubscribe takes interest in as many subjects as a large gateway: bytes
// of heap for each at the node itself (client and server), and at a peer.
func BenchmarkSubscribe(b *testing.B) {
	const n = 50_000
	for range b.N {
		r := bustest.NewRecorder()
		a := start(b, nats.Options{Name: "a", Listen: local, Secret: secret}, bustest.NewRecorder())
		alone := start(b, nats.Options{Name: "b", Listen: local, Secret: "alone"}, r)
		b.ReportMetric(subscribe(b, alone, func() {}, n), "B/sub")
		_ = alone.Close()
		peer := start(b, nats.Options{Name: "c", Listen: local, Secret: secret, Peers: []string{a.Addr().String()}}, r)
		b.ReportMetric(subscribe(b, peer, func() { r.Settle(b, a, subject(n-1)) }, n), "B/sub-with-a-peer")
		_ = peer.Close()
		_ = a.Close()
	}
}

func subject(i int) string { return "u.0198c2f0e4b17d3a9c55" + strconv.Itoa(100_000_000_000+i) }

func subscribe(b *testing.B, n *nats.Bus, settle func(), count int) float64 {
	before := heap()
	for i := range count {
		if err := n.Subscribe(subject(i)); err != nil {
			b.Fatal(err)
		}
	}
	settle()
	time.Sleep(300 * time.Millisecond) // the writer, where nobody can be asked
	return float64(heap()-before) / float64(count)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
