package gateway

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// A Logout is answered before its connection ends; one that is not answered in time
// does not keep the connection.
func TestLogoutIsAnswered(t *testing.T) {
	for name, answers := range map[string]bool{"in time": true, "never": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				never := make(chan struct{})
				w.logic.call = func(ctx context.Context, _ string, payload []byte) ([]byte, error) {
					w.g.Control(im.Control{User: "ann", Session: "s-d1", Code: im.CodeSessionRevoked})
					if !answers {
						<-never
					}
					return payload, ctx.Err()
				}
				defer close(never)
				p := w.login("ann", "d1")
				p.send(wire.NewClientFrame(&wire.Call{Number: 7, Method: "skein.v1.AccountService/Logout", Request: &wire.Call_Body{}}))
				begin := time.Now()
				if answers {
					p.want(`result 7 ""`)
				}
				p.want("kick session_revoked")
				if _, err := p.next(); !errors.Is(err, io.EOF) {
					t.Fatalf("read: %v", err)
				}
				if d := time.Since(begin); d > time.Second {
					t.Fatalf("ended after %v", d)
				}
			})
		})
	}
}

// After a GoAway a Call under way is answered, too.
func TestDrainAnswersCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.logic.call = func(_ context.Context, _ string, payload []byte) ([]byte, error) {
			time.Sleep(3 * time.Second)
			return payload, nil
		}
		p := w.login("ann", "d1")
		p.send(wire.NewClientFrame(&wire.Call{Number: 7, Method: "m", Request: &wire.Call_Body{Body: []byte("x")}}))
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- w.g.Drain(context.Background(), 0) }()
		p.want("go_away")
		p.want(`result 7 "x"`)
		p.wantClosed()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}
