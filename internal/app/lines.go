package app

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The lines of a process's life, which docs/operations.md lists: each message is said here
// alone, with these attributes in this order.

func (a *App) logStarting(version string) {
	store := "none"
	switch {
	case a.cfg.Store != "":
		store = "postgres"
	case a.cfg.Is("logic"):
		store = "embedded"
	}
	a.log.Info("starting", "version", version, "go", runtime.Version(), "pid", os.Getpid(), "data", a.cfg.Data, "store", store, "roles", strings.Join(a.cfg.Roles, ","), "node", a.cfg.Node.Name)
}

// logListening says what can be reached where: what is the setting.
func (a *App) logListening(what, scheme, address string) {
	a.log.Info("listening", "what", what, "scheme", scheme, "address", address)
}

func (a *App) logReady() {
	a.log.Info("ready", "took", time.Since(a.began).String(), "url", a.URL())
}

// logStopping says why the server stops; what it returns says how long that took, and how
// it ended.
func (a *App) logStopping(ctx context.Context, err error) (stopped func(error)) {
	began, why := time.Now(), "asked to"
	switch cause := context.Cause(ctx); {
	case err != nil:
		why = err.Error()
	case cause != nil && cause != context.Canceled:
		why = cause.Error() // which signal
	}
	a.log.Info("stopping", "why", why)
	return func(err error) {
		if err != nil {
			a.log.Error("stopped", "took", time.Since(began).String(), "err", err)
			return
		}
		a.log.Info("stopped", "took", time.Since(began).String())
	}
}

// LogNotStarted says why a server that was to start did not: what Open returned, or
// what came before it.
func LogNotStarted(log *slog.Logger, err error) { log.Error("not started", "err", err) }

// slowCall is how long a call takes at least that has a line in the log; 0: none has.
func (a *App) slowCall() time.Duration { return time.Duration(a.slow.Load()) }

// buildInfo is a metric that is always 1: its labels name the program.
func buildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "skein_build_info", Help: "1, with the version of the program and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}
