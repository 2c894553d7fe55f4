//go:build unix

package app

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/transport/pipe"
	"github.com/skein-im/skein/wire"
)

// laboratory is a whole server that is asked without sockets.
type laboratory struct {
	*App
	*testing.B
	ids    atomic.Uint64
	tokens []string
}

// newLaboratory has users 0 to n-1.
func newLaboratory(b *testing.B, n int) *laboratory {
	b.Helper()
	cfg := settings(b.TempDir())
	cfg.Groups.MaxMembers = 200_000
	cfg.Accounts.DMPolicy = "everyone"
	l := &laboratory{App: must(Open(b.Context(), cfg, Options{})), B: b, tokens: make([]string, n)}
	b.Cleanup(func() {
		if err := l.close(); err != nil {
			b.Error(err)
		}
	})
	l.each(n, func(i int) {
		l.tokens[i] = must(l.accounts.Mint(b.Context(), account.Minting{User: name(i), Device: device(i)})).Access
	})
	return l
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// each calls f for 0 to n-1 from 32 goroutines.
func (l *laboratory) each(n int, f func(i int)) {
	const workers = 32
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

// name is a user's id: the order of the ids is not that of the numbers.
func name(i int) im.UserID { return im.UserID(fmt.Sprintf("u%07d", i*7919%9_999_991)) }

func device(i int) im.Device { return im.Device{ID: fmt.Sprint("d", i), Class: im.DevicePhone} }

func actor(u im.UserID) im.Actor { return im.Actor{User: u} }

// say sends a message and waits for its ack.
func (l *laboratory) say(from im.UserID, c im.ConversationID) im.Ack {
	n := l.ids.Add(1)
	id := im.NewMessageID(time.Now(), [10]byte{byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	m := must(contract.Message(&wire.Send{Conversation: string(c), Id: id[:], Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}}}))
	acks, errs := make(chan im.Ack, 1), make(chan error, 1)
	l.logic.Send(l.Context(), actor(from), m, func(a im.Ack, err error) { acks <- a; errs <- err })
	return must(<-acks, <-errs)
}

func (l *laboratory) dm(from, to int) { l.say(name(from), im.DM(name(from), name(to))) }

// populate gives each of the first n users, in groups of 50, five groups, and
// about 20 dms.
func (l *laboratory) populate(n int) {
	l.each(n/10, func(g int) {
		members := make([]im.UserID, 50)
		for i := range members {
			members[i] = name((g*10 + i) % n)
		}
		must(l.members.groups.Create(l.Context(), actor(members[0]), "friends", members[1:], ""))
	})
	l.each(n, func(i int) {
		for k := 1; k <= 10; k++ {
			l.dm(i, (i+k*37)%n)
		}
	})
}

// position is where a user who has everything stands, beyond the marks of what
// was sent so far. The service is told of a mark before: from then on it knows
// where marks moved, as one that runs for a while.
func (l *laboratory) position() im.SyncResult {
	a, b := im.UserID("mark1"), im.UserID("mark2")
	for _, u := range []im.UserID{a, b} {
		must(l.accounts.Mint(l.Context(), account.Minting{User: u}))
	}
	for range 2 {
		seq := l.say(a, im.DM(a, b)).Seq
		if err := l.messaging.Mark(l.Context(), actor(b), im.DM(a, b), seq, 0); err != nil {
			l.Fatal(err)
		}
	}
	return must(l.logic.Sync(l.Context(), actor(a), im.SyncQuery{Limit: 1}))
}

// cpu is the processor time of this process, the background's included.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs f and reports the processor time of n operations of each run.
func measure(b *testing.B, n int, f func()) {
	b.ReportAllocs()
	start := cpu()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64((cpu()-start).Microseconds())/float64(b.N*n), "cpu-µs/each")
}

// timed is measure with the times that each run took.
func timed(b *testing.B, f func()) {
	var took []time.Duration
	measure(b, 1, func() {
		began := time.Now()
		f()
		took = append(took, time.Since(began))
	})
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkAddTenThousand adds 10,000 members to a group in ten calls.
func BenchmarkAddTenThousand(b *testing.B) {
	const n = 10_000
	l := newLaboratory(b, n)
	owner := actor("owner")
	measure(b, 1, func() {
		g := must(l.members.groups.Create(b.Context(), owner, "big", nil, ""))
		for from := 0; from < n; from += 1000 {
			users := make([]im.UserID, 1000)
			for i := range users {
				users[i] = name(from + i)
			}
			if added, _, err := l.members.groups.Add(b.Context(), owner, g.Conversation, users); err != nil || len(added) != 1000 {
				b.Fatal(len(added), err)
			}
		}
	})
}

// BenchmarkFirstMessage is the first message of a new conversation.
func BenchmarkFirstMessage(b *testing.B) {
	const n = 1000
	l := newLaboratory(b, n)
	i := 0
	timed(b, func() {
		l.dm(i%n, (i+i/n+1)%n)
		i++
	})
}

// BenchmarkFirstMessages are those of a thousand at once.
func BenchmarkFirstMessages(b *testing.B) {
	const n = 1000
	l := newLaboratory(b, 2*n)
	round := 0
	measure(b, n, func() {
		round++
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { l.dm(i, n+(i+round)%n) })
		}
		wg.Wait()
	})
}

