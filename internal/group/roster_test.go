package group_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// forgetful is a service over the same directory that remembers nothing.
func (w *world) forgetful() { w.Service = w.another(group.Options{}) }

// A group message costs no look at the directory, and after the service's own
// changes MaySend decides on the journal's revision, without reading all members
// again.
func TestMaySendAnswersFromRAM(t *testing.T) {
	w := newWorld(t, group.Options{Registerer: prometheus.NewRegistry()}, "o", "m", "n")
	made := w.Service
	c := w.create("o", "m")
	for _, reads := range []int32{0, 1} { // as the one who made it, as one who remembers nothing
		for range 100 {
			for _, u := range []im.UserID{"o", "m"} {
				rev, err := w.MaySend(t.Context(), u, c)
				w.ok(err)
				if rev != 1 {
					t.Fatalf("revision %d", rev)
				}
			}
			_, err := w.MaySend(t.Context(), "n", c)
			w.wantCode(err, im.CodeNotFound)
		}
		if n := w.store.rosters.Load(); n != reads {
			t.Fatalf("the roster was read %d times, want %d", n, reads)
		}
		w.forgetful()
	}
	w.Service = made
	_, err := w.Remove(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	_, err = w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeNotFound)
	rev, err := w.MaySend(t.Context(), "o", c)
	w.ok(err)
	if rev != w.journal.Roster(c) {
		t.Fatalf("revision %d, the journal's is %d", rev, w.journal.Roster(c))
	}
	if n := w.store.rosters.Load(); n != 1 {
		t.Fatalf("the roster was read %d times", n)
	}
}

// What a member may read is told from RAM when the roster there is of the
// head's revision or a later one; otherwise, and for all others, it is not.
func TestMembershipFromRAM(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m", "n", "x")
	c := w.create("o", "m")
	tell := func(u im.UserID, rev uint64, want string) {
		t.Helper()
		got := "not known"
		if m, known := w.Membership(u, c, rev); known {
			got = fmt.Sprintf("%s %d–%d %s", m.Conversation, m.First, m.Until, m.Title)
		}
		if got != want {
			t.Errorf("%s at %d: %s, want %s", u, rev, got, want)
		}
	}
	here := string(c)
	tell("m", 1, here+" 1–0 friends")
	tell("m", 2, "not known")
	tell("x", 1, "not known")
	other := w.another(group.Options{})
	_, _, err := other.Add(t.Context(), actor("o"), c, []im.UserID{"n"})
	w.ok(err)
	_, err = other.Rename(t.Context(), actor("o"), c, "enemies")
	w.ok(err)
	tell("n", 3, "not known") // nobody told this process
	tell("m", 3, "not known")
	tell("m", 1, here+" 1–0 friends") // asked with a head of then
	w.Refresh(c)
	_, err = w.MaySend(t.Context(), "n", c)
	w.ok(err)
	tell("n", 3, here+" 2–0 enemies")
	tell("m", 3, here+" 1–0 enemies")
	_, err = w.Remove(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	tell("m", 4, "not known")
	tell("o", 4, here+" 1–0 enemies")
	w.forgetful()
	tell("o", 4, "not known") // and does not read all members to know
	if n := w.store.rosters.Load(); n != 1 {
		t.Errorf("the roster was read %d times", n)
	}
}

// A doubt is ended by the directory's revision, and only by a read of it that
// began after the doubt.
func TestDoubtOutrunsAConfirmation(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	other := w.another(group.Options{})
	w.store.afterGroup = func() { // the read has revision 1 in hand
		w.store.afterGroup = nil
		_, err := other.Remove(t.Context(), actor("o"), c, []im.UserID{"m"})
		w.ok(err)
		w.Refresh(c)
	}
	w.Refresh(c)
	rev, err := w.MaySend(t.Context(), "m", c)
	w.ok(err)
	if rev != 1 {
		t.Errorf("decided on %d", rev)
	}
	rev, err = w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeNotFound)
	if rev != 2 {
		t.Errorf("refused by revision %d, want 2", rev)
	}
}

// A roster that is taken on while it is doubted is doubted still: there may be
// more changes than the one that was told.
func TestDoubtOutlivesAChange(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	other := w.another(group.Options{})
	_, err := other.Rename(t.Context(), actor("o"), c, "other")
	w.ok(err)
	_, err = other.Remove(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	w.Refresh(c)
	w.Applied(w.journal.Entries(c)[1], 2)
	if _, known := w.Membership("m", c, 2); !known {
		t.Error("the change was not taken on")
	}
	_, err = w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeNotFound)
}

