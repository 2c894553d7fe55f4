// Package clients holds the OpenAPI document to its word: its examples are carried out
// against a server, and clients that are generated from it work.
package clients

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skein-im/skein/server"
)

// running is a server on an embedded store.
type running struct {
	*server.Server
	key string // the admin key
}

// serve runs a server until the test ends.
func serve(t *testing.T, settings map[string]string) *running {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	all := map[string]string{"data": data, "http.listen": "127.0.0.1:0", "admin.listen": "", "gateway.drain_time": "100ms"}
	for name, value := range settings {
		all[name] = value
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := server.Open(ctx, server.Options{Settings: all})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	key, err := os.ReadFile(filepath.Join(data, "keys", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	return &running{s, strings.TrimSpace(string(key))}
}
