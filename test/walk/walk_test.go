package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/skein-im/skein/internal/pg/pgtest"
)

// TestMain lets the tests' program be the server's process.
func TestMain(m *testing.M) {
	if isServe(os.Args) {
		if err := serve(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestWalk: whatever three users do, and wherever the server dies, each device and
// whoever asks sees what the model says.
func TestWalk(t *testing.T) {
	for _, store := range []string{"pebble", "postgres"} {
		t.Run(store, func(t *testing.T) {
			url := ""
			if store == "postgres" {
				url = pgtest.Database(t)
			}
			r, err := walkAt(t.Context(), t.TempDir(), store, url, options{operations: 400, crashes: 3, every: 100, seed: 7, disappear: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Operations != 400 || r.Crashes != 3 || r.Compared == 0 || r.Refused == 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}
