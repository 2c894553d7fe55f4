package pebble

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

func openIn(t testing.TB, fs vfs.FS) *Journal {
	t.Helper()
	j, err := Open("/data/journal", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func placeOf(t testing.TB, j *Journal) im.Place {
	t.Helper()
	p, err := j.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at, one := p.One()
	if !one {
		t.Fatalf("%q is not of one store", p)
	}
	return at
}

func requireHeld(t testing.TB, j *Journal, p im.Place, want bool) {
	t.Helper()
	if held, err := j.Holds(t.Context(), im.PositionAt(p)); err != nil || held != want {
		t.Errorf("%+v is of this history: %v, want %v, %v", p, held, want, err)
	}
}

// A journal that is opened again and again keeps what it told, and its list of
// eras is bounded.
func TestErasOfManyOpenings(t *testing.T) {
	fs := vfs.NewMem()
	var told []im.Place
	for n := range 150 {
		j := openIn(t, fs)
		told = append(told, placeOf(t, j))
		for _, p := range []im.Place{told[0], told[n/2], told[n]} {
			requireHeld(t, j, p, true)
		}
		closeJournal(t, j)
	}
	j := openIn(t, fs)
	if n := len(j.eras.list); n != 151 {
		t.Errorf("%d eras after 151 openings", n)
	}
	j.appendMu.Lock()
	for range im.MaxEras {
		if err := j.beginEra(j.commit); err != nil {
			t.Fatal(err)
		}
	}
	j.appendMu.Unlock()
	last := placeOf(t, j)
	closeJournal(t, j)
	j = openIn(t, fs)
	defer closeJournal(t, j)
	if es, err := loadEras(j.db); err != nil || len(es.list) != im.MaxEras || len(j.eras.list) != im.MaxEras {
		t.Errorf("%d eras are kept, %d known, %v; at most %d should be", len(es.list), len(j.eras.list), err, im.MaxEras)
	}
	requireHeld(t, j, last, true)
	requireHeld(t, j, told[0], false) // too old: who has it reads anew
}

// A machine is put back with its memory: the process goes on in the era it was in.
// What it had told beyond the next renewal is another history's.
func TestErasAreRenewed(t *testing.T) {
	fs := vfs.NewMem()
	j := openIn(t, fs)
	defer closeJournal(t, j)
	first := placeOf(t, j)
	if err := j.renewEra(); err != nil || len(j.eras.list) != 1 {
		t.Errorf("renewed though nothing was stored: %d eras, %v", len(j.eras.list), err)
	}
	mustAppend(t, j, "grp:g", 1, 5)
	at := placeOf(t, j)
	if err := j.renewEra(); err != nil || len(j.eras.list) != 2 {
		t.Fatalf("%d eras, %v", len(j.eras.list), err)
	}
	mustAppend(t, j, "grp:g", 6, 10)
	now := placeOf(t, j)
	for _, p := range []im.Place{first, at, now} {
		requireHeld(t, j, p, true)
	}
	requireHeld(t, j, im.Place{Era: first.Era, Pos: now.Pos}, false) // what the machine told before it was put back
}

func TestClockJumps(t *testing.T) {
	for _, tt := range []struct {
		wall, monotonic time.Duration
		want            bool
	}{
		{5 * time.Second, 5 * time.Second, false}, {time.Hour, time.Hour, false}, {5*time.Second + time.Millisecond, 5 * time.Second, false},
		{time.Hour, 5 * time.Second, true}, {-time.Hour, 5 * time.Second, true},
	} {
		if got := jumped(tt.wall, tt.monotonic); got != tt.want {
			t.Errorf("wall %v, monotonic %v: jumped %v", tt.wall, tt.monotonic, got)
		}
	}
}
