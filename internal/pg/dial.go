// Package pg is what both stores need of PostgreSQL, whatever they keep there:
// connections that notice a cut network (dial.go) and that lead to no primary that
// was replaced (primary.go), and the server's error codes (codes.go). The package
// pgtest below it runs real servers for tests.
//
// It must not know what is asked over the connections. Goroutines: none. Locks:
// one, in Primaries, and nothing is called while it is held.
package pg

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
