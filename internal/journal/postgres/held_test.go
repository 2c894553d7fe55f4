package postgres

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/pg/pgtest"
)

// watched is a journal whose clock is the test's, and that does not look by itself.
type watched struct {
	*Journal
	mu       sync.Mutex
	now      time.Time
	registry *prometheus.Registry
	log      bytes.Buffer
}

func watch(t *testing.T, url string) *watched {
	t.Helper()
	w := &watched{now: time.Unix(1_800_000_000, 0), registry: prometheus.NewRegistry()}
	var err error
	w.Journal, err = Open(context.Background(), url, Options{Logger: slog.New(slog.NewTextHandler(&w.log, nil)), Registerer: w.registry, Now: func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	w.stopWatching()
	return w
}

// look looks after some time; it returns the metric and the only warning.
func (w *watched) look(t *testing.T, after time.Duration) (seconds float64, warning string) {
	t.Helper()
	w.mu.Lock()
	w.now = w.now.Add(after)
	w.mu.Unlock()
	if err := w.lookHeld(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped, warnings := w.Trouble()
	if stopped != "" || len(warnings) > 1 {
		t.Fatalf("trouble %q, %q", stopped, warnings)
	}
	return metric(t, w.registry, "skein_journal_position_held_seconds"), strings.Join(warnings, "")
}

// metric is the value of a gauge or counter without labels.
func metric(t *testing.T, r *prometheus.Registry, name string) float64 {
	t.Helper()
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.GetName() == name {
			one := m.GetMetric()[0]
			return one.GetGauge().GetValue() + one.GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func own(t *testing.T, settings map[string]string) (server, url string) {
	t.Helper()
	s, err := pgtest.Start(t.TempDir(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	return s.URL(), pgtest.On(t, s.URL())
}

// Somebody left a transaction with an id open, in the same database or in another
// one of the server, or prepared one and forgot it: no position passes what is
// stored from then on. A metric says for how long, readiness and log say who, and
// all end with it. Who only reads, or writes and holds nothing back, is not told.
func TestPositionHeld(t *testing.T) {
	server, url := own(t, map[string]string{"max_prepared_transactions": "1"})
	prepare := func(t *testing.T) func() {
		pgtest.Exec(t, url, "CREATE TABLE IF NOT EXISTS foreigner (n int)")
		pgtest.Exec(t, url, "BEGIN; INSERT INTO foreigner VALUES (1); PREPARE TRANSACTION 'forgotten'")
		return func() { pgtest.Exec(t, url, "ROLLBACK PREPARED 'forgotten'") }
	}
	for n, test := range []struct {
		name string
		hold func(t *testing.T) (let func())
		by   []string
	}{
		{"the same database", func(t *testing.T) func() { return holding(t, url, "SELECT pg_current_xact_id()") }, []string{"psql", "pid ", "idle in transaction"}},
		{"another database", func(t *testing.T) func() { return holding(t, server, "SELECT pg_current_xact_id()") }, []string{"psql", "database postgres"}},
		{"prepared", prepare, []string{"prepared transaction 'forgotten'"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := watch(t, url)
			if s, warning := w.look(t, time.Minute); s != 0 || warning != "" {
				t.Fatalf("held for %v s by nobody: %q", s, warning)
			}
			let := test.hold(t)
			store(t, w.Journal, message("grp:g", "u", 10*n+1))
			before, err := w.told(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s, warning := w.look(t, time.Minute); s != 0 || warning != "" {
				t.Errorf("at first %v s, %q", s, warning)
			}
			store(t, w.Journal, message("grp:g", "u", 10*n+2))
			s, warning := w.look(t, 30*time.Second)
			if s != 30 {
				t.Errorf("held for %v s, want 30", s)
			}
			for _, by := range append(test.by, "30s") {
				if !strings.Contains(warning, by) {
					t.Errorf("%q does not say %q", warning, by)
				}
				if by != "30s" && !strings.Contains(strings.ReplaceAll(w.log.String(), `\"`, `"`), by) {
					t.Errorf("the log does not say %q: %s", by, &w.log)
				}
			}
			if after, err := w.told(t.Context()); err != nil || after.Pos > before.Pos {
				t.Errorf("it did hold nothing: %d, %d, %v", before.Pos, after.Pos, err)
			}
			let()
			released(t, w)
			if !strings.Contains(w.log.String(), "no longer held") {
				t.Errorf("the log does not tell the end: %s", &w.log)
			}
		})
	}
	t.Run("who reads", func(t *testing.T) {
		w := watch(t, url)
		defer holding(t, url, "SELECT count(*) FROM journal_entries")()
		for k := range 3 {
			store(t, w.Journal, message("grp:r", "u", k+1))
			if s, warning := w.look(t, time.Minute); s != 0 || warning != "" {
				t.Errorf("held for %v s: %q", s, warning)
			}
		}
	})
}

// released looks until the position is free: a session takes a moment to end.
func released(t *testing.T, w *watched) {
	t.Helper()
	for range 500 {
		if s, warning := w.look(t, 0); s == 0 && warning == "" {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatal("still held long after its end")
}

// Two who hold the position one after the other are told as two: what is told is
// for how long one transaction has lasted.
func TestPositionHeldByTurns(t *testing.T) {
	_, url := own(t, nil)
	w := watch(t, url)
	let := holding(t, url, "SELECT pg_current_xact_id()")
	next := holding(t, url, "SELECT pg_current_xact_id()")
	defer next()
	store(t, w.Journal, message("grp:g", "u", 1))
	w.look(t, 0)
	if s, _ := w.look(t, time.Minute); s != 60 {
		t.Errorf("held for %v s, want 60", s)
	}
	let()
	for range 500 {
		if s, _ := w.look(t, 0); s == 0 {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	if s, warning := w.look(t, 5*time.Second); s != 5 || warning != "" {
		t.Errorf("the second one: %v s, %q, want 5 and nothing yet", s, warning)
	}
}

// The journal looks by itself, and stops with Close.
func TestPositionHeldIsWatched(t *testing.T) {
	_, url := own(t, nil)
	registry := prometheus.NewRegistry()
	j, err := Open(context.Background(), url, Options{Logger: quiet(), Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	defer holding(t, url, "SELECT pg_current_xact_id()")()
	store(t, j, message("grp:g", "u", 1))
	deadline := time.After(30 * time.Second)
	for metric(t, registry, "skein_journal_position_held_seconds") == 0 {
		select {
		case <-deadline:
			t.Fatal("nobody looked")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
