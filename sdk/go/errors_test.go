package skein

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/skein-im/skein/wire"
)

// A code of a later server, however it is told, says by its number what to do.
func TestCodeOfALaterServer(t *testing.T) {
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusConflict)
	if _, err := w.WriteString(`{"code":"of_tomorrow","codeNumber":4750,"field":"a.b"}`); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*Error{
		"frame":      errorOf(&wire.Error{Code: "of_tomorrow", CodeNumber: 4750}),
		"HTTP":       httpError(w.Result()),
		"close code": closeError(4750, "later"),
	} {
		if e == nil || e.Number != 4750 || e.Action() != wire.ActionStop || e.Code == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if e := closeError(4600, "x"); e.Code != wire.CodeReplaced || e.Action() != wire.ActionStop {
		t.Errorf("%+v", e)
	}
	if e := closeError(1006, ""); e != nil {
		t.Errorf("%+v", e)
	}
}