// BenchmarkChatBesideFirstMessages is a message in a chat that goes on while
// others begin.
func BenchmarkChatBesideFirstMessages(b *testing.B) {
	const n = 1000
	l := newLaboratory(b, 2*n)
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	var pairs atomic.Int64
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(pairs.Add(1))
				l.dm(i%n, n+(i+i/n)%n)
			}
		})
	}
	timed(b, func() { l.dm(2*n-2, 2*n-1) })
	stop()
	wg.Wait()
}

// BenchmarkPull reads the last message of a group, as a member.
func BenchmarkPull(b *testing.B) {
	l := newLaboratory(b, 1000)
	g := must(l.members.groups.Create(b.Context(), actor(name(0)), "friends", []im.UserID{name(1)}, "")).Conversation
	l.say(name(0), g)
	measure(b, 1, func() {
		if got := must(l.logic.Pull(b.Context(), actor(name(1)), im.PullQuery{Conversation: g, Backward: true, Limit: 1})); len(got.Entries) != 1 {
			b.Fatal(len(got.Entries))
		}
	})
}

// BenchmarkReconnect is what somebody with 25 conversations costs the logic who
// comes back and missed nothing.
func BenchmarkReconnect(b *testing.B) {
	const n = 1000
	l := newLaboratory(b, n)
	l.populate(n)
	q := query(l.position())
	i := 0
	measure(b, 1, func() {
		l.reconnect(i%n, q, 0)
		i++
	})
}

func query(r im.SyncResult) im.SyncQuery {
	return im.SyncQuery{Timeline: r.Timeline, Position: r.Position}
}

func (l *laboratory) reconnect(i int, q im.SyncQuery, changed int) {
	who := must(l.logic.Authenticate(l.Context(), im.Handshake{
		Token: l.tokens[i], Connection: im.ConnectionID(fmt.Sprint("c", i)), Device: device(i), Client: "c/1", Address: "192.0.2.1",
	}))
	must((&members{directory: l.directory}).standing(l.Context(), who.User))
	if res := must(l.logic.Sync(l.Context(), who, q)); res.Reset || len(res.Conversations) != changed {
		l.Fatalf("reset %v, %d changed, want %d", res.Reset, len(res.Conversations), changed)
	}
}

// BenchmarkStorm is 1,000 users with 25 conversations each who come back at the
// same moment, half of them with three that changed, through the gateway. The
// client's work is in it.
func BenchmarkStorm(b *testing.B) {
	const n = 1000
	l := newLaboratory(b, n)
	l.populate(n)
	pos := l.position()
	for i := 0; i < n; i += 2 {
		for k := 1; k <= 3; k++ {
			l.dm((i+k*37)%n, i)
		}
	}
	measure(b, n, func() {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				if changed := must(l.hello(i, pos)); i%2 == 0 && changed < 3 {
					b.Errorf("%d changed", changed)
				}
			})
		}
		wg.Wait()
	})
}

// hello connects with a position, reads until the sync's answer, and returns
// how many conversations changed.
func (l *laboratory) hello(i int, pos im.SyncResult) (changed int, err error) {
	codec := wire.Protobuf()
	there, here := pipe.Pair(codec.Name())
	served := make(chan struct{})
	go func() {
		l.gateway.Serve(there)
		close(served)
	}()
	defer func() {
		here.Close()
		<-served
	}()
	conn := wire.NewStreamConn(here, codec.Name())
	conn.SetReadLimit(1 << 20)
	out, err := codec.Append(nil, wire.NewClientFrame(&wire.Hello{
		VersionMin: 1, VersionMax: 1, Token: l.tokens[i], Client: "c/1", Device: &wire.Device{Id: device(i).ID, Class: wire.DeviceClass(device(i).Class)},
		Sync: &wire.Sync{Number: 1, Position: pos.Position, Timeline: pos.Timeline},
	}))
	if err != nil {
		return 0, err
	}
	if err := conn.Write(conn.AppendMessage(nil, out), time.Now().Add(time.Minute)); err != nil {
		return 0, err
	}
	for {
		in, err := conn.ReadMessage()
		if err != nil {
			return 0, err
		}
		var f wire.ServerFrame
		if err := codec.Decode(in, &f); err != nil {
			return 0, err
		}
		if d := f.GetSyncDelta(); d != nil {
			return len(d.Conversations), nil
		}
	}
}

// BenchmarkResume is somebody with 5,000 conversations, half of them groups,
// who comes back when three changed: right after the server's start, when it
// does not know where marks moved, and later. Page is a page of the list.
func BenchmarkResume(b *testing.B) {
	const n = 5000
	l := newLaboratory(b, n)
	me := name(0)
	l.each(n-1, func(i int) {
		if i%2 == 0 {
			l.dm(0, i+1)
			return
		}
		g := must(l.members.groups.Create(b.Context(), actor(me), "group", []im.UserID{name(i)}, ""))
		l.say(me, g.Conversation)
	})
	l.dm(1, 2) // beyond the marks of what was sent
	resume := func(name string, pos im.SyncResult) {
		for k := 1; k < 6; k += 2 {
			l.dm(k, 0)
		}
		b.Run(name, func(b *testing.B) {
			timed(b, func() { l.reconnect(0, query(pos), 3) })
		})
	}
	resume("AfterStart", must(l.logic.Sync(b.Context(), actor(me), im.SyncQuery{Limit: 1})))
	resume("Later", l.position())
	b.Run("Page", func(b *testing.B) {
		timed(b, func() { must(l.logic.Sync(b.Context(), actor(me), im.SyncQuery{})) })
	})
}
