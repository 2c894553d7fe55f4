package app

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/supervise"
)

// Supervisor is who started the server and wants to know how it is (supervise.Supervisor).
type Supervisor interface {
	// Tell sends lines as sd_notify(3) has them.
	Tell(lines ...string) error
	// Watchdog is how often a sign of life is wanted at least; 0: never.
	Watchdog() time.Duration
}

// tell tells the supervisor. That it cannot be reached stops nothing: it will act as it
// thinks right.
func (a *App) tell(lines ...string) {
	if a.supervisor == nil {
		return
	}
	if err := a.supervisor.Tell(lines...); err != nil {
		a.log.Warn("the supervisor was not told", "what", strings.Join(lines, " "), "err", err)
	}
}

// startWatchdog gives signs of life until stop. They tell that the process runs, and that
// its gateway's clock goes on, by which all connections are judged; not that the database
// answers, which a restart would not change.
func (a *App) startWatchdog() (stop func()) {
	if a.supervisor == nil || a.supervisor.Watchdog() <= 0 {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	every := time.NewTicker(max(a.supervisor.Watchdog()/3, time.Millisecond))
	go func() {
		defer close(ended)
		defer every.Stop()
		last := int64(-1)
		for {
			select {
			case <-done:
				return
			case <-every.C:
			}
			if a.gateway != nil {
				now := a.gateway.Ticks()
				if now == last && a.supervisor.Watchdog() > time.Second { // its tick is 250 ms
					continue
				}
				last = now
			}
			a.tell(supervise.Alive)
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// socketNames are the supervisor's names of the ports, by the settings whose place they take.
var socketNames = map[string]string{"http.listen": "http", "admin.listen": "admin", "tls.redirect_listen": "redirect"}

// socket takes a port from those that the supervisor opened; nil: there is none for it. One
// alone that has no name of these is the public port.
func (a *App) socket(key string) (net.Listener, error) {
	name := socketNames[key]
	l := a.sockets[name]
	if l == nil && name == "http" && len(a.sockets) == 1 {
		for other := range a.sockets {
			if other != "admin" && other != "redirect" {
				name, l = other, a.sockets[other]
			}
		}
	}
	if l == nil {
		return nil, nil
	}
	if _, ok := l.(*net.TCPListener); !ok {
		return nil, fmt.Errorf("the supervisor's socket %s is no TCP port", name)
	}
	delete(a.sockets, name)
	return l, nil
}

// unusedSockets refuses ports that nothing would answer at.
func (a *App) unusedSockets() error {
	var errs []error
	for name := range a.sockets {
		errs = append(errs, fmt.Errorf("the supervisor's socket %s is for no port of these settings: name them http, admin or redirect (FileDescriptorName=)", name))
	}
	return errors.Join(errs...)
}

func (a *App) closeSockets() {
	for _, l := range a.sockets {
		l.Close()
	}
}
