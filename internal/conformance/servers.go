package conformance

import (
	"context"
	"errors"
	"strings"
	"sync"
)

// NotHere is why a case cannot be played.
type NotHere string

func (e NotHere) Error() string { return string(e) }

// Servers gives cases the servers they need.
type Servers struct {
	running *Server
	start   func(ctx context.Context, name string, n Needs) (*Server, error)

	mu sync.Mutex
	by map[string]*started
}

// started is a server that cases share; its lock is held while it begins.
type started struct {
	mu     sync.Mutex
	server *Server
	err    error
}

// Running has all cases played against one server; those that need another one are
// left out.
func Running(s *Server) *Servers { return &Servers{running: s} }

// Starting has a server started for each configuration that a case needs. name
// tells them apart; start is called once for each name. Who calls this ends them
// after Run.
func Starting(start func(ctx context.Context, name string, n Needs) (*Server, error)) *Servers {
	return &Servers{start: start, by: map[string]*started{}}
}

// get returns a server for a case; NotHere if there is none.
func (s *Servers) get(ctx context.Context, c string, n Needs) (*Server, error) {
	if s.running != nil {
		if why := n.lacks(s.running.has()); why != "" {
			return nil, NotHere(why)
		}
		return s.running, nil
	}
	name := strings.Join(n.Settings(), " ")
	if n[NeedStop] != "" || n[NeedPasswords] != "" {
		name = c + " " + name // it has the server to itself
	}
	s.mu.Lock()
	one := s.by[name]
	if one == nil {
		one = &started{}
		s.by[name] = one
	}
	s.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.server == nil && one.err == nil {
		one.server, one.err = s.start(ctx, name, n)
	}
	return one.server, one.err
}

// notHere tells the reason if that is why.
func notHere(err error) (string, bool) {
	var why NotHere
	ok := errors.As(err, &why)
	return string(why), ok
}
