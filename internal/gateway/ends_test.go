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

// After a GoAway everything goes on for as long as it says, wherever between two ticks
// it came, and soon after that it ends.
func TestDrainTakesItsTime(t *testing.T) {
	for phase := time.Duration(0); phase < 250*time.Millisecond; phase += 40 * time.Millisecond {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			p := w.login("ann", "d1")
			time.Sleep(phase)
			go func() { _ = w.g.Drain(context.Background(), 0) }()
			told := p.want("go_away").GetGoAway()
			begin, says := time.Now(), time.Duration(told.GetRetryAfterMs())*time.Millisecond
			if says != goAwayRetry {
				t.Fatalf("it says %v", says)
			}
			time.Sleep(says - time.Millisecond)
			p.send(wire.NewClientFrame(&wire.Pull{Number: 1, Conversation: "dm:ann:bob"}))
			p.want("range 1 dm:ann:bob 7 ")
			p.wantClosed()
			if d := time.Since(begin); d < says || d > says+500*time.Millisecond {
				t.Errorf("ended after %v, it said %v", d, says)
			}
		})
	}
}
