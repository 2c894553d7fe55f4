package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// RequestHeader has the id of a request: the caller's, if it may be one, otherwise one that
// the door makes. The answer has it as well, and every line of the log about the request, on
// every node that it came to.
const RequestHeader = "X-Request-Id"

// maxRequestID bounds what a caller may call a request.
const maxRequestID = 64

// withID gives a request its id.
func withID(w http.ResponseWriter, r *http.Request) *http.Request {
	id := r.Header.Get(RequestHeader)
	if !isRequestID(id) {
		var b [6]byte
		_, _ = rand.Read(b[:]) // never fails
		id = hex.EncodeToString(b[:])
	}
	w.Header().Set(RequestHeader, id)
	return r.WithContext(im.WithRequest(r.Context(), id))
}

// isRequestID takes what can stand in a line of a log as it is.
func isRequestID(id string) bool {
	for _, c := range []byte(id) {
		if c != '-' && c != '_' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}

// logSlow writes the line of a call that took long.
func logSlow(ctx context.Context, log *slog.Logger, slow func() time.Duration, door, method string, took time.Duration, code im.Code, user im.UserID) {
	if slow == nil {
		return
	}
	if least := slow(); least <= 0 || took < least {
		return
	}
	log.Warn("slow call", "method", method, "took", took.String(), "code", string(code), "door", door, "user", string(user), "request", im.RequestOf(ctx))
}
