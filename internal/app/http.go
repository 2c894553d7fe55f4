package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire/netio"
)

// httpServer is an HTTP port that was bound before anything is served.
type httpServer struct {
	net.Listener
	server *http.Server
}

// listenHTTP binds the port of a setting, or takes it from the supervisor, who has it under
// the first word of the setting's name. Its connections are bounded by open, if that is not
// nil.
func (a *App) listenHTTP(key, addr string, h http.Handler, t *tls.Config, open *limits.Sockets) (*httpServer, error) {
	log := a.log
	l, err := a.socket(key)
	if l == nil && err == nil {
		l, err = net.Listen("tcp", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("%s = %q: %w", key, addr, err)
	}
	l = netio.Listen(l, log)
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if open != nil {
		l, server.ConnState = open.Listener(l), open.State
	}
	scheme := "http"
	if t != nil {
		scheme = "https"
		l = tls.NewListener(l, t)
	}
	a.logListening(key, scheme, l.Addr().String())
	return &httpServer{l, server}, nil
}

func (s *httpServer) addr() string { return s.Listener.Addr().String() }
func (s *httpServer) serve() error { return s.server.Serve(s.Listener) }

// close lets requests under way finish for a moment.
func (s *httpServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		s.server.Close()
	}
	s.Listener.Close()
}

// state is what /readyz tells.
type state struct{ v atomic.Int32 }

const (
	stateStarting int32 = iota
	stateReady
	stateDraining
	stateFailed
)

func (s *state) set(v int32) { s.v.Store(v) }

func (s *state) reason() string {
	return [...]string{"starting", "", "draining", "the journal failed"}[s.v.Load()]
}

// adminHandler serves the private port.
func (a *App) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez)
	mux.HandleFunc("GET /readyz", a.readyz)
	mux.HandleFunc("POST /snapshot", a.serveSnapshot)
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /trace", a.serveTrace)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	new(sampling).register(mux)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

func livez(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintln(w, `{"live":true}`)
}
