package contact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func (w *world) shows(u im.UserID, about string) {
	w.t.Helper()
	if _, err := w.db.UpdateUser(w.t.Context(), w.id(u), im.ProfileChange{About: &about}); err != nil {
		w.t.Fatal(err)
	}
	w.ProfileChanged()
}

// tellHooks, if set, are called around TellProfile.
type tellHooks struct {
	hidden     atomic.Int32 // how often ReadsHidden was asked
	beforeTell func() error
	afterTell  func(changed im.UserID, told int)
}

func (s *store) TellProfile(ctx context.Context, after im.UserID, limit int, notice func(owner, changed im.UserID) im.Promise) (im.UserID, []im.Promise, error) {
	if s.beforeTell != nil {
		if err := s.beforeTell(); err != nil {
			return "", nil, err
		}
	}
	changed, told, err := s.DB.TellProfile(ctx, after, limit, notice)
	if s.afterTell != nil {
		s.afterTell(changed, len(told))
	}
	return changed, told, err
}

// A changed profile comes to the feed of each contact, and to the list of who was away;
// neither to who blocked, nor to who is blocked.
func TestProfileNews(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d", "e")
	w.steps("a asks b", "b accepts a", "a asks c", "c accepts a", "c blocks a", "a asks d", "d accepts a", "a blocks d", "a asks e")
	had, err := w.List(t.Context(), actor("b"), 0, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	w.shows("a", "away")
	for range 2 { // the second time there is nothing to tell
		if err := w.TellProfiles(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for u, want := range map[im.UserID]int{"a": 0, "b": 1, "c": 0, "d": 0, "e": 0} {
		if got := strings.Count(w.feed(u), "a shows a"); got != want {
			t.Errorf("%s is told %d times, want %d: %s", u, got, want, w.feed(u))
		}
	}
	since, err := w.List(t.Context(), actor("b"), 0, "", had.Revision)
	if err != nil || len(since.Contacts) != 1 || since.Contacts[0].User != "a" || since.Contacts[0].State != im.ContactFriend {
		t.Errorf("b's changes: %+v, %v", since, err)
	}
}

// Of many contacts few notices wait at a time, and the one who has few contacts does not
// wait for the one who has many.
func TestProfileNewsOfMany(t *testing.T) {
	const many = 250
	w := newWorld(t, "a", "z", "friend")
	w.steps("z asks friend", "friend accepts z")
	for i := range many {
		u := im.UserID(fmt.Sprintf("u%03d", i))
		w.with(t, "", u)
		w.steps(fmt.Sprintf("%s asks a", u), fmt.Sprintf("a accepts %s", u))
	}
	w.shows("a", "new")
	w.shows("z", "new")
	first := true
	w.store.afterTell = func(changed im.UserID, told int) {
		if told > 100 {
			t.Errorf("%d are told at once", told)
		}
		waiting, _, err := w.db.Pending(t.Context(), 0, 1000)
		if err != nil || len(waiting) > 100 {
			t.Errorf("%d notices wait, %v", len(waiting), err)
		}
		if changed == "z" && first {
			first = false
			if got := w.feed("u200"); strings.Contains(got, "shows") {
				t.Errorf("z waited for all of a's contacts: %s", got)
			}
		}
	}
	if err := w.TellProfiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, u := range []im.UserID{"u000", "u099", "u100", "u249", "friend"} {
		if got := strings.Count(w.feed(u), "shows"); got != 1 {
			t.Errorf("%s is told %d times", u, got)
		}
	}
}

// Run tells at once, and again after a failure.
func TestProfileNewsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		defer w.db.Close()
		w.steps("a asks b", "b accepts a")
		var fail atomic.Bool
		fail.Store(true)
		w.store.beforeTell = func() error {
			if fail.Load() {
				return errors.New("away")
			}
			return nil
		}
		failed, done := 0, make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { defer close(done); w.Run(ctx, func(error) { failed++ }) }()
		w.shows("a", "1")
		synctest.Wait()
		fail.Store(false)
		time.Sleep(11 * time.Second)
		w.shows("a", "2")
		synctest.Wait()
		if got := strings.Count(w.feed("b"), "shows"); got != 2 || failed == 0 {
			t.Errorf("told %d times, failed %d", got, failed)
		}
		cancel()
		<-done
	})
}
