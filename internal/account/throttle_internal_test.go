package account

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
)

// Guesses that all passed the throttle while they waited for their turn are
// stopped when it comes: no more are checked than in turn, but for one that was
// under way beside the last.
func TestThrottleAtOnce(t *testing.T) {
	path := t.TempDir() + "/d.db"
	synctest.Test(t, func(t *testing.T) {
		db, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		s := New(db, Options{Argon: cheap})
		defer s.Close()
		if _, err := s.CreateUser(t.Context(), Registration{Username: "alice", Password: "correct horse"}); err != nil {
			t.Fatal(err)
		}
		var release []func()
		for range hashParallel {
			r, err := s.hasher.turns.Enter(t.Context(), limits.Unknown, "")
			if err != nil {
				t.Fatal(err)
			}
			release = append(release, r)
		}
		var mu sync.Mutex
		codes := map[im.Code]int{}
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				_, err := s.Login(t.Context(), "198.51.100.1", Credentials{Username: "alice", Password: "wrong password"})
				mu.Lock()
				defer mu.Unlock()
				codes[im.CodeOf(err)]++
			})
		}
		synctest.Wait()
		if n := s.hasher.turns.Waiting(); n != 60 {
			t.Errorf("%d wait for their turn, want all", n)
		}
		for _, r := range release {
			r()
		}
		all.Wait()
		checked := codes[im.CodeBadCredentials]
		if free := slopes[countPair].free; checked < free+1 || checked > free+hashParallel || codes[im.CodeRateLimited] != 60-checked {
			t.Errorf("results %v, want %d to %d checked and the rest limited", codes, free+1, free+hashParallel)
		}
	})
}

// An address is doubted after two failures within the hour, whoever was meant; not for who
// is known there.
func TestWhoIsDoubted(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	table := newThrottle(func() time.Time { return now }, 600)
	bad := origin{addr: "192.0.2.1"}
	for i, want := range []limits.Lane{limits.Unknown, limits.Unknown, limits.Doubted} {
		if got := table.lane(bad, known{}); got != want {
			t.Errorf("after %d failures: lane %d, want %d", i, got, want)
		}
		table.failed(fmt.Sprint("user", i), bad, known{})
	}
	if got := table.lane(bad, known{address: true}); got != limits.Known {
		t.Errorf("who is known there: lane %d", got)
	}
	if got := table.lane(origin{addr: "192.0.2.2"}, known{}); got != limits.Unknown {
		t.Errorf("beside it: lane %d", got)
	}
	now = now.Add(2 * time.Hour)
	if got := table.lane(bad, known{}); got != limits.Unknown {
		t.Errorf("later: lane %d", got)
	}
}
