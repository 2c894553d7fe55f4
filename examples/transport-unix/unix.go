// Package unix is an example of a transport of one's own: Skein over Unix
// domain sockets, for programs on the same machine. It is registered from
// outside, see examples/embedded.
//
// It owns the socket file. All that it has to write itself is how a connection
// comes about: wire.NewStreamListener does the handshake and the framing of
// every byte stream (SPEC §1.1, §1.2). No goroutines and no locks of its own.
package unix

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"

	"github.com/skein-im/skein/wire"
)

// Scheme is what listeners are written with: unix:///run/skein.sock.
const Scheme = "unix"

// Transport opens listeners for URLs like unix:///run/skein.sock. Only
// processes of the same user may connect.
type Transport struct{}

var _ wire.Transport = Transport{}

// Listen makes the socket file; closing the listener removes it. A file that a
// crashed server left behind is replaced, one that somebody serves is not.
func (Transport) Listen(ctx context.Context, u *url.URL, o wire.ListenOptions) (wire.Listener, error) {
	if u.Scheme != Scheme || u.Host != "" || u.Path == "" {
		return nil, fmt.Errorf("listen on %s: want unix:///path/of/the/socket", u)
	}
	if err := removeStale(u.Path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", u, err)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "unix", u.Path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", u, err)
	}
	if err := os.Chmod(u.Path, 0o600); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("listen on %s: %w", u, err)
	}
	return wire.NewStreamListener(ln, o), nil
}

// removeStale removes a socket that nobody answers at.
func removeStale(path string) error {
	st, err := os.Lstat(path)
	if err != nil || st.Mode()&os.ModeSocket == 0 {
		return nil // nothing there, or no socket: listening tells
	}
	nc, err := net.Dial("unix", path)
	if err == nil {
		_ = nc.Close()
		return nil // in use: listening tells
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return os.Remove(path)
	}
	return nil
}
