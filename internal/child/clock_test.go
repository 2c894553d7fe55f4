package child

import (
	"path/filepath"
	"testing"
	"time"
)

// TestClock: who moves it moves it for all, also for who opens it later; it goes on by
// itself, and not back.
func TestClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock")
	open := func() *Clock {
		t.Helper()
		c, err := OpenClock(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	a, b := open(), open()
	if a.Ahead() != 0 {
		t.Errorf("it begins %v ahead", a.Ahead())
	}
	was := time.Now()
	for _, d := range []time.Duration{25 * time.Hour, -time.Hour, time.Minute} {
		if err := a.Move(d); err != nil {
			t.Fatal(err)
		}
	}
	const ahead = 25*time.Hour + time.Minute
	for _, c := range []*Clock{a, b, open()} {
		if c.Ahead() != ahead || c.Now().Before(was.Add(ahead)) {
			t.Errorf("%v ahead, it says %v", c.Ahead(), c.Now())
		}
	}
}
