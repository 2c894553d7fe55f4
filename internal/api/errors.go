package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
)

// errMethod is the answer to anything but POST at a method's path. Its status
// is HTTP's own, 405.
var errMethod = im.Errorf(im.CodeUnimplemented, "methods are called with POST")

// statusOf returns the HTTP status of an error: the catalogue's, but for errMethod.
func statusOf(err error) int {
	if errors.Is(err, errMethod) {
		return http.StatusMethodNotAllowed
	}
	return im.CodeOf(err).Info().HTTP
}

// fail answers with an error and logs what is for the log. It returns the code.
func (d *door) fail(w http.ResponseWriter, r *http.Request, method string, status int, err error) im.Code {
	public := d.public(r, method, err)
	h := w.Header()
	secure(h)
	if status == http.StatusMethodNotAllowed {
		h.Set("Allow", "POST")
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if public.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((public.RetryAfter+time.Second-1)/time.Second)))
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorJSON(public))
	return public.Code
}

// public returns what the caller is told. A failure of the server is logged
// here, once, and the caller gets the reference to it.
func (d *door) public(r *http.Request, method string, err error) *im.Error {
	e := im.Public(err)
	switch {
	case e.Code == im.CodeInternal:
		id := im.RequestOf(r.Context())
		d.o.Log.ErrorContext(r.Context(), "api call failed", "method", method, "request", id, "err", err)
		e = im.Errorf(im.CodeInternal, "the server failed; its log has the detail under %s", id)
	case e.Unwrap() != nil && e.Code.Info().Action == im.ActionRetry:
		d.o.Log.WarnContext(r.Context(), "api call not served", "method", method, "code", string(e.Code), "request", im.RequestOf(r.Context()), "err", err)
	}
	return e
}

// errorJSON is the body of an error: SPEC §8.
func errorJSON(e *im.Error) []byte {
	text, err := protojson.Marshal(contract.Error(e))
	if err != nil {
		// Only a message that is not UTF-8 cannot be written.
		return fmt.Appendf(nil, `{"code":%q,"codeNumber":%d}`, e.Code, e.Code.Info().Number)
	}
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
}
