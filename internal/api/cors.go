package api

import (
	"net/http"
	"strings"

	"github.com/skein-im/skein/wire"
)

// cors answers preflights and marks answers for configured origins; it reports
// whether the request is answered. A request of another origin is served: it
// carries its token itself, and the browser keeps the answer from the page.
func (d *door) cors(w http.ResponseWriter, r *http.Request) bool {
	if len(d.o.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !wire.OriginMatches(origin, d.o.Origins) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Location, Upload-Offset, Upload-Length, Upload-Expires, Tus-Resumable")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	methods, headers := "POST", "Authorization, Content-Type, "+IdempotencyHeader
	if strings.HasPrefix(r.URL.Path, mediaPath) {
		methods = "GET, HEAD, POST, PATCH, DELETE"
		headers = "Authorization, Content-Type, Range, Tus-Resumable, Upload-Length, Upload-Metadata, Upload-Offset, Upload-Checksum, X-HTTP-Method-Override"
	}
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", headers)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
