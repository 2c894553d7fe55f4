package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A health check is green when the server is well, and red with the reason when it is not, or not there.
func TestHealth(t *testing.T) {
	ready := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && !ready {
			http.Error(w, "draining", http.StatusServiceUnavailable)
		}
	}))
	at := strings.TrimPrefix(server.URL, "http://")
	for _, c := range []healthCmd{{Admin: at}, {Admin: at, Ready: true}} {
		if err := c.Run(t.Context()); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	ready = false
	if err := (&healthCmd{Admin: at}).Run(t.Context()); err != nil {
		t.Errorf("it lives while it drains: %v", err)
	}
	if err := (&healthCmd{Admin: at, Ready: true}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "/readyz answered 503: draining") {
		t.Errorf("got %v", err)
	}
	server.Close()
	if err := (&healthCmd{Admin: at}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "does the server run") {
		t.Errorf("got %v", err)
	}
}
