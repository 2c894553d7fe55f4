package gateway

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// BenchmarkSendAckPush is a one-to-one message through the gateway: a Send is
// read, Logic acks it and delivers it, both connections are flushed.
func BenchmarkSendAckPush(b *testing.B) {
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		b.Run(codec.Name(), func(b *testing.B) {
			rate := limits.Rate{PerSecond: 1e9, Burst: 1 << 30}
			w := newWorld(b, func(o *Options) {
				o.Devices = limits.NewDevices(limits.Rates{Sends: rate, Marks: rate, Reads: rate, Calls: rate, Signals: rate})
			})
			to, entries, origin := []im.UserID{"ann", "bob"}, make([]im.Entry, 1), make([]im.ConnectionID, 1)
			seq, done := uint64(0), make(chan struct{}, 1)
			w.logic.authenticate = nil
			g := w.g
			g.o.Logic = benchLogic{logicFor{w.logic}, func(a im.Actor, m im.Message, reply func(im.Ack, error)) {
				seq++
				reply(im.Ack{Seq: seq, Count: seq}, nil)
				entries[0] = im.Entry{Conversation: m.Conversation, Seq: seq, ID: m.ID, Sender: a.User, Kind: m.Kind, Body: m.Body}
				origin[0] = a.Connection
				g.ToUsers(to, im.Parcel{Entries: entries, Origin: origin})
				g.Flush()
				done <- struct{}{}
			}}
			ann, bob := newScript(codec, hello("ann", "1", phone)), newScript(codec, hello("bob", "1", phone))
			ann.discard, bob.discard = true, true
			go g.Serve(ann)
			go g.Serve(bob)
			for g.metrics.connects.Load() < 2 {
				runtime.Gosched()
			}
			msg, err := codec.Append(nil, text(string(dm), 1, "a message of the usual length, more or less"))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				ann.sayRaw(msg)
				<-done
			}
		})
	}
}

type benchLogic struct {
	logicFor
	send func(im.Actor, im.Message, func(im.Ack, error))
}

// BenchmarkFanOut is one group entry to 10,000 connections that take it at once.
func BenchmarkFanOut(b *testing.B) {
	var late atomic.Int64 // the clock, beyond the time in which pushes are paced
	w := newWorld(b, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	})
	const n = 10_000
	for i := range n {
		u := fmt.Sprintf("u%d", i)
		w.set(im.UserID(u), grp)
		c := newScript(wire.Protobuf(), hello(u, "1", phone))
		c.discard = true
		go w.g.Serve(c)
	}
	for w.g.metrics.connects.Load() < n {
		runtime.Gosched()
	}
	seq := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		seq++
		late.Add(int64(2 * paceEvery))
		w.toGroup(grp, entry(grp, seq, "a message of the usual length, more or less"))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/member")
}

// BenchmarkStorm is a run to a group all of whose 500 members have said
// something in it.
func BenchmarkStorm(b *testing.B) {
	w := newWorld(b)
	const n = 500
	for i := range n {
		u := fmt.Sprintf("u%d", i)
		w.set(im.UserID(u), grp)
		c := newScript(wire.Protobuf(), hello(u, "1", phone))
		c.discard = true
		go w.g.Serve(c)
	}
	for w.g.metrics.connects.Load() < n {
		runtime.Gosched()
	}
	p := im.Parcel{Entries: make([]im.Entry, n), Origin: make([]im.ConnectionID, n)}
	for i, s := range w.g.conns.list() {
		p.Origin[i] = s.ID
	}
	seq := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		for i := range p.Entries {
			seq++
			p.Entries[i] = entry(grp, seq, "a message of the usual length, more or less")
		}
		w.g.ToGroup(grp, p)
		w.g.Flush()
	}
}

// What an idle session costs beside its connection and its goroutine.
func TestSessionIsSmall(t *testing.T) {
	// With the allocator's word that is a block of 640 bytes, the next has 704.
	if size := unsafe.Sizeof(session{}); size > 632 {
		t.Errorf("a session has %d bytes", size)
	}
	w := newWorld(t)
	const n = 2000
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var conns []*scriptConn
	var hellos [][]byte
	for i := range n {
		u := im.UserID(fmt.Sprintf("u%d", i))
		w.set(u, grp, "grp:h", "grp:i")
		c := newScript(wire.Protobuf())
		c.discard = true
		conns = append(conns, c)
		b, _ := c.codec.Append(nil, hello(string(u), "1", phone))
		hellos = append(hellos, b)
	}
	before := heap()
	// One after another: logging in takes a goroutine for a moment (aside), whose
	// record the runtime keeps for the next one and which is no session's cost.
	for i, c := range conns {
		c.sayRaw(hellos[i])
		go w.g.Serve(c)
		for w.g.metrics.connects.Load() <= uint64(i) {
			runtime.Gosched()
		}
	}
	// The last of them end a moment later: the least of some looks is what stays.
	each := int64(1 << 40)
	for range 20 {
		each = min(each, int64(heap()-before)/n)
		runtime.Gosched()
	}
	t.Logf("session struct %d bytes; heap per idle session in 3 groups: %d bytes", unsafe.Sizeof(session{}), each)
	if each > 2048 {
		t.Errorf("%d bytes for each idle session", each)
	}
	runtime.KeepAlive(conns)
}

func TestMetrics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		w := newWorld(t, func(o *Options) { o.Registerer = reg })
		p := w.login("ann", "1")
		p.send(text(string(dm), 1, "x"))
		p.want("ack 1 dm:ann:bob 1")
		p.send(wire.NewClientFrame(&wire.Bye{}))
		p.wantClosed()
		got := map[string]float64{}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				name := f.GetName()
				for _, l := range m.GetLabel() {
					name += " " + l.GetValue()
				}
				got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		for name, want := range map[string]float64{
			"skein_gateway_connections": 0, "skein_gateway_connects_total": 1, "skein_gateway_disconnects_total bye": 1,
			"skein_gateway_frames_total in send": 1, "skein_gateway_frames_total out send_ack": 1, "skein_gateway_frames_total out welcome": 1,
			"skein_gateway_send_duration_seconds": 1,
		} {
			if v, ok := got[name]; !ok || v != want {
				t.Errorf("%s = %v (%v), want %v", name, v, ok, want)
			}
		}
		if got["skein_gateway_bytes_total in"] == 0 || got["skein_gateway_bytes_total out"] == 0 {
			t.Error("bytes are not counted")
		}
	})
}

func (l benchLogic) Send(_ context.Context, a im.Actor, m im.Message, reply func(im.Ack, error)) {
	l.send(a, m, reply)
}
