package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
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
