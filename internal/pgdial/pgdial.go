// Package pgdial makes the connections to PostgreSQL: both stores have the same
// trouble with a network that is cut and with a primary that was one, and the same
// means against it. It must not know what is asked over them.
package pgdial

import (
	"net"
	"time"
)

// Dialer connects within a time. A connection whose peer acknowledges nothing of
// what was sent for another time, or is silent when asked for a sign of life that
// long, is given up.
func Dialer(connect, unacknowledged time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout:         connect,
		Control:         userTimeout(unacknowledged),
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: unacknowledged / 2, Interval: unacknowledged / 5, Count: 3},
	}
}
