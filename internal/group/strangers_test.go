package group_test

import (
	"testing"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// TestStrangersAreCountedOnce: neither a change that is decided again, because another
// one came first, nor a group that is made again with its request id takes more of how
// often a user may be added by strangers, or of whom the caller may add.
func TestStrangersAreCountedOnce(t *testing.T) {
	w := newWorld(t, group.Options{StrangersPerDay: 2, AddsPerHour: 2}, "v", "s", "last")
	c := w.create("s")
	other := w.another(group.Options{})
	w.store.afterGroup = func() {
		w.store.afterGroup = nil
		_, err := other.Rename(t.Context(), actor("s"), c, "renamed meanwhile")
		w.ok(err)
	}
	added, _, err := w.Add(t.Context(), actor("s"), c, []im.UserID{"v"})
	w.ok(err)
	if len(added) != 1 || w.store.afterGroup != nil {
		t.Fatalf("added %v; the other change came first: %v", added, w.store.afterGroup == nil)
	}
	for range 3 {
		g, invited, err := w.CreateNew(t.Context(), actor("s"), group.NewGroup{Name: "again", Members: []im.UserID{"v"}, RequestID: "r"})
		if err != nil || g.Members != 2 || len(invited) != 0 {
			// The first one takes the last places; a repeat needs none.
			t.Fatalf("the group: %d members, invited %v, %v", g.Members, invited, err)
		}
	}
	g, invited, err := w.CreateNew(t.Context(), actor("last"), group.NewGroup{Name: "one more", Members: []im.UserID{"v"}})
	if err != nil || g.Members != 1 || len(invited) != 1 {
		t.Errorf("the third stranger of the day: %d members, invited %v, %v", g.Members, invited, err)
	}
}
