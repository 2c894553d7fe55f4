package group_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// TestDismiss: all are out by one entry, nobody writes or comes back, what was said
// stays theirs to read, and the id is taken.
func TestDismiss(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "m", "x", "y")
	w.ask(im.GroupsNobody, "x")
	g, err := w.CreateFor(t.Context(), "o", group.NewGroup{Name: "tea", Conversation: "grp:room", Members: []im.UserID{"a", "m"}})
	w.ok(err)
	c := g.Conversation
	w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
	code := w.link(c, im.JoinApproval, time.Time{}, 0)
	_, err = w.Request(t.Context(), actor("y"), code, "")
	w.ok(err)
	_, _, err = w.Add(t.Context(), actor("o"), c, []im.UserID{"x"})
	w.ok(err)
	_, err = w.MaySend(t.Context(), "m", c)
	w.ok(err)
	w.wantCode(w.Dismiss(t.Context(), actor("a"), c), im.CodePermissionDenied)
	w.wantCode(w.Dismiss(t.Context(), actor("x"), c), im.CodeNotFound)
	w.ok(w.Dismiss(t.Context(), actor("o"), c))

	seq := uint64(len(w.journal.Entries(c)))
	for range 2 {
		for _, u := range []im.UserID{"o", "a", "m"} {
			_, err = w.MaySend(t.Context(), u, c)
			w.wantCode(err, im.CodeNotFound)
			_, err = w.MayReact(t.Context(), u, c)
			w.wantCode(err, im.CodeNotFound)
			place, found, err := w.store.Membership(t.Context(), u, c)
			w.ok(err)
			if !found || place.First != 1 || place.Until != seq || place.Title != "tea" {
				t.Fatalf("%s may read %+v", u, place)
			}
		}
		w.restart()
	}
	_, err = w.Join(t.Context(), actor("y"), code)
	w.wantCode(err, im.CodeNotFound)
	_, err = w.Accept(t.Context(), actor("x"), c)
	w.wantCode(err, im.CodeNotFound)
	w.wantCode(w.Withdraw(t.Context(), actor("y"), c), im.CodeNotFound)
	w.wantCode(w.Dismiss(t.Context(), actor("o"), c), im.CodeNotFound)
	_, err = w.CreateFor(t.Context(), "o", group.NewGroup{Name: "tea", Conversation: c})
	w.wantCode(err, im.CodeAlreadyExists)
	if got := w.members(c); len(got) != 0 {
		t.Fatalf("members %v", got)
	}
	w.agrees(c)
}

// TestDismissRaces: whoever joins, adds or is handed the group while it is dismissed is
// out in the end, or it is not dismissed.
func TestDismissRaces(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "x", "y")
	services := []*group.Service{w.another(group.Options{Shared: true}), w.another(group.Options{Shared: true})}
	for range 6 {
		c := w.create("o", "a")
		code := w.link(c, im.JoinOpen, time.Time{}, 0)
		var wg sync.WaitGroup
		var dismissed, transferred error
		wg.Go(func() { dismissed = services[0].Dismiss(t.Context(), actor("o"), c) })
		wg.Go(func() { transferred = services[1].Transfer(t.Context(), actor("o"), c, "a") })
		wg.Go(func() { _, _ = services[1].Join(t.Context(), actor("x"), code) })
		wg.Go(func() { _, _, _ = services[0].Add(t.Context(), actor("o"), c, []im.UserID{"y"}) })
		wg.Wait()
		members := w.members(c)
		if (dismissed == nil) != (len(members) == 0) || (dismissed == nil) == (transferred == nil) && dismissed != nil {
			t.Fatalf("dismissed %v, handed over %v, members %v", dismissed, transferred, members)
		}
		if _, err := w.Join(t.Context(), actor("x"), code); dismissed == nil && im.CodeOf(err) != im.CodeNotFound {
			t.Fatalf("joined what is over: %v", err)
		}
		w.agrees(c)
	}
}

// TestTransferAndLeave: of handing over to somebody and their leaving at once the group
// keeps exactly one owner, who is in it.
func TestTransferAndLeave(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a")
	services := []*group.Service{w.another(group.Options{Shared: true}), w.another(group.Options{Shared: true})}
	for range 8 {
		c := w.create("o", "a")
		var wg sync.WaitGroup
		var transferred, left error
		wg.Go(func() { transferred = services[0].Transfer(t.Context(), actor("o"), c, "a") })
		wg.Go(func() { left = services[1].Leave(t.Context(), actor("a"), c) })
		wg.Wait()
		owner, members := im.UserID("o"), []im.UserID{"a", "o"}
		if transferred == nil {
			owner = "a"
		}
		if left == nil {
			members = []im.UserID{"o"}
		}
		g, err := w.Get(t.Context(), actor("o"), c)
		w.ok(err)
		if (transferred == nil) == (left == nil) || g.Owner != owner || !slices.Equal(w.members(c), members) {
			t.Fatalf("handed over: %v, left: %v, owner %s, members %v", transferred, left, g.Owner, w.members(c))
		}
		w.agrees(c)
	}
}
