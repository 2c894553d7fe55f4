package skein

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

func TestDialGivesUpWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		down := errors.New("the cable is out")
		none := WithDialer(func(context.Context, string, string) (net.Conn, error) { return nil, down })
		_, err := Dial(ctx, "tcp://fake", WithToken("x"), none, WithDialTimeout(0))
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, down) {
			t.Errorf("Dial: %v, want the deadline and the last attempt's error", err)
		}
		// Unless it is told to, it does not look for a server for as long as that.
		began := time.Now()
		_, err = Dial(bg, "tcp://fake", WithToken("x"), none)
		var nowhere *UnreachedError
		if !errors.As(err, &nowhere) || !errors.Is(err, down) || time.Since(began) < 10*time.Second || time.Since(began) > 12*time.Second {
			t.Errorf("Dial: %v after %v", err, time.Since(began))
		}
	})
}
