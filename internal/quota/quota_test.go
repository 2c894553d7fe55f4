package quota

import (
	"testing"
	"time"
)

// All at once, then one as each comes back; one user's are none of another's.
func TestTake(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	q := New(4, time.Hour)
	for i := range 4 {
		if wait := q.Take("ann", 1, now); wait != 0 {
			t.Fatalf("the %dth of 4 waits %v", i+1, wait)
		}
	}
	if wait := q.Take("ben", 4, now); wait != 0 {
		t.Errorf("another user waits %v", wait)
	}
	wait := q.Take("ann", 1, now)
	if wait < 15*time.Minute || wait > 15*time.Minute+time.Second {
		t.Errorf("the fifth in an hour waits %v", wait)
	}
	if again := q.Take("ann", 1, now.Add(wait-time.Second)); again == 0 || again > 2*time.Second {
		t.Errorf("a second too early it waits %v", again)
	}
	if again := q.Take("ann", 1, now.Add(wait)); again != 0 {
		t.Errorf("who waited as told waits %v more", again)
	}
	if again := q.Take("ann", 1, now.Add(-time.Hour)); again == 0 {
		t.Error("a clock that goes back gives something")
	}
}

// What is given back can be taken again, and is never more than the whole.
func TestGiveBack(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	q := New(2, time.Hour)
	q.GiveBack("ann", 5)
	if q.Take("ann", 2, now) != 0 || q.Take("ann", 1, now) == 0 {
		t.Error("who took nothing was given something back")
	}
	q.GiveBack("ann", 5)
	if q.Take("ann", 2, now) != 0 || q.Take("ann", 1, now) == 0 {
		t.Error("two were to be had, and no more")
	}
}

// More than the whole is had when the bucket is full, and paid for afterwards.
func TestTakeMoreThanTheWhole(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	q := New(10, time.Hour)
	if wait := q.Take("ann", 30, now); wait != 0 {
		t.Errorf("a full bucket has nothing: wait %v", wait)
	}
	if wait := q.Take("ann", 1, now); wait < 2*time.Hour || wait > 2*time.Hour+10*time.Minute {
		t.Errorf("after three buckets the next one waits %v", wait)
	}
}

// Another number counts from now on.
func TestSetMost(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	q := New(1, time.Hour)
	q.Take("ann", 1, now)
	q.SetMost(60)
	if wait := q.Take("ann", 1, now); wait == 0 || wait > time.Minute+time.Second {
		t.Errorf("of sixty an hour the next one waits %v", wait)
	}
	q.SetMost(1)
	if q.Take("ben", 1, now) != 0 || q.Take("ben", 1, now) == 0 {
		t.Error("one is to be had")
	}
}
