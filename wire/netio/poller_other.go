//go:build !linux

package netio

// Poller waits for silent sockets where the system has epoll. Here nothing
// parks.
type Poller struct{}

// NewPoller returns a poller with which nothing parks.
func NewPoller() (*Poller, error) { return new(Poller), nil }

// Close does nothing.
func (*Poller) Close() error { return nil }

func (*Poller) park(*Socket, func()) bool { return false }
func (*Poller) unpark(*Socket)            {}
func (*Poller) nudge(*Socket)             {}
func (*Poller) nudged(*Socket) bool       { return false }
