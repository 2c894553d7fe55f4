package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/skein-im/skein/cmd/internal/command"
	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/logs"
	"github.com/skein-im/skein/internal/supervise"
)

// settings are the flags that change the configuration, shared by the commands
// that read it.
type settings struct {
	File    string   `name:"config" short:"c" help:"TOML file; see skein config doc." type:"path" env:"SKEIN_CONFIG"`
	Data    string   `help:"Directory of everything that is kept (default ./data)." placeholder:"DIR"`
	HTTP    string   `name:"http" help:"Address of the public port (default 127.0.0.1:8080)." placeholder:"ADDR"`
	Admin   string   `help:"Address of the private port (default 127.0.0.1:8081)." placeholder:"ADDR"`
	Roles   []string `help:"What this process does: gateway, logic, api or all (default all)." placeholder:"ROLE"`
	Store   string   `help:"postgres://… to share a database with other nodes (default: embedded, in --data)." placeholder:"URL"`
	Cluster []string `help:"Other nodes, host:port, or a NATS server's URL." placeholder:"ADDR"`
	Listen  []string `help:"Further listener, e.g. tcp://127.0.0.1:7000; may be repeated." placeholder:"URL"`
	Set     []string `help:"Any setting by its key; may be repeated." placeholder:"KEY=VALUE"`
}

// load reads the configuration and refuses what cannot work.
func (s *settings) load() (config.Config, error) {
	c, err := s.read()
	return c, errors.Join(err, c.Check())
}

// read reads the configuration. The error names everything that cannot be taken; what can
// is in it also then.
func (s *settings) read() (config.Config, error) {
	c, err := config.Load(s.File, os.Environ())
	errs := []error{err}
	if s.Data != "" {
		c.Data = s.Data
	}
	if s.HTTP != "" {
		c.HTTP.Listen = s.HTTP
	}
	if s.Admin != "" {
		c.Admin.Listen = s.Admin
	}
	if len(s.Roles) > 0 {
		c.Roles = s.Roles
	}
	if s.Store != "" {
		c.Store = s.Store
	}
	if len(s.Cluster) > 0 {
		c.Cluster = s.Cluster
	}
	c.Listeners = append(c.Listeners, s.Listen...)
	for _, kv := range s.Set {
		key, value, ok := strings.Cut(kv, "=")
		if !ok {
			errs = append(errs, fmt.Errorf("--set %s: want KEY=VALUE", kv))
			continue
		}
		if err := c.Set(key, value); err != nil {
			errs = append(errs, fmt.Errorf("--set: %w", err))
		}
	}
	return c, errors.Join(errs...)
}

type serveCmd struct {
	settings   `embed:""`
	AcceptLoss bool `help:"Open a journal that lost acknowledged messages, as a new timeline. Restore a backup instead if you have one."`
	Existing   bool `help:"Refuse to start where there is no embedded store yet, instead of making an empty one: for a server that has one, whose disk may not be mounted or whose restore may have failed."`
	NewKeys    bool `help:"Begin with other keys than the store was used with (keys/admin.key, or node.secret). Push subscriptions and authenticator apps of before go: put the keys of before back instead if you have them."`
}

// Run serves until it is told to stop. Where the log is for programs, why the server did
// not start, or had to stop, is a line of it and nothing else.
func (s *serveCmd) Run(ctx context.Context) error {
	cfg, err := s.read()
	if err != nil { // all that is wrong is told at once; otherwise app.Open looks
		err = errors.Join(err, app.Check(&cfg, app.Options{}))
	}
	log, level := newLogger(cfg.Log)
	told := func(err error) error {
		if err == nil || asText(cfg.Log) {
			return err
		}
		return command.ToldError{Err: err}
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // from now on it does not kill
	var a *app.App
	if err == nil {
		a, err = s.open(ctx, cfg, app.Options{Logger: log, Level: level, Version: version, AcceptLoss: s.AcceptLoss, Existing: s.Existing, NewKeys: s.NewKeys})
	}
	if err != nil {
		if !asText(cfg.Log) {
			app.LogNotStarted(log, err)
		}
		return told(err)
	}
	s.announce(a)
	defer s.reloadOn(hangup, a)()
	return told(a.Serve(ctx)) // its last line says how it ended
}

// open opens the server with what a supervisor has for it.
func (s *serveCmd) open(ctx context.Context, cfg config.Config, o app.Options) (_ *app.App, err error) {
	if o.Sockets, err = supervise.Sockets(); err != nil {
		return nil, err
	}
	if by := supervise.Find(); by != nil {
		o.Supervisor = by
	}
	return app.Open(ctx, cfg, o)
}

// reloadOn has a signal read the settings anew, until stop. The server's log says what came
// of it.
func (s *serveCmd) reloadOn(hangup chan os.Signal, a *app.App) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hangup {
			_ = a.Reload(s.load)
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(hangup)
		<-done
	}
}

// announce tells a newcomer where the server is and how to log in.
func (s *serveCmd) announce(a *app.App) {
	fmt.Printf("Skein %s is ready.\n\n", version)
	fmt.Printf("  Open     %s\n", a.URL())
	for _, u := range a.ListenURLs() {
		fmt.Printf("  Listens  %s\n", u)
	}
	if u := a.AdminURL(); u != "" {
		fmt.Printf("  Private  %s/metrics  /readyz\n", u)
	}
	if u := a.ClaimURL(); u != "" {
		fmt.Printf("\nMake yourself the administrator (this link works once):\n  %s\n", u)
	}
	if a.Ownerless() {
		fmt.Printf("\nNobody owns this server yet. Make one of its users the owner:\n  skein user role @NAME owner\n")
	}
	fmt.Printf("\nOr register and chat from a terminal:\n  skein chat --server %s\n\n", a.URL())
}

// newLogger logs to stderr, as text on a terminal and as JSON elsewhere.
func newLogger(c config.Log) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(c.Level)) // checked by config
	return logs.New(os.Stderr, logs.Options{Level: level, Text: asText(c)}), level
}

// asText tells whether people read the log. A format that is none is taken for auto: the
// log says what is wrong with it.
func asText(c config.Log) bool {
	return c.Format == "text" || c.Format != "json" && term.IsTerminal(int(os.Stderr.Fd()))
}

type configCmd struct {
	Print configPrintCmd `cmd:"" help:"Print the settings in effect."`
	Check configCheckCmd `cmd:"" help:"Check the settings, and the certificates that they name; prints nothing when they are good."`
	Doc   configDocCmd   `cmd:"" help:"Print all settings with their defaults and what they do."`
}

type configPrintCmd struct {
	settings `embed:""`
}

func (c *configPrintCmd) Run() error {
	cfg, err := c.load()
	if err != nil {
		return err
	}
	fmt.Print(cfg.Print())
	return nil
}

type configCheckCmd struct {
	settings `embed:""`
}

func (c *configCheckCmd) Run() error {
	cfg, err := c.read()
	errs := []error{err, app.Check(&cfg, app.Options{})}
	for _, k := range app.Certificates(&cfg, time.Now()) {
		switch {
		case k.Over:
			errs = append(errs, errors.New(k.String()))
		case k.Trouble != "":
			fmt.Fprintln(os.Stderr, "warning:", k.String())
		}
	}
	return errors.Join(errs...)
}

type configDocCmd struct{}

func (configDocCmd) Run() error {
	fmt.Print(config.Doc())
	return nil
}

type versionCmd struct{}

func (versionCmd) Run() error {
	fmt.Print("skein ", version)
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Print(" ", info.GoVersion)
	}
	fmt.Println()
	return nil
}
