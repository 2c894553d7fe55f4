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
		c := w.create("o")
		for call := range 10 {
			users := make([]im.UserID, 1000)
			for i := range users {
				users[i] = im.UserID(fmt.Sprintf("u%05d", (call*1000+i)*7919%10_000))
			}
			if _, err := w.Add(b.Context(), actor("o"), c, users); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkRosterLoad is the first message in a group of 10,000.
func BenchmarkRosterLoad(b *testing.B) {
	w, c := big(b)
	for b.Loop() {
		w.Refresh(c)
		if _, err := w.MaySend(b.Context(), "o", c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMaySend is every further message.
func BenchmarkMaySend(b *testing.B) {
	w, c := big(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.MaySend(b.Context(), "u00077", c); err != nil {
			b.Fatal(err)
		}
	}
}

func big(b *testing.B) (*world, im.ConversationID) {
	w := newWorld(b, group.Options{MaxMembers: 20_000}, "o")
	w.store.everyone = true
	c := w.create("o")
	for call := range 10 {
		users := make([]im.UserID, 1000)
		for i := range users {
			users[i] = im.UserID(fmt.Sprintf("u%05d", call*1000+i))
		}
		if _, err := w.Add(b.Context(), actor("o"), c, users); err != nil {
			b.Fatal(err)
		}
	}
	return w, c
}
