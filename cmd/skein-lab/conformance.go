package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/cmd/internal/command"
	"github.com/skein-im/skein/internal/bench"
	"github.com/skein-im/skein/internal/conformance"
)

type conformanceCmd struct {
	Server   string        `help:"The server to try: the address of its public port, http:// or https://." placeholder:"URL"`
	TCP      string        `name:"tcp" help:"Its stream listener: host:port, tcp://… or tls://…; without it those cases are left out." placeholder:"ADDR"`
	AdminKey string        `env:"SKEIN_ADMIN_KEY" help:"An administrator's key, to make users; without one they are registered." placeholder:"KEY"`
	KeyFile  string        `help:"File of that key." placeholder:"FILE"`
	Has      []string      `help:"What the server's configuration is, where it is not the default: device_policy=all; may be repeated." placeholder:"NAME=VALUE"`
	All      bool          `help:"Instead of --server: start Skein as each case needs it, so that none is left out."`
	Skein    skeinPath     `help:"With --all: the program to start; default: skein beside this program, or on PATH." placeholder:"PATH"`
	Only     string        `name:"run" help:"The cases whose name this regular expression matches." placeholder:"REGEXP"`
	Timeout  time.Duration `default:"2m" help:"How long a case may take."`
	Parallel int           `default:"8" help:"Cases that are played at a time."`
	List     bool          `help:"Tell what there is to play, and what it proves."`
	JSON     bool          `name:"json" help:"Print one JSON object on stdout."`
}

func (c *conformanceCmd) Run(ctx context.Context) error {
	o := conformance.Options{Timeout: c.Timeout, Parallel: c.Parallel, Progress: os.Stderr}
	if c.Only != "" {
		var err error
		if o.Only, err = regexp.Compile(c.Only); err != nil {
			return command.UsageError("--run: " + err.Error())
		}
	}
	switch {
	case c.List:
		return list()
	case c.All == (c.Server != ""):
		return command.UsageError("conformance: either --server URL or --all")
	case c.Timeout <= 0 || c.Parallel < 1:
		return command.UsageError("conformance: --timeout and --parallel are positive")
	case c.All:
		program, err := c.Skein.find()
		if err != nil {
			return err
		}
		l := &launched{program: program}
		defer l.stop()
		o.Servers = conformance.Starting(l.start)
	default:
		s, err := c.server()
		if err != nil {
			return err
		}
		o.Servers = conformance.Running(s)
	}
	r, err := conformance.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("conformance: %w", err)
	}
	err = show(c.JSON, r)
	if broken := r.Broken(); broken != "" {
		return errors.Join(err, errors.New(broken))
	}
	return err
}

func list() error {
	all, err := conformance.Cases()
	if err != nil {
		return err
	}
	for _, x := range all {
		fmt.Printf("%s\n\t%s\n", x.Name, x.Proves)
		if len(x.Needs) > 0 {
			fmt.Printf("\tneeds %s\n", strings.Join(x.Needs, ", "))
		}
	}
	return nil
}

// server is the one that the flags describe.
func (c *conformanceCmd) server() (*conformance.Server, error) {
	u, err := url.Parse(c.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, command.UsageError("--server: want http://host:port or https://…, not " + c.Server)
	}
	s := &conformance.Server{URL: strings.TrimRight(c.Server, "/"), Key: c.AdminKey}
	if c.TCP != "" {
		if s.TCP = c.TCP; !strings.Contains(c.TCP, "://") {
			s.TCP = "tcp://" + c.TCP
		}
		if u, err := url.Parse(s.TCP); err != nil || u.Port() == "" || u.Scheme != "tcp" && u.Scheme != "tls" {
			return nil, command.UsageError("--tcp: want host:port, tcp://host:port or tls://host:port, not " + c.TCP)
		}
	}
	if s.Has, err = conformance.ParseNeeds(c.Has); err != nil {
		return nil, command.UsageError("--has: " + err.Error())
	}
	if c.KeyFile != "" {
		raw, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return nil, err
		}
		s.Key = strings.TrimSpace(string(raw))
	}
	return s, nil
}

// launched are the servers that were started for cases.
type launched struct {
	program string
	mu      sync.Mutex
	all     []*bench.Server
}

// starts is how often a server is started that does not come up.
const starts = 4

func (l *launched) start(ctx context.Context, _ string, n conformance.Needs) (*conformance.Server, error) {
	// The load generators' default of the first is another. A transcript that takes long on a
	// busy machine has no further entries of a message that grows.
	set := append([]string{"accounts.dm_policy=contacts", "messaging.stream_store=30s"}, n.Settings()...)
	b, err := bench.StartServer(ctx, l.program, io.Discard, set...)
	for try := 1; err != nil && try < starts; try++ { // somebody took the port between
		b, err = bench.StartServer(ctx, l.program, os.Stderr, set...)
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.all = append(l.all, b)
	l.mu.Unlock()
	s := &conformance.Server{Own: true, Stop: b.Terminate, Ended: func() error { return b.Wait(ctx) }}
	s.URL, s.TCP, s.Key = b.Addresses()
	return s, nil
}

func (l *launched) stop() {
	for _, s := range l.all {
		s.Stop()
	}
}
