package account

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"
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

// However many addresses and names come, the table stays within its bound, and
// what was used last is remembered.
func TestThrottleTableIsBounded(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	table := newThrottle(func() time.Time { return now }, 600)
	for range 6 {
		table.failed("alice", origin{addr: "192.0.2.1"}, known{})
	}
	for i := range throttleEntries {
		table.failed(fmt.Sprint("user", i), origin{addr: fmt.Sprint("address", i)}, known{})
		if i%1000 == 0 {
			table.failed("alice", origin{addr: "192.0.2.1"}, known{})
		}
	}
	if n := table.table.Len(); n > throttleEntries || n < throttleEntries/2 {
		t.Errorf("%d entries, want %d at most and half of them at least", n, throttleEntries)
	}
	if _, err := table.check("alice", origin{addr: "192.0.2.1"}, nothing); err == nil {
		t.Error("the last attempts were forgotten")
	}
	if _, err := table.check("user0", origin{addr: "address0"}, nothing); err != nil {
		t.Errorf("long forgotten: %v", err)
	}
}
