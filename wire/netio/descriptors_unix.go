//go:build unix

package netio

import (
	"net"
	"syscall"
)

// reserve is how many file descriptors of a process that may have so many are kept from
// connections, for the stores, files and the other nodes.
func reserve(limit uint64) uint64 { return min(max(limit/16, 64), 1024) }

// scarce tells whether a connection that was just accepted has one of the last file
// descriptors: a new one is the lowest number that is free, so that all below are in use.
func scarce(conn net.Conn) bool {
	if c, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = c.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return false
	}
	number := uint64(0)
	if raw.Control(func(fd uintptr) { number = uint64(fd) }) != nil {
		return false
	}
	most := uint64(limit.Cur) // signed on some systems
	return number+reserve(most) >= most
}

// Descriptors is how many file descriptors all connections of this process may have
// together, 0 where that is not known.
func Descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	most := uint64(limit.Cur) // signed on some systems
	return int(min(most-min(reserve(most), most), 1<<30))
}
