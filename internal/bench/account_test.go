package bench

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// The test program is its own load generating child process.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "bench" && os.Args[2] == "worker" {
		if err := RunWorker(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// bareServer runs the bare server in this process, behind a proxy that does to the
// frames what tamper says: it returns what is passed on in place of a frame.
func bareServer(t *testing.T, tamper func(*wire.ServerFrame) []*wire.ServerFrame) Starter {
	ctx, cancel := context.WithCancel(context.Background())
	s, addrs, err := prepare(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	file := filepath.Join(t.TempDir(), "floor.log")
	ended := make(chan error, 1)
	go func() { ended <- RunFloor(ctx, addrs[0], addrs[1], file) }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go proxy(c, addrs[1], tamper)
		}
	}()
	return func(context.Context, ...string) (*Server, error) {
		return &Server{floor: true, reachable: map[string][]string{"tcp": {"tcp://" + l.Addr().String()}}}, nil
	}
}

func proxy(client net.Conn, addr string, tamper func(*wire.ServerFrame) []*wire.ServerFrame) {
	defer client.Close()
	var server net.Conn
	var err error
	for range 100 { // it may be starting
		if server, err = net.Dial("tcp", addr); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	for {
		var h [4]byte
		if _, err := io.ReadFull(server, h[:]); err != nil {
			return
		}
		p := make([]byte, binary.BigEndian.Uint32(h[:]))
		if _, err := io.ReadFull(server, p); err != nil {
			return
		}
		f := &wire.ServerFrame{}
		if err := wire.Protobuf().Decode(p, f); err != nil {
			return
		}
		for _, f := range tamper(f) {
			out, err := wire.Protobuf().Append(nil, f)
			if err != nil {
				return
			}
			if _, err := client.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...)); err != nil {
				return
			}
		}
	}
}

func honest(f *wire.ServerFrame) []*wire.ServerFrame { return []*wire.ServerFrame{f} }

// once applies f to the n-th push of all, and lets the others pass.
func once(n int64, f func(push *wire.ServerFrame) []*wire.ServerFrame) func(*wire.ServerFrame) []*wire.ServerFrame {
	var seen atomic.Int64
	return func(frame *wire.ServerFrame) []*wire.ServerFrame {
		if frame.GetPush() != nil && seen.Add(1) == n {
			return f(frame)
		}
		return honest(frame)
	}
}

func options() Options {
	exe, _ := os.Executable()
	return Options{
		Connections: 20, Transport: "tcp", Codec: "pb", Window: 1, Payload: 40, Messages: 30,
		Duration: time.Minute, Lab: exe, Log: os.Stderr, Workers: 1,
	}
}

// What a server loses, doubles, disorders or changes is noticed, by one each.
func TestChatAccountsForEveryMessage(t *testing.T) {
	for name, c := range map[string]struct {
		tamper                       func(*wire.ServerFrame) []*wire.ServerFrame
		lost, duplicated, disordered uint64
	}{
		"honest":     {honest, 0, 0, 0},
		"loses":      {once(100, func(*wire.ServerFrame) []*wire.ServerFrame { return nil }), 1, 0, 0},
		"duplicates": {once(100, func(f *wire.ServerFrame) []*wire.ServerFrame { return []*wire.ServerFrame{f, f} }), 0, 1, 0},
		"swaps":      {swapper(), 0, 0, 1},
		"forges": {once(100, func(f *wire.ServerFrame) []*wire.ServerFrame {
			f.GetPush().Entries[0].Id[15] ^= 1
			return honest(f)
		}), 1, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			r, err := Chat(context.Background(), o, bareServer(t, c.tamper), false)
			if err != nil {
				t.Fatal(err)
			}
			if r.Acked != 600 || r.Sent != 600 {
				t.Errorf("%d sent, %d acked", r.Sent, r.Acked)
			}
			// A message that stands where its sender was not told counts where it is met:
			// at the sender or at the receiver.
			if min(r.Lost, 1) != c.lost || r.Duplicated != c.duplicated || min(r.Disordered, 1) != c.disordered {
				t.Errorf("lost %d, duplicated %d, disordered %d; want %d, %d, %d", r.Lost, r.Duplicated, r.Disordered, c.lost, c.duplicated, c.disordered)
			}
			if broken := r.Failed(); (broken != "") != (c.lost+c.duplicated+c.disordered > 0) {
				t.Errorf("Failed() = %q", broken)
			}
		})
	}
}

