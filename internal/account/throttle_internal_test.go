package account

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
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
			r, err := s.hasher.acquire(t.Context())
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
		if n := s.hasher.waiting.Load(); n != 60 {
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
