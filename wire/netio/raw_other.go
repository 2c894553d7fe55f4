//go:build !unix

package netio

// openRaw: on this system sockets are used through net.Conn alone.
func (s *Socket) openRaw() {}