// swapper passes a push on after the next one to the same connection.
func swapper() func(*wire.ServerFrame) []*wire.ServerFrame {
	var kept atomic.Pointer[wire.ServerFrame]
	var done atomic.Bool
	return func(f *wire.ServerFrame) []*wire.ServerFrame {
		p := f.GetPush()
		if p == nil || done.Load() {
			return honest(f)
		}
		k := kept.Load()
		switch {
		case k == nil && p.Entries[0].Seq > 5:
			if kept.CompareAndSwap(nil, f) {
				return nil
			}
		case k != nil && k.GetPush().Entries[0].Conversation == p.Entries[0].Conversation && k.GetPush().Entries[0].Sender == p.Entries[0].Sender:
			if done.CompareAndSwap(false, true) {
				return []*wire.ServerFrame{f, k}
			}
		}
		return honest(f)
	}
}

// A broadcast ends when the last member has the message, across processes.
func TestBroadcastAcrossProcesses(t *testing.T) {
	t.Parallel()
	o := options()
	o.Connections, o.Rounds, o.Workers = 40, 2, 2
	r, err := Broadcast(context.Background(), o, bareServer(t, honest))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.LastMember) != 2 || r.Delivered != 3*39 || r.Acked != 3 || r.Failed() != "" {
		t.Errorf("%d rounds, %d delivered, %d acked, %q", len(r.LastMember), r.Delivered, r.Acked, r.Failed())
	}
	for _, ms := range r.LastMember {
		if ms <= 0 {
			t.Errorf("the last member had it after %v ms", ms)
		}
	}
}

// A message of a group that one member in another process misses is lost.
func TestGroupLossAcrossProcesses(t *testing.T) {
	t.Parallel()
	o := options()
	o.Connections, o.Rounds, o.Workers = 40, 1, 2
	start := bareServer(t, once(60, func(*wire.ServerFrame) []*wire.ServerFrame { return nil }))
	o.RoundTime = time.Second
	if _, err := Broadcast(context.Background(), o, start); err == nil || !strings.Contains(err.Error(), "30 of 31 members") && !strings.Contains(err.Error(), "7 of 8 members") {
		t.Fatalf("one member's message was dropped: %v", err)
	}
}

func TestOpenLoopCountsWaiting(t *testing.T) {
	t.Parallel()
	// From the 100th push on nothing comes through for half a second: the latencies
	// must show it, also those of the messages that were due in that time.
	var seen, until atomic.Int64
	stall := func(f *wire.ServerFrame) []*wire.ServerFrame {
		if f.GetPush() != nil && seen.Add(1) == 100 {
			until.Store(time.Now().Add(500 * time.Millisecond).UnixNano())
		}
		time.Sleep(time.Until(time.Unix(0, until.Load())))
		return honest(f)
	}
	o := options()
	o.Messages, o.Rate, o.Duration = 0, 400, 2500*time.Millisecond
	r, err := Chat(context.Background(), o, bareServer(t, stall), false)
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed() != "" || r.Acked < 200 {
		t.Fatalf("%d acked, %q", r.Acked, r.Failed())
	}
	if r.Ack.P99 < 250 {
		t.Errorf("half a second's stall shows as a p99 of %.1f ms", r.Ack.P99)
	}
}

// A storm ends with what each device of the group got of it, and what direct chats
// beside it took; members and direct chatters in several processes.
func TestStormAcrossProcesses(t *testing.T) {
	t.Parallel()
	o := options()
	o.Connections, o.GroupSize, o.Workers, o.Messages = 48, 40, 2, 0
	o.Rate, o.StormRate, o.Duration, o.Warmup = 40, 100, time.Second, 0
	r, err := Storm(context.Background(), o, bareServer(t, honest))
	if err != nil {
		t.Fatal(err)
	}
	x := r.Storm
	if r.Failed() != "" || x.Entries < 98 || x.Entries > 100 || x.Ack.Count != x.Entries || x.LastMember.Count == 0 {
		t.Fatalf("%q, %+v", r.Failed(), x)
	}
	// The bare server packs what comes at a time.
	if x.Frames < 1 || x.Frames > float64(x.Entries)+1 || x.Bytes < float64(x.Entries)*40 || x.Alone.Count == 0 || x.Beside.Count == 0 {
		t.Errorf("%+v", x)
	}
}
