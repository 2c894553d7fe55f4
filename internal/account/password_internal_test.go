package account

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

var cheap = Argon{MemoryKiB: 64, Time: 1, Threads: 1}

func TestHash(t *testing.T) {
	h := newHasher(cheap, rand.Reader)
	one, err := h.hash("secret word")
	if err != nil {
		t.Fatal(err)
	}
	two, err := h.hash("secret word")
	if err != nil {
		t.Fatal(err)
	}
	if one == two || !strings.HasPrefix(one, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Errorf("hashes %s, %s", one, two)
	}
	for password, want := range map[string]bool{"secret word": true, "secret word ": false, "": false} {
		if ok, stale, err := h.verify(password, one); ok != want || stale || err != nil {
			t.Errorf("verify %q: %v, %v, %v", password, ok, stale, err)
		}
	}
	if ok, stale, err := newHasher(Argon{MemoryKiB: 128, Time: 1, Threads: 1}, rand.Reader).verify("secret word", one); !ok || !stale || err != nil {
		t.Errorf("with other costs: %v, %v, %v", ok, stale, err)
	}
	for _, bad := range []string{"x", "$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=64,t=0,p=1$AAAA$AAAA", "$argon2id$v=19$m=64,t=1,p=1$AAAA$", "$argon2id$v=19$m=64,t=1,p=1$*$AAAA"} {
		if ok, _, err := h.verify("secret word", bad); ok || err == nil {
			t.Errorf("%s was taken: %v, %v", bad, ok, err)
		}
	}
}

// A user that is not there costs what one that is costs, and no password fits.
func TestStrangerCostsTheSame(t *testing.T) {
	h := newHasher(cheap, rand.Reader)
	a, salt, key, err := decodeHash(h.stranger)
	if err != nil || a != cheap || len(salt) != saltBytes || len(key) != keyBytes {
		t.Errorf("a stranger's hash: %+v, %d, %d, %v", a, len(salt), len(key), err)
	}
	if ok, _, err := h.verify("", ""); ok || err != nil {
		t.Errorf("verify: %v, %v", ok, err)
	}
}

// At most hashParallel hash, at most hashWaiting wait, the rest is turned away.
func TestHasherIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(cheap, rand.Reader)
		ctx, cancel := context.WithCancel(t.Context())
		var releases []func()
		for range hashParallel {
			release, err := h.acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		results := make(chan error, hashWaiting)
		for range hashWaiting {
			go func() {
				_, err := h.acquire(ctx)
				results <- err
			}()
		}
		synctest.Wait()
		_, err := h.acquire(ctx)
		if im.CodeOf(err) != im.CodeOverloaded || im.Public(err).RetryAfter <= 0 {
			t.Errorf("one too many got %v", err)
		}
		releases[0]()
		if err := <-results; err != nil {
			t.Errorf("the next in the queue got %v", err)
		}
		cancel()
		for range hashWaiting - 1 {
			if err := <-results; im.CodeOf(err) != im.CodeUnavailable {
				t.Errorf("one who gave up got %v", err)
			}
		}
	})
}

// However many addresses and names come, the table stays within its bound, and
// what was used last is remembered.
func TestThrottleTableIsBounded(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	table := newThrottle(func() time.Time { return now }, 600)
	for range 6 {
		table.failed("alice", "192.0.2.1")
	}
	for i := range throttleEntries {
		table.failed(fmt.Sprint("user", i), fmt.Sprint("address", i))
		if i%1000 == 0 {
			table.failed("alice", "192.0.2.1")
		}
	}
	if n := table.table.Len(); n > throttleEntries || n < throttleEntries/2 {
		t.Errorf("%d entries, want %d at most and half of them at least", n, throttleEntries)
	}
	if table.check("alice", "192.0.2.1", func() bool { return false }) == nil {
		t.Error("the last attempts were forgotten")
	}
	if err := table.check("user0", "address0", func() bool { return false }); err != nil {
		t.Errorf("long forgotten: %v", err)
	}
}
