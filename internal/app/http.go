package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// httpServer is an HTTP port that was bound before anything is served.
type httpServer struct {
	net.Listener
	server *http.Server
}

func listenHTTP(key, addr string, h http.Handler, t *tls.Config, log *slog.Logger) (*httpServer, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s = %q: %w", key, addr, err)
	}
	if t != nil {
		t = t.Clone()
		t.NextProtos = []string{"http/1.1"} // a WebSocket takes over an HTTP/1.1 connection
		l = tls.NewListener(l, t)
	}
	return &httpServer{l, &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}, nil
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

// unready tells what keeps this process from taking traffic, "" if nothing does.
func (a *App) unready(ctx context.Context) string {
	if a.directory != nil {
		if err := a.directory.Ping(ctx); err != nil {
			return "the directory does not answer"
		}
	}
	if a.node != nil && !a.node.Ready() {
		return "no logic node is there"
	}
	return ""
}

// adminHandler serves the private port.
func (a *App) adminHandler() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, reason string) {
		w.Header().Set("Content-Type", "application/json")
		body := struct {
			Ready   bool     `json:"ready"`
			Reasons []string `json:"reasons,omitempty"`
		}{Ready: reason == ""}
		if reason != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			body.Reasons = []string{reason}
		}
		_ = json.NewEncoder(w).Encode(body) // a client that went away
	}
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"live":true}`)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		reason := a.state.reason()
		if reason == "" {
			reason = a.unready(r.Context())
		}
		answer(w, reason)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
