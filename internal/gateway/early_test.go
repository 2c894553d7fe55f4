package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// strangers is a Logic that notes who calls, and how many at the same time.
type strangers struct {
	logicFor
	mu     sync.Mutex
	actors []im.Actor
	keys   []string
	now    int
	most   int
	takes  time.Duration
}

func (l *strangers) Call(_ context.Context, from im.Actor, call im.Call) ([]byte, error) {
	l.mu.Lock()
	l.actors, l.keys = append(l.actors, from), append(l.keys, call.Key)
	l.now++
	l.most = max(l.most, l.now)
	l.mu.Unlock()
	time.Sleep(l.takes)
	l.mu.Lock()
	l.now--
	l.mu.Unlock()
	if call.Method == "open/fails" {
		return nil, im.Errorf(im.CodeBadCredentials, "no")
	}
	return call.Payload, nil
}

func openWorld(t *testing.T, change ...func(*Options)) (*world, *strangers) {
	l := &strangers{logicFor: logicFor{&fakeLogic{}}}
	w := newWorld(t, append(change, func(o *Options) {
		o.Logic = l
		o.Open = func(m string) bool { return m == "open" || m == "open/fails" }
	})...)
	return w, l
}

func early(n uint32, method string) *wire.ClientFrame {
	return wire.NewClientFrame(&wire.Call{Number: n, Method: method, Request: &wire.Call_Body{Body: []byte("q")}})
}

// Calls of open methods are a stranger's, of the connection's address; others are
// refused without asking anybody. Neither ends anything.
func TestCallsBeforeTheHello(t *testing.T) {
	for _, codec := range []wire.Codec{wire.Protobuf(), wire.JSON()} {
		bubble(t, func(t *testing.T) {
			w, l := openWorld(t)
			p := w.dial(codec)
			p.send(early(1, "open"))
			p.want(`result 1 "q"`)
			p.send(early(2, "open/fails"))
			p.want("result 2 error bad_credentials")
			p.send(early(3, "closed"))
			p.want("result 3 error unauthenticated")
			p.send(hello("ann", "d1", phone))
			p.want("welcome ann")
			p.send(early(4, "closed"))
			p.want(`result 4 "q"`)
			if len(l.actors) != 3 || l.actors[2].User != "ann" {
				t.Fatalf("asked by %+v", l.actors)
			}
			for _, a := range l.actors[:2] {
				if a.User != "" || a.Role != im.ServerUser || a.Session != "" || a.Connection != l.actors[2].Connection || a.Address != l.actors[2].Address {
					t.Errorf("asked by %+v", a)
				}
			}
		})
	}
}

// The idempotency key goes with the call, before the Hello and after it.
func TestCallsHaveTheirKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, l := openWorld(t)
		p := w.dial(wire.JSON())
		ask := func(n uint32, key string) {
			f := early(n, "open")
			f.GetCall().IdempotencyKey = key
			p.send(f)
			p.want(fmt.Sprintf(`result %d "q"`, n))
		}
		ask(1, "0123456789abcdef")
		ask(2, "")
		p.send(hello("ann", "d1", phone))
		p.want("welcome ann")
		ask(3, "another-key-0123")
		if got := strings.Join(l.keys, " "); got != "0123456789abcdef  another-key-0123" {
			t.Errorf("keys %q", got)
		}
	})
}

// So many, and no more; those that come at once are done one after the other.
func TestCallsBeforeTheHelloAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, l := openWorld(t)
		l.takes = 100 * time.Millisecond
		p := w.dial(wire.Protobuf())
		var all []*wire.ClientFrame
		for n := range uint32(earlyCalls + 1) {
			all = append(all, early(n, "open"))
		}
		p.batch(all...)
		for n := range earlyCalls {
			p.want(fmt.Sprintf("result %d \"q\"", n))
		}
		p.want("error hello_timeout")
		p.wantClosed()
		if l.most != 1 || len(l.actors) != earlyCalls {
			t.Errorf("%d at the same time, %d in all", l.most, len(l.actors))
		}
	})
}

// Each answer gives the time for the Hello again; while the server works it is not the client's.
func TestCallsBeforeTheHelloGiveTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, l := openWorld(t)
		l.takes = 20 * time.Second
		p := w.dial(wire.Protobuf())
		for n := range uint32(3) {
			time.Sleep(4 * time.Second)
			p.send(early(n, "open"))
			p.want(fmt.Sprintf("result %d \"q\"", n))
		}
		began := time.Now()
		p.want("error hello_timeout")
		if d := time.Since(began); d < 5*time.Second || d > 6*time.Second {
			t.Errorf("ended after %v", d)
		}
		p.wantClosed()
	})
}

// They stand in the line of those who come with passwords: where that is full they
// are told to come again, and who has a token is not kept waiting.
func TestCallsBeforeTheHelloStandInLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		line := limits.NewLogins(time.Now)
		w, l := openWorld(t, func(o *Options) { o.Credentials = line })
		for range 64 {
			if _, err := line.Enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		p := w.dial(wire.Protobuf())
		p.send(early(1, "open"))
		w.login("ann", "d1")
		if e := p.want("result 1 error unavailable").GetResult().GetError(); e.RetryAfterMs == 0 {
			t.Errorf("%v says not when", e)
		}
		if len(l.actors) != 0 {
			t.Errorf("asked by %+v", l.actors)
		}
	})
}

// A server that stops lets nobody wait who has not said Hello yet.
func TestDrainAfterAnEarlyCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, _ := openWorld(t)
		p := w.dial(wire.Protobuf())
		p.send(early(1, "open"))
		p.want(`result 1 "q"`)
		go func() { _ = w.g.Drain(context.Background(), 0) }()
		p.want("error going_away")
		p.wantClosed()
	})
}
