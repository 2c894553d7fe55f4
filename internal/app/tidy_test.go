package app

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTidierWaitsForQuiet plays a process through a burst of logins. What it
// gives back and what it leaves alone is told by the counts of free.
func TestTidierWaitsForQuiet(t *testing.T) {
	const mb = 1 << 20
	now, freed := footprint{live: 8 * mb, held: 30 * mb}, 0
	tidy := &tidier{
		read: func() footprint { return now },
		free: func() { freed++; now.held -= 20 * mb },
	}
	for _, step := range []struct {
		name            string
		allocated, grow uint64 // since the last look
		live            uint64
		off             bool
		freed           int // in all
	}{
		{"just started", 0, 0, 8, false, 1},
		{"nothing has come since", 0, 0, 8, false, 1},
		{"not worth it", 0, 1 * mb, 8, false, 1},
		{"logins", 100 * mb, 90 * mb, 40, false, 1},
		{"still busy", 40 * mb, 0, 40, false, 1},
		{"the operator wants no collection", 1 * mb, 0, 40, true, 1},
		{"quiet: heartbeats only", 1 * mb, 0, 40, false, 2},
		{"heartbeats, less than an eighth", 1 * mb, 9 * mb, 40, false, 2},
		{"heartbeats, an eighth", 1 * mb, 2 * mb, 40, false, 3},
		{"the runtime has given some back itself", 1 * mb, 0, 40, false, 3},
	} {
		now.allocated += step.allocated
		now.held += step.grow
		now.live, now.off = step.live*mb, step.off
		if tidy.look(); freed != step.freed {
			t.Fatalf("%s: %d times, want %d", step.name, freed, step.freed)
		}
	}
}

func TestTidierLooksUntilStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		tidy := &tidier{read: func() footprint { looks++; return footprint{} }}
		stop := tidy.start()
		time.Sleep(3*tidyEvery + time.Second)
		stop()
		time.Sleep(3 * tidyEvery)
		if looks != 3 {
			t.Errorf("%d looks", looks)
		}
	})
}

// TestFootprint: the names are the runtime's, and what is held is not nothing.
func TestFootprint(t *testing.T) {
	if f := readFootprint(); f.allocated == 0 || f.held < f.live || f.off {
		t.Errorf("%+v", f)
	}
}
