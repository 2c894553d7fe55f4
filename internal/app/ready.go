package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// readiness is what /readyz answers.
type readiness struct {
	Ready bool `json:"ready"`
	// Reasons are why this process should get no traffic.
	Reasons []string `json:"reasons,omitempty"`
	// Warnings counts what is wrong and no reason to go elsewhere: it would be the
	// same there. Details names it, for ?verbose.
	Warnings int      `json:"warnings,omitempty"`
	Details  []string `json:"details,omitempty"`
}

// toldBackFor is how long is told that the history went back.
const toldBackFor = 24 * time.Hour

// troubled is a store that tells what it cannot do: stopped is why it stores
// nothing, "" if that is not so; warnings name what single things cannot be done.
type troubled interface {
	Trouble() (stopped string, warnings []string)
}

// readiness looks at what this process stands on.
func (a *App) readiness(ctx context.Context) (r readiness) {
	if reason := a.state.reason(); reason != "" {
		r.Reasons = append(r.Reasons, reason)
		return r
	}
	if a.directory != nil {
		if err := a.directory.Ping(ctx); err != nil {
			r.Reasons = append(r.Reasons, "the directory does not answer")
		}
		// After the ping, which looks at it.
		warning, shut := a.directory.Schema()
		if shut != nil {
			r.Reasons = append(r.Reasons, shut.Error())
		}
		if warning != "" {
			r.Details = append(r.Details, warning)
		}
	}
	if store, ok := a.journal.(troubled); ok {
		stopped, warnings := store.Trouble()
		if stopped != "" {
			r.Reasons = append(r.Reasons, stopped)
		}
		r.Details = append(r.Details, warnings...)
	}
	if a.node != nil {
		if !a.node.Ready() {
			r.Reasons = append(r.Reasons, "no logic node is there")
		}
		r.Details = append(r.Details, a.node.Warnings()...)
	}
	if back := a.history.last.Load(); back != nil && time.Since(back.at) < toldBackFor {
		r.Details = append(r.Details, fmt.Sprintf("at %s the database turned out to be without what had been acknowledged: %s; clients were told", back.at.UTC().Format(time.RFC3339), back.why))
	}
	r.Warnings = len(r.Details)
	r.Ready = len(r.Reasons) == 0
	return r
}

func (a *App) readyz(w http.ResponseWriter, req *http.Request) {
	r := a.readiness(req.Context())
	if !req.URL.Query().Has("verbose") {
		r.Details = nil
	}
	w.Header().Set("Content-Type", "application/json")
	if !r.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(r) // a client that went away
}
