//go:build unix

package postgres

import (
	"errors"
	"syscall"
)

// readable tells whether there is something to read from a socket, its end
// included. It does not wait and takes nothing.
func readable(fd uintptr) bool {
	var b [1]byte
	_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return !errors.Is(err, syscall.EAGAIN)
}
