// Package server runs Skein inside another Go program, with transports and
// codecs of its own if need be. `skein serve` does the same from the command
// line.
//
//	s, err := server.Open(ctx, server.Options{Settings: map[string]string{"data": "/var/lib/chat"}})
//	if err != nil { … }
//	err = s.Serve(ctx) // until ctx ends; drains, then returns nil
package server

import (
	"context"
	"log/slog"
	"os"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/wire"
)

// Options say how the server differs from the defaults. The zero value is good.
type Options struct {
	// ConfigFile is a TOML file; "" for none. The environment (SKEIN_…) is read as well.
	ConfigFile string
	// Settings by key, as in `skein config doc`; lists are separated by commas.
	// They win over the file and the environment.
	Settings map[string]string
	// Logger gets what the operator should know; nil: nothing.
	Logger *slog.Logger
	// Transports adds URL schemes for the setting `listeners`.
	Transports map[string]wire.Transport
	// Codecs are offered beside skein.v1.pb and skein.v1.json.
	Codecs []wire.Codec
	// AcceptLoss opens a journal that is known to have lost acknowledged entries
	// as a new timeline. Clients then sync anew.
	AcceptLoss bool
	// NewKeys begins with other keys than the store was used with; without it they
	// are refused. What only the keys of before could open goes.
	NewKeys bool
}

// Server is a server process's worth of Skein.
type Server struct{ app *app.App }

// Open opens the stores and binds the ports; nothing is served yet. The error
// names the setting, file or port that is wrong.
func Open(ctx context.Context, o Options) (*Server, error) {
	cfg, err := config.Load(o.ConfigFile, os.Environ())
	if err != nil {
		return nil, err
	}
	for key, value := range o.Settings {
		if err := cfg.Set(key, value); err != nil {
			return nil, err
		}
	}
	a, err := app.Open(ctx, cfg, app.Options{
		Logger: o.Logger, Transports: o.Transports, Codecs: o.Codecs, AcceptLoss: o.AcceptLoss, NewKeys: o.NewKeys,
	})
	if err != nil {
		return nil, err
	}
	return &Server{a}, nil
}

// Serve runs the server until ctx ends; then it sends clients away, flushes
// and returns nil. Another error means that it had to stop. Call it once.
func (s *Server) Serve(ctx context.Context) error { return s.app.Serve(ctx) }

// URL is the public HTTP address; WebSocket clients connect to it with ws:// and /ws.
func (s *Server) URL() string { return s.app.URL() }

// AdminURL is the private port's address, "" when it is off.
func (s *Server) AdminURL() string { return s.app.AdminURL() }

// ListenURLs are the further listeners, with their real ports.
func (s *Server) ListenURLs() []string { return s.app.ListenURLs() }

// ClaimURL is the one-time link that makes the first administrator, "" when
// there is one.
func (s *Server) ClaimURL() string { return s.app.ClaimURL() }
