package postgres

import (
	"syscall"
	"time"
)

// tcpUserTimeout is the socket option TCP_USER_TIMEOUT.
const tcpUserTimeout = 18

// setUserTimeout makes the kernel give a connection up when what was sent is not
// acknowledged for so long: a network that is cut gives no other sign.
func setUserTimeout(raw syscall.RawConn, d time.Duration) error {
	var err error
	if e := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
	}); e != nil {
		return e
	}
	return err
}
