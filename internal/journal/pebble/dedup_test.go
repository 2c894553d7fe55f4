package pebble

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

// from is message n of a sender whose clock is ahead.
func from(u im.UserID, n int, ahead time.Duration) im.Append {
	it := message("grp:g", n)
	var random [10]byte
	copy(random[:], it.Entry.ID[6:])
	it.Entry.Sender, it.Entry.ID = u, im.NewMessageID(it.Entry.ID.Time().Add(ahead), random)
	return it
}

func mustStore(t *testing.T, j *Journal, it im.Append, want im.AppendStatus) im.Appended {
	t.Helper()
	out, err := appendOne(j, it)
	if err != nil || out.Status != want {
		t.Fatalf("append of %s by %s: %+v, %v; want status %d", it.Entry.ID, it.Entry.Sender, out, err, want)
	}
	return out
}

// One client with a clock a day ahead made every message of everybody else a
// look-up, for a day.
func TestClockAhead(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	mustStore(t, j, from("ahead", 1, 24*time.Hour), im.Stored)
	for n := range 100 {
		mustStore(t, j, from(im.UserID(fmt.Sprint("u", n%7)), 10+n, 0), im.Stored)
		mustStore(t, j, from("ahead", 10+n, 24*time.Hour), im.Stored)
	}
	if n := counterValue(j.metrics.lookups); n != 0 {
		t.Errorf("%v look-ups for growing ids", n)
	}
	closeJournal(t, j)
	// After a restart a sender's ids are looked up until they have passed the bound
	// that was stored.
	j = open(t, fs)
	past := int((boundAhead + time.Second).Milliseconds())
	mustStore(t, j, from("u1", 200, 0), im.Stored)
	if n := counterValue(j.metrics.lookups); n != 1 {
		t.Errorf("%v look-ups for an id within the bound, want 1", n)
	}
	for n := range 10 {
		mustStore(t, j, from("u1", past+n, 0), im.Stored)
		mustStore(t, j, from("new", past+n, 0), im.Stored)
	}
	if n := counterValue(j.metrics.lookups); n != 1 {
		t.Errorf("%v look-ups, want no more for ids past the bound and of a new sender", n)
	}
	// What was stored before is found, by its sender.
	mustStore(t, j, from("u1", 200, 0), im.Duplicate)
	mustStore(t, j, from("u3", 10+3, 0), im.Duplicate)
	mustStore(t, j, from("ahead", 1, 24*time.Hour), im.Duplicate)
	closeJournal(t, j)
}

// TestBoundsMove: the stored bound moves with the id that passes it, so resends
// are known after any restart.
func TestBoundsMove(t *testing.T) {
	fs := vfs.NewCrashableMem()
	for n := range 30 {
		j := open(t, fs)
		step := n * int(boundAhead.Milliseconds()) / 3
		mustStore(t, j, from("u", step, 0), im.Stored)
		after := fs.CrashClone(vfs.CrashCloneCfg{})
		closeJournal(t, j)
		fs = after
		j = open(t, fs)
		for k := range n + 1 {
			mustStore(t, j, from("u", k*int(boundAhead.Milliseconds())/3, 0), im.Duplicate)
		}
		closeJournal(t, j)
	}
}

// TestStrayIDs: where an id is kept depends on the clock, whether it is known
// does not.
func TestStrayIDs(t *testing.T) {
	fs := vfs.NewMem()
	base := message("grp:g", 0).Entry.ID.Time()
	now := base
	clock := func(o *Options) { o.Now = func() time.Time { return now } }
	j := open(t, fs, clock)
	var sent []im.Append
	var got []im.Appended
	for n, ahead := range []time.Duration{0, time.Hour, -time.Hour, time.Second, -24 * time.Hour, strayAfter, -strayAfter, strayAfter + time.Second} {
		it := from(im.UserID(fmt.Sprint("u", n%2)), n, ahead)
		sent = append(sent, it)
		got = append(got, mustStore(t, j, it, im.Stored))
	}
	for _, at := range []time.Duration{0, time.Hour, -time.Hour, 48 * time.Hour} {
		closeJournal(t, j)
		j = open(t, fs, clock)
		now = base.Add(at)
		for i, it := range sent {
			if out := mustStore(t, j, it, im.Duplicate); out.Seq != got[i].Seq {
				t.Errorf("resend of %d at %s: seq %d, want %d", i, at, out.Seq, got[i].Seq)
			}
		}
	}
	strays := countKeys(t, j, spaceStrayID)
	if ids := countKeys(t, j, spaceID); strays == 0 || ids == 0 || strays+ids != len(sent) {
		t.Errorf("%d ids in order and %d others, want %d in all and some of each", ids, strays, len(sent))
	}
	closeJournal(t, j)
}

func countKeys(t *testing.T, j *Journal, space byte) (n int) {
	t.Helper()
	o := spaceBounds(space)
	it, err := j.db.NewIter(&o)
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// The outcomes that the authors of SipHash publish.
func TestSipHash(t *testing.T) {
	var key [16]byte
	for i := range key {
		key[i] = byte(i)
	}
	data := key[:15]
	for n, want := range map[int]uint64{0: 0x726fdb47dd0e0e31, 1: 0x74f839c593dc67fd, 8: 0x93f5f5799a932462, 15: 0xa129ca6149be45e5} {
		if got := siphash(&key, data[:n]); got != want {
			t.Errorf("of %d bytes: %016x, want %016x", n, got, want)
		}
	}
}

// Names never run into each other, and each store has its own hash of them.
func TestIDKeys(t *testing.T) {
	id := message("grp:g", 1).Entry.ID
	one, other := newSecret(), newSecret()
	seen := map[string]string{}
	for name, key := range map[string][]byte{
		"a, bc": appendIDKey(nil, spaceID, id, one.names("a", "bc")), "ab, c": appendIDKey(nil, spaceID, id, one.names("ab", "c")),
		"abc, the server": appendIDKey(nil, spaceID, id, one.names("abc", "")), "another store": appendIDKey(nil, spaceID, id, other.names("a", "bc")),
		"another space": appendIDKey(nil, spaceStrayID, id, one.names("a", "bc")),
	} {
		if before, ok := seen[string(key)]; ok {
			t.Errorf("%s has the key of %s", name, before)
		}
		seen[string(key)] = name
	}
}

// Should the key of an id stand for another message as well, a message is answered
// that its id is taken, never that it was stored where another one lies.
func TestIDKeyOfAnother(t *testing.T) {
	j := open(t, vfs.NewMem())
	defer closeJournal(t, j)
	mustAppend(t, j, "grp:g", 1, 3)
	mustAppend(t, j, "grp:h", 1, 1)
	mustStore(t, j, message("grp:far", 900), im.Stored) // the sender's ids up to here are looked up
	it := message("grp:h", 500)
	for seq := range uint64(4) { // of the entry before, of one that is there, of none
		key := j.secret.idKey(nil, spaceID, &it.Entry)
		if err := j.db.Set(key, appendIDValue(nil, seq, it.Hash), nil); err != nil {
			t.Fatal(err)
		}
		mustStore(t, j, it, im.IDConflict)
		out := make([]im.Appended, 1)
		if err := j.Lookup(t.Context(), []im.Append{it}, out); err != nil || out[0] != (im.Appended{Status: im.IDConflict}) {
			t.Errorf("seq %d: looked up: %+v, %v", seq, out[0], err)
		}
	}
}
