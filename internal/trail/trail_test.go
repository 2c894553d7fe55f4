package trail_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/trail"
)

// broken is a store whose writes fail while down is set.
type broken struct {
	*directory.DB
	down atomic.Bool
}

func (b *broken) PutActs(ctx context.Context, acts []im.Act) error {
	if b.down.Load() {
		return errors.New("down")
	}
	return b.DB.PutActs(ctx, acts)
}

func newTrail(t *testing.T, keep map[im.ActKind]time.Duration) (*trail.Service, *broken, *atomic.Int64) {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store, ahead := &broken{DB: db}, new(atomic.Int64)
	s := trail.New(trail.Options{Store: store, Keep: keep, Now: func() time.Time { return time.UnixMilli(1_700_000_000_000 + ahead.Load()) }, Random: rand.Reader})
	t.Cleanup(func() {
		s.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, store, ahead
}

func line(t *testing.T, s *trail.Service, kind im.ActKind, action string) im.Act {
	t.Helper()
	a, err := s.Line(kind, action)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func all(t *testing.T, s *trail.Service) []im.Act {
	t.Helper()
	acts, more, err := s.List(t.Context(), im.ActQuery{Limit: trail.MaxPage, OldestFirst: true})
	if err != nil || more {
		t.Fatalf("%v, %v", more, err)
	}
	return acts
}

// An act that nobody finished, because the server was killed, is told as one whose end is
// not known; one that was finished is told as it ended, also when who asked is gone.
func TestActsAreWrittenBefore(t *testing.T) {
	s, _, _ := newTrail(t, nil)
	left, done := line(t, s, im.ActAdmin, "a"), line(t, s, im.ActAdmin, "b")
	for _, a := range []im.Act{left, done} {
		if err := s.Begin(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	done.Target = "made"
	s.Finish(gone, done)
	for _, a := range all(t, s) {
		if want := map[string]im.Code{"a": im.ActBegun, "b": ""}[a.Action]; a.Code != want {
			t.Errorf("%s: %q, want %q", a.Action, a.Code, want)
		}
		if a.Action == "b" && a.Target != "made" {
			t.Errorf("its target is %q", a.Target)
		}
	}
}

// Guesses of a kind are one line, a flood of different ones a bounded number; what could not
// be written is written later.
func TestFailuresAreTold(t *testing.T) {
	s, store, _ := newTrail(t, nil)
	store.down.Store(true)
	failed := func(user, address string) {
		a := line(t, s, im.ActSignIn, "login")
		a.Code, a.Address, a.Target = im.CodeBadCredentials, address, user
		s.SignInFailed(a)
	}
	for range 7 {
		failed("u1", "192.0.2.1")
	}
	s.Flush(t.Context())
	failed("u1", "192.0.2.1")
	store.down.Store(false)
	s.Flush(t.Context())
	if got := all(t, s); len(got) != 1 || got[0].Times != 8 || got[0].Target != "u1" || got[0].Address != "192.0.2.1" || got[0].Code != im.CodeBadCredentials {
		t.Fatalf("%+v", got)
	}
	store.down.Store(true) // nothing is written while they come
	for i := range 5000 {
		failed("", fmt.Sprint("192.0.2.", i))
	}
	store.down.Store(false)
	s.Flush(t.Context())
	got, times := all(t, s), 0
	for _, a := range got {
		times += a.Times
	}
	if len(got) > 1100 || times != 5008 {
		t.Errorf("%d lines of %d guesses", len(got), times)
	}
}

// Lines are kept for as long as their kind is.
func TestLinesAreKeptForATime(t *testing.T) {
	s, store, ahead := newTrail(t, map[im.ActKind]time.Duration{im.ActAdmin: 10 * time.Hour, im.ActSignIn: time.Hour})
	for range 3 {
		if err := store.PutActs(t.Context(), []im.Act{line(t, s, im.ActAdmin, "a"), line(t, s, im.ActSignIn, "login")}); err != nil {
			t.Fatal(err)
		}
		ahead.Add(time.Hour.Milliseconds())
	}
	for hours, want := range []int{4, 3, 3} { // three, four and five hours after the first lines
		if err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := all(t, s); len(got) != want {
			t.Errorf("after %d hours more: %+v", hours, got)
		}
		ahead.Add(time.Hour.Milliseconds())
	}
}
