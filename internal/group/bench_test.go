package group_test

import (
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// BenchmarkAddTenThousand adds 10,000 members in ten calls; the journal costs
// nothing here.
func BenchmarkAddTenThousand(b *testing.B) {
	w := newWorld(b, group.Options{MaxMembers: 20_000}, "o")
	w.store.everyone = true
	for b.Loop() {
		w.grow(w.create("o"), 10_000)
	}
}

// grow adds n users to a group, in an order that is not theirs.
func (w *world) grow(c im.ConversationID, n int) {
	w.t.Helper()
	for from := 0; from < n; from += group.MaxUsers {
		users := make([]im.UserID, min(group.MaxUsers, n-from))
		for i := range users {
			users[i] = im.UserID(fmt.Sprintf("u%05d", (from+i)*7919%n))
		}
		_, _, err := w.Add(w.t.Context(), actor("o"), c, users)
		w.ok(err)
	}
}

// ofSizes runs a benchmark with a small group and a huge one: what costs the
// same in both does not depend on the group's size.
func ofSizes(b *testing.B, f func(b *testing.B, w *world, c im.ConversationID)) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b, group.Options{MaxMembers: 200_000}, "o")
			w.store.everyone = true
			c := w.create("o")
			w.grow(c, n)
			b.ReportAllocs()
			f(b, w, c)
		})
	}
}

// BenchmarkRosterLoad is the first message in a group that nobody asked about.
func BenchmarkRosterLoad(b *testing.B) {
	ofSizes(b, func(b *testing.B, w *world, c im.ConversationID) {
		for b.Loop() {
			b.StopTimer()
			w.forgetful()
			b.StartTimer()
			_, err := w.MaySend(b.Context(), "o", c)
			w.ok(err)
		}
	})
}

// BenchmarkMaySend is every further message.
func BenchmarkMaySend(b *testing.B) {
	ofSizes(b, func(b *testing.B, w *world, c im.ConversationID) {
		for b.Loop() {
			_, err := w.MaySend(b.Context(), "u00007", c)
			w.ok(err)
		}
	})
}

// BenchmarkChange is a member who leaves, or comes, and the message after it.
func BenchmarkChange(b *testing.B) {
	ofSizes(b, func(b *testing.B, w *world, c im.ConversationID) {
		in := true
		for b.Loop() {
			var err error
			if in {
				_, err = w.Remove(b.Context(), actor("o"), c, []im.UserID{"u00007"})
			} else {
				_, _, err = w.Add(b.Context(), actor("o"), c, []im.UserID{"u00007"})
			}
			in = !in
			w.ok(err)
			_, err = w.MaySend(b.Context(), "o", c)
			w.ok(err)
		}
	})
}