// Doubts cost a small read each, not one of all members; while nothing is to be
// doubted there is none.
func TestDoubtIsCheap(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	groups := func(f func()) int32 {
		before := w.store.groups.Load()
		f()
		return w.store.groups.Load() - before
	}
	ask := func() {
		_, err := w.MaySend(t.Context(), "m", c)
		w.ok(err)
	}
	ask()
	for range 3 {
		w.Refresh(c)
		w.Refresh(c)
		if n := groups(func() { ask(); ask() }); n != 1 {
			t.Errorf("%d looks", n)
		}
	}
	if n := w.store.rosters.Load(); n != 0 {
		t.Errorf("the roster was read %d times", n)
	}
}

// A creation that is driven again, long after, does not bring the first roster
// back.
func TestCreationDrivenAgain(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	_, err := w.Remove(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	first := w.journal.Entries(c)[0]
	w.Applied(first, 1)
	_, err = w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeNotFound)
	w.forgetful()
	w.Applied(first, 1)
	_, err = w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeNotFound)
}

// A change by another process is unknown until the journal says so; its
// revision tells them apart.
func TestRefresh(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	rev, err := w.MaySend(t.Context(), "m", c)
	w.ok(err)
	_, err = w.another(group.Options{}).Remove(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	stale, err := w.MaySend(t.Context(), "m", c)
	w.ok(err)
	if stale != rev || stale == w.journal.Roster(c) {
		t.Fatalf("decided on %d, the journal is at %d", stale, w.journal.Roster(c))
	}
	w.Refresh(c)
	_, err = w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeNotFound)
	w.wantCode(w.MayRecall(t.Context(), "m", c, "m"), im.CodeNotFound)
}

// A group that does not exist is not remembered: it may come to exist.
func TestUnknownGroupIsNotRemembered(t *testing.T) {
	w := newWorld(t, group.Options{}, "o")
	for range 2 {
		_, err := w.MaySend(t.Context(), "o", "grp:none")
		w.wantCode(err, im.CodeNotFound)
	}
	if n := w.store.rosters.Load(); n != 2 {
		t.Fatalf("read %d times", n)
	}
}

// Those who ask while a roster is being read share the read.
func TestRosterIsReadOnce(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	w.forgetful()
	reading, goOn := make(chan struct{}, 1), make(chan struct{})
	w.store.beforeRoster = func() {
		reading <- struct{}{}
		<-goOn
	}
	const callers = 10
	done := make(chan error, callers)
	ask := func() {
		_, err := w.MaySend(t.Context(), "m", c)
		done <- err
	}
	go ask()
	<-reading
	for range callers - 1 {
		go ask()
	}
	close(goOn)
	for range callers {
		w.ok(<-done)
	}
	if n := w.store.rosters.Load(); n != 1 {
		t.Fatalf("read %d times", n)
	}
}

// A read that began before a Refresh is not used after it.
func TestRefreshOutrunsARead(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	w.forgetful()
	reading, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	w.store.afterRoster = func() {
		if first.CompareAndSwap(false, true) {
			close(reading)
			<-goOn
		}
	}
	early := make(chan uint64)
	go func() {
		rev, err := w.MaySend(t.Context(), "o", c)
		if err != nil {
			t.Error(err)
		}
		early <- rev
	}()
	<-reading // it holds revision 1
	_, err := w.another(group.Options{}).Remove(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	w.Refresh(c)
	later := func() {
		t.Helper()
		rev, err := w.MaySend(t.Context(), "o", c)
		w.ok(err)
		if rev != 2 {
			t.Fatalf("revision %d after the refresh", rev)
		}
	}
	later()
	close(goOn)
	if rev := <-early; rev != 1 {
		t.Fatalf("the early one decided on %d", rev)
	}
	later()
}

// A roster larger than the cache still answers; small ones push each other out
// without a word.
func TestSmallCache(t *testing.T) {
	w := newWorld(t, group.Options{CachedMembers: 4}, "o", "a", "b", "c", "d", "e")
	groups := []im.ConversationID{w.create("o", "a"), w.create("o", "b"), w.create("o", "a", "b", "c", "d", "e")}
	for range 5 {
		for _, c := range groups {
			rev, err := w.MaySend(t.Context(), "o", c)
			w.ok(err)
			if rev != 1 {
				t.Fatal(rev)
			}
		}
	}
}
