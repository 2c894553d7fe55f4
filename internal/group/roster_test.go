package group_test

import (
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// A group message costs no look at the directory, and after the service's own
// changes MaySend decides on the journal's revision.
func TestMaySendAnswersFromRAM(t *testing.T) {
	w := newWorld(t, group.Options{Registerer: prometheus.NewRegistry()}, "o", "m", "n")
	c := w.create("o", "m")
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
	if n := w.store.rosters.Load(); n != 1 {
		t.Fatalf("the roster was read %d times", n)
	}
	_, err := w.Remove(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	_, err = w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeNotFound)
	rev, err := w.MaySend(t.Context(), "o", c)
	w.ok(err)
	if rev != w.journal.Roster(c) {
		t.Fatalf("revision %d, the journal's is %d", rev, w.journal.Roster(c))
	}
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
