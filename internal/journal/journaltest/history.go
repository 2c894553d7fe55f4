package journaltest

import (
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// said is the conversation that tests of the history store in.
const said = im.ConversationID("grp:h")

// place returns how far the journal is, and requires that it knows what it says.
func (f *fixture) place() im.Position {
	f.Helper()
	p, err := f.j.Position(f.ctx)
	if err != nil {
		f.Fatalf("Position: %v", err)
	}
	f.holds(p, true)
	return p
}

// reached is place, once it is not before pos where said is.
func (f *fixture) reached(pos uint64) im.Position {
	f.Helper()
	f.reaches(f.shard(said), pos)
	return f.place()
}

// holds requires that a position is of the journal's history, or is not.
func (f *fixture) holds(p im.Position, want bool) {
	f.Helper()
	got, err := f.j.Holds(f.ctx, p)
	if err != nil {
		f.Fatalf("Holds: %v", err)
	}
	if got != want {
		f.Fatalf("position %q is of this history: %v, want %v", p, got, want)
	}
}

// say stores so many messages, and returns the position of the last.
func (f *fixture) say(n *int, times int) (pos uint64) {
	f.Helper()
	for range times {
		*n++
		pos = f.stored(text(said, "a", *n, fmt.Sprint("message ", *n)))[0].Pos
	}
	return pos
}

// What was told stays good, however often the store is opened; what was never
// told is not.
func testHolds(t *testing.T, f *fixture) {
	n := 0
	told := []im.Position{f.place()}
	for range 20 {
		told = append(told, f.place(), f.reached(f.say(&n, 1)))
		f.reopen()
		f.place()
		f.reopen() // an era in which nothing happened
	}
	last := told[len(told)-1]
	f.holds(im.Position{}, false)
	f.holds(last.With(im.MaxShards+1, im.Place{Era: 1}), false) // a shard that nobody knows
	for shard, at := range last.All() {
		for _, p := range told {
			f.holds(p, true)
			x, _ := p.Place(shard)
			f.holds(p.With(shard, im.Place{Era: x.Era + 1, Pos: x.Pos}), false)
		}
		f.holds(last.With(shard, im.Place{}), false)
		f.holds(last.With(shard, im.Place{Era: at.Era, Pos: at.Pos + 1<<40}), false)
		now, _ := f.place().Place(shard)
		f.holds(last.With(shard, im.Place{Era: now.Era, Pos: at.Pos + 1<<40}), false)
	}
	at, _ := last.Place(f.shard(said))
	if first, _ := told[1].Place(f.shard(said)); first.Era != at.Era {
		f.holds(last.With(f.shard(said), im.Place{Era: first.Era, Pos: at.Pos}), false) // an era's positions end where the next one began
	}
}

// A power cut takes nothing away of what was told.
func testCrashHolds(t *testing.T, f *fixture) {
	if f.store.Crash == nil {
		t.Skip("the database's durability is not this suite's")
	}
	n := 0
	var told []im.Position
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
	before := []im.Position{f.place(), f.reached(f.say(&n, 5))}
	f.close()
	f.store.Save(f)
	f.open()
	// As long as the store is not put back, a copy means nothing.
	atCopy := f.place()
	lost := []im.Position{f.reached(f.say(&n, 1)), f.reached(f.say(&n, 1))}
	f.reopen()
	lost = append(lost, f.place(), f.reached(f.say(&n, 10)))
	for _, p := range append(append(before, atCopy), lost...) {
		f.holds(p, true)
	}
	f.close()
	f.store.PutBack(f)
	f.open()
	if head := f.head(said); head.Seq != 5 {
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
	before := []im.Position{f.place(), f.reached(f.say(&n, 5))}
	f.store.Save(f)
	lost := []im.Position{f.reached(f.say(&n, 1)), f.reached(f.say(&n, 10))}
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
		{"FollowPutBack", testFollowPutBack},
	}
}
