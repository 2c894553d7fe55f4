package gateway

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// A session that is ended takes what it asks for along: the store is not kept busy
// for somebody who is gone. A Sync that nobody ends is given up before clients are
// tired of waiting, and refused as something to try again; the session stays.
func TestWorkEndsWithItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ended := make(chan time.Duration, 1)
		w.logic.syncing = func(ctx context.Context) error {
			began := time.Now()
			<-ctx.Done()
			ended <- time.Since(began)
			return ctx.Err()
		}
		p := w.login("alice", "d1")
		p.send(wire.NewClientFrame(&wire.Sync{Number: 1, Timeline: "t"}))
		time.Sleep(time.Second)
		w.g.Control(im.Control{User: "alice", Code: im.CodeSessionRevoked})
		select {
		case took := <-ended:
			if took > 2*time.Second {
				t.Errorf("ended after %s", took)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the work outlives its session")
		}

		q := w.login("bob", "d2")
		q.send(wire.NewClientFrame(&wire.Sync{Number: 2, Timeline: "t"}))
		f := q.read()
		if e := f.GetSyncDelta().GetError(); e.GetCode() != string(im.CodeUnavailable) || e.GetRetryAfterMs() == 0 {
			t.Errorf("%v", f)
		}
	})
}

// So do its Calls: none, one, and as many as run at the same time and one that waits
// for its turn, beside a session that goes on.
func TestCallsEndWithTheirSession(t *testing.T) {
	for _, calls := range []int{0, 1, callWorkers + 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			begun, ended := 0, make(chan error, callWorkers+1)
			var mu sync.Mutex
			w.logic.call = func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
				mu.Lock()
				begun++
				mu.Unlock()
				<-ctx.Done()
				ended <- ctx.Err()
				return nil, ctx.Err()
			}
			other := w.login("bob", "d2")
			other.send(wire.NewClientFrame(&wire.Call{Number: 1, Method: "skein.Users.Me"}))
			p := w.login("alice", "d1")
			for n := range calls {
				p.send(wire.NewClientFrame(&wire.Call{Number: uint32(n + 1), Method: "skein.Users.Me"}))
			}
			time.Sleep(time.Second)
			synctest.Wait()
			w.g.Control(im.Control{User: "alice", Code: im.CodeSessionRevoked})
			time.Sleep(time.Second)
			synctest.Wait()
			running := min(calls, callWorkers)
			if len(ended) != running {
				t.Errorf("%d calls: %d of %d ended with their session", calls, len(ended), running)
			}
			for range len(ended) {
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("%d calls: one ended with %v", calls, err)
				}
			}
			mu.Lock()
			if begun != running+1 {
				t.Errorf("%d calls: %d were begun, with the other session's", calls, begun)
			}
			mu.Unlock()
		})
	}
}

// Of more Calls than may wait each is told when to come again, as of every limit.
func TestTooManyCallsAreToldWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Devices = limits.NewDevices(limits.Rates{Calls: limits.Rate{PerSecond: 1000, Burst: 1000}})
		})
		release := make(chan struct{})
		w.logic.call = func(context.Context, string, []byte) ([]byte, error) {
			<-release
			return nil, nil
		}
		p := w.login("alice", "d1")
		const calls = callWorkers + callsHeld + 3
		for n := range calls {
			p.send(wire.NewClientFrame(&wire.Call{Number: uint32(n + 1), Method: "skein.Users.Me"}))
		}
		for n := callWorkers + callsHeld + 1; n <= calls; n++ {
			r := p.read().GetResult()
			if e := r.GetError(); int(r.GetNumber()) != n || e.GetCode() != string(im.CodeRateLimited) || e.GetRetryAfterMs() == 0 {
				t.Errorf("call %d: %v", n, r)
			}
		}
		close(release)
		for range callWorkers + callsHeld {
			if r := p.read().GetResult(); r.GetError() != nil {
				t.Errorf("%v", r)
			}
		}
	})
}
