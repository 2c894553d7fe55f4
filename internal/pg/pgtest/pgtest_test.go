package pgtest

import (
	"testing"
)

// A server that was killed comes back with what was committed.
func TestKillAndRestart(t *testing.T) {
	s, err := Start(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	u := On(t, s.URL())
	Exec(t, u, "CREATE TABLE kept AS SELECT 1 AS n")
	for range 2 {
		for range 2 { // the second time there is nothing to do
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		Exec(t, u, "SELECT n FROM kept")
	}
}

// A server may listen elsewhere, and whoever starts it may prepare its thread.
func TestStartAt(t *testing.T) {
	entered := 0
	place := Place{Address: "127.0.0.2", Enter: func() error { entered++; return nil }}
	s, err := StartAt(place, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	rows, err := Collect[struct {
		N    int64
		Name string
	}](t.Context(), s.URL(), "SELECT 7::bigint, inet_server_addr()::text")
	if err != nil || len(rows) != 1 || rows[0].N != 7 || rows[0].Name != "127.0.0.2/32" || entered != 1 {
		t.Errorf("%v, %v, entered %d times", rows, err, entered)
	}
}

// Every test has a database of its own.
func TestDatabase(t *testing.T) {
	a, b := Database(t), Database(t)
	Exec(t, a, "CREATE TABLE x (n INT)")
	Exec(t, b, "CREATE TABLE x (n INT)")
}
