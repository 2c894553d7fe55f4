//go:build !unix

package netio

import "net"

// scarce: this system has no small number of descriptors.
func scarce(net.Conn) bool { return false }

// Descriptors: not known.
func Descriptors() int { return 0 }
