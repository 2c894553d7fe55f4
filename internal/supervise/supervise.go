// Package supervise speaks to the supervisor that started the process, by systemd's
// protocol: sockets that it opened (sd_listen_fds(3)), and what it is told of the process's
// life (sd_notify(3)). It is all in the environment: without it nothing here does anything.
//
// Goroutines and locks: none. What was taken from the environment is removed from it, so
// that no child takes it for its own.
package supervise

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// firstSocket is the descriptor of the first socket.
const firstSocket = 3

// Sockets are the listening sockets that the supervisor opened, by the names that it has for
// them; those without one are named "1", "2" … by their place. nil: there are none.
func Sockets() (map[string]net.Listener, error) {
	pid, fds, names := take("LISTEN_PID"), take("LISTEN_FDS"), take("LISTEN_FDNAMES")
	if pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(fds)
	if err != nil || n < 1 || n > 64 {
		return nil, fmt.Errorf("LISTEN_FDS is %q", fds)
	}
	named := strings.Split(names, ":")
	all := make(map[string]net.Listener, n)
	for i := range n {
		name := strconv.Itoa(i + 1)
		if i < len(named) && named[i] != "" && named[i] != "unknown" {
			name = named[i]
		}
		f := os.NewFile(uintptr(firstSocket+i), name)
		l, err := net.FileListener(f)
		_ = f.Close() // the listener has a copy
		if err != nil {
			return nil, fmt.Errorf("the supervisor's socket %s: %w", name, err)
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("the supervisor has two sockets that are named %s", name)
		}
		all[name] = l
	}
	return all, nil
}

func take(name string) string {
	v := os.Getenv(name)
	_ = os.Unsetenv(name) // it has a name
	return v
}

// Supervisor is told of the process's life. A nil one is nobody.
type Supervisor struct {
	address string
	every   time.Duration
}

// Find finds the supervisor in the environment; nil: there is none.
func Find() *Supervisor {
	address, usec, pid := take("NOTIFY_SOCKET"), take("WATCHDOG_USEC"), take("WATCHDOG_PID")
	if address == "" {
		return nil
	}
	s := &Supervisor{address: address}
	if n, err := strconv.ParseInt(usec, 10, 64); err == nil && n > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		s.every = time.Duration(n) * time.Microsecond
	}
	return s
}

// Watchdog is how often the supervisor wants a sign of life at least; 0: never.
func (s *Supervisor) Watchdog() time.Duration {
	if s == nil {
		return 0
	}
	return s.every
}

// Tell sends lines as sd_notify(3) has them.
func (s *Supervisor) Tell(lines ...string) error {
	if s == nil {
		return nil
	}
	name := s.address
	if abstract, ok := strings.CutPrefix(name, "@"); ok {
		name = "\x00" + abstract
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell the supervisor: %w", err)
	}
	defer c.Close()
	// A supervisor that does not listen must not hold the server up.
	if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return fmt.Errorf("tell the supervisor: %w", err)
	}
	if _, err := c.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("tell the supervisor: %w", err)
	}
	return nil
}

// What Tell is told.
const (
	Ready     = "READY=1"
	Reloading = "RELOADING=1"
	Stopping  = "STOPPING=1"
	Alive     = "WATCHDOG=1"
)

// Status is what the supervisor shows of the process.
func Status(text string) string { return "STATUS=" + text }
