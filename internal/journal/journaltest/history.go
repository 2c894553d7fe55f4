package journaltest

import (
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// place returns how far the journal is, and requires that it knows what it says.
func (f *fixture) place() im.Place {
	f.Helper()
	p, err := f.j.Position(f.ctx)
	if err != nil {
		f.Fatalf("Position: %v", err)
	}
	f.holds(p, true)
	return p
}

// reached is place, once it is not before pos.
func (f *fixture) reached(pos uint64) im.Place {
	f.Helper()
	f.reaches(pos)
	return f.place()
}

// holds requires that a place is of the journal's history, or is not.
func (f *fixture) holds(p im.Place, want bool) {
	f.Helper()
	got, err := f.j.Holds(f.ctx, p)
	if err != nil {
		f.Fatalf("Holds: %v", err)
	}
	if got != want {
		f.Fatalf("place %+v is of this history: %v, want %v", p, got, want)
	}
}

// say stores so many messages, and returns the position of the last.
func (f *fixture) say(n *int, times int) (pos uint64) {
	f.Helper()
	for range times {
		*n++
		pos = f.stored(text("grp:h", "a", *n, fmt.Sprint("message ", *n)))[0].Pos
	}
	return pos
}

// What was told stays good, however often the store is opened; what was never
// told is not.
func testHolds(t *testing.T, f *fixture) {
	n := 0
	told := []im.Place{f.place()}
	for range 20 {
		told = append(told, f.place(), f.reached(f.say(&n, 1)))
		f.reopen()
		f.place()
		f.reopen() // an era in which nothing happened
	}
	last := told[len(told)-1]
	for _, p := range told {
		f.holds(p, true)
		f.holds(im.Place{Era: p.Era + 1, Pos: p.Pos}, false)
	}
	f.holds(im.Place{}, false)
	f.holds(im.Place{Era: last.Era, Pos: last.Pos + 1<<40}, false)
	f.holds(im.Place{Era: f.place().Era, Pos: last.Pos + 1<<40}, false)
	if told[1].Era != last.Era {
		f.holds(im.Place{Era: told[1].Era, Pos: last.Pos}, false) // an era's positions end where the next one began
	}
}

// A power cut takes nothing away of what was told.
func testCrashHolds(t *testing.T, f *fixture) {
	if f.store.Crash == nil {
		t.Skip("the database's durability is not this suite's")
	}
	n := 0
	var told []im.Place
	for range 5 {
		told = append(told, f.place(), f.reached(f.say(&n, 3)))
		f.store.Crash(f)
		f.open()
		for _, p := range told {
			f.holds(p, true)
		}
	}
}

// An older copy put in the place of the store: what was told after the copy was
// taken is known for another history's, at once and when the new one is long past
// it; what was told before stays good.
func testPutBack(t *testing.T, f *fixture) {
	if f.store.Save == nil {
		t.Skip("the harness does not know how to copy this store")
	}
	n := 0
	before := []im.Place{f.place(), f.reached(f.say(&n, 5))}
	f.close()
	f.store.Save(f)
	f.open()
	// As long as the store is not put back, a copy means nothing.
	atCopy := f.place()
	lost := []im.Place{f.reached(f.say(&n, 1)), f.reached(f.say(&n, 1))}
	f.reopen()
	lost = append(lost, f.place(), f.reached(f.say(&n, 10)))
	for _, p := range append(append(before, atCopy), lost...) {
		f.holds(p, true)
	}
	f.close()
	f.store.PutBack(f)
	f.open()
	if head := f.head("grp:h"); head.Seq != 5 {
		t.Fatalf("the copy has %d messages, want 5", head.Seq)
	}
	check := func() {
		t.Helper()
		for _, p := range before {
			f.holds(p, true)
		}
		for _, p := range lost {
			f.holds(p, false)
		}
		f.holds(atCopy, false) // its era is of the time after the copy
	}
	check()
	for range 3 {
		f.reached(f.say(&n, 20)) // further than ever before
		check()
		f.reopen()
		check()
	}
	// Put back once more: both that went on from it are gone.
	lost = append(lost, f.place())
	f.close()
	f.store.PutBack(f)
	f.open()
	f.reached(f.say(&n, 100))
	check()
}

// A copy of a store that was in use, which goes on afterwards: of the era that
// both have, all up to the copy is of both, and nothing else.
func testPutBackCopyOfRunning(t *testing.T, f *fixture) {
	if f.store.Save == nil || !f.store.SavesRunning {
		t.Skip("the harness does not copy this store while it is used")
	}
	n := 0
	before := []im.Place{f.place(), f.reached(f.say(&n, 5))}
	f.store.Save(f)
	lost := []im.Place{f.reached(f.say(&n, 1)), f.reached(f.say(&n, 10))}
	f.close()
	f.store.PutBack(f)
	f.open()
	for range 3 {
		for _, p := range before {
			f.holds(p, true)
		}
		for _, p := range lost {
			f.holds(p, false)
		}
		f.reached(f.say(&n, 30))
	}
}

// RunHistory runs what Run tests with copies of a store, for engines that need a
// server of their own for that.
func RunHistory(t *testing.T, h Harness) {
	run(t, h, historyTests())
}

func historyTests() []test {
	return []test{
		{"PutBack", testPutBack},
		{"PutBackCopyOfRunning", testPutBackCopyOfRunning},
	}
}
