package messaging

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// A pull begins at a time: forward with what was stored then or later, backward with what
// was stored before, of each time of membership, and with nothing of others.
func TestPullFromATime(t *testing.T) {
	for name, windows := range windowCases() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, g := newWorld(t), im.Group("g")
				defer w.Close()
				w.journal.now = time.Now
				began := time.Now()
				stored := map[uint64]time.Time{}
				for i := range uint64(40) {
					if i%3 != 1 { // two of three have a time of their own
						time.Sleep(time.Second)
					}
					stored[i+1] = time.Now()
					w.mustSend("alice", g, fmt.Sprint(i+1))
				}
				last := windows[len(windows)-1]
				w.members.add("bob", im.Membership{Conversation: g, First: last.First, Until: last.Until, Earlier: windows[:len(windows)-1]})
				for at := began; at.Before(began.Add(45 * time.Second)); at = at.Add(500 * time.Millisecond) {
					for _, limit := range []int{1, 3, 100} {
						checkPullAt(t, w, im.PullQuery{Conversation: g, At: at, Limit: limit}, theirs(windows), stored)
						checkPullAt(t, w, im.PullQuery{Conversation: g, At: at, Limit: limit, Backward: true}, theirs(windows), stored)
					}
				}
			})
		})
	}
}

func checkPullAt(t *testing.T, w *world, q im.PullQuery, want []uint64, stored map[uint64]time.Time) {
	t.Helper()
	got, err := w.Pull(t.Context(), im.Actor{User: "bob"}, q)
	if err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(slices.Clone(want), func(seq uint64) bool { return stored[seq].Before(q.At) != q.Backward })
	if q.Backward {
		want = want[max(0, len(want)-q.Limit):]
	} else {
		want = want[:min(len(want), q.Limit)]
	}
	if !slices.Equal(seqsOf(got.Entries), want) {
		t.Errorf("%s, backward %t, at most %d: %v, want %v", q.At.Format(time.TimeOnly), q.Backward, q.Limit, seqsOf(got.Entries), want)
	}
	// Where a stretch begins tells nothing of what lies between two times of theirs.
	switch n := len(want); {
	case n == 0 && (got.First != 0 || got.Stretch.Last != 0):
		t.Errorf("%s, backward %t: %d to %d of nothing", q.At.Format(time.TimeOnly), q.Backward, got.First, got.Stretch.Last)
	case n > 0 && !q.Backward && got.First != want[0], n > 0 && q.Backward && got.Stretch.Last != want[n-1]:
		t.Errorf("%s, backward %t: %d to %d, want %v", q.At.Format(time.TimeOnly), q.Backward, got.First, got.Stretch.Last, want)
	}
}

// Of a conversation without entries, of one and of two; a time is of whole milliseconds,
// and one that an entry has is not before it.
func TestPullFromATimeOfFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.Close()
		w.journal.now = time.Now
		w.members.add("bob", im.Membership{Conversation: ab, First: 1})
		stored := map[uint64]time.Time{}
		for n := uint64(0); n <= 2; n++ {
			if n > 0 {
				time.Sleep(time.Minute)
				stored[n] = time.Now()
				w.mustSend("alice", ab, "x")
			}
			var want []uint64
			for seq := uint64(1); seq <= n; seq++ {
				want = append(want, seq)
			}
			for _, at := range []time.Time{time.UnixMilli(1), time.Now().Add(-time.Millisecond), time.Now(), time.Now().Add(time.Millisecond), time.Now().Add(time.Hour)} {
				checkPullAt(t, w, im.PullQuery{Conversation: ab, At: at, Limit: 9}, want, stored)
				checkPullAt(t, w, im.PullQuery{Conversation: ab, At: at, Limit: 9, Backward: true}, want, stored)
			}
		}
	})
}
