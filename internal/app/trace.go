package app

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/trace"
)

// Traced is what GET /trace on the private port answers: a report, or why there is none.
type Traced struct {
	*trace.Report
	Code  string `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}

// serveTrace tells whoever has the admin key who has a message (?message=).
func (a *App) serveTrace(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, t Traced) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(t) // a client that went away
	}
	if a.logic == nil {
		answer(http.StatusNotImplemented, Traced{Code: string(im.CodeUnimplemented), Error: "this node has no store: ask one with the role logic"})
		return
	}
	if !a.hasAdminKey(r) {
		answer(http.StatusUnauthorized, Traced{Code: string(im.CodeUnauthenticated), Error: "the admin key is wanted"})
		return
	}
	s := trace.Stores{Journal: a.journal, Directory: a.directory, Now: a.now, Floor: a.floorOf}
	if a.gateway != nil {
		s.Online = a.gateway.Online
	}
	report, err := s.Message(r.Context(), r.URL.Query().Get("message"))
	if err != nil {
		e := im.Public(err)
		if e.Code == im.CodeInternal {
			a.log.Error("a message could not be traced", "err", err)
		}
		answer(e.Code.Info().HTTP, Traced{Code: string(e.Code), Error: e.Message})
		return
	}
	if a.node != nil {
		report.Notes = append(report.Notes, "who is connected is known of this node alone")
	}
	answer(http.StatusOK, Traced{Report: report})
}

// floorOf is up to where a conversation is gone for all.
func (a *App) floorOf(ctx context.Context, c im.ConversationID) (uint64, error) {
	all, err := a.directory.Retention(ctx, []im.ConversationID{c})
	return all[c].Floor, err
}
