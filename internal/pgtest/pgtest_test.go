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
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		Exec(t, u, "SELECT n FROM kept")
	}
}

// Every test has a database of its own.
func TestDatabase(t *testing.T) {
	a, b := Database(t), Database(t)
	Exec(t, a, "CREATE TABLE x (n INT)")
	Exec(t, b, "CREATE TABLE x (n INT)")
}
