package group_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// reads returns what f reads of the directory: revisions and whole rosters.
func (w *world) reads(f func()) (revisions, rosters int32) {
	g, r := w.store.groups.Load(), w.store.rosters.Load()
	f()
	return w.store.groups.Load() - g, w.store.rosters.Load() - r
}

// What another process allowed is allowed here at once, though nobody told.
func TestNoIsConfirmed(t *testing.T) {
	w := newWorld(t, group.Options{Shared: true}, "o", "m", "late", "stranger")
	other := w.another(group.Options{})
	ctx := t.Context()
	c := w.create("o", "m")
	may := func(u im.UserID, want uint64) {
		t.Helper()
		rev, err := w.MaySend(ctx, u, c)
		w.ok(err)
		if rev != want {
			t.Fatalf("%s decided on revision %d, want %d", u, rev, want)
		}
	}
	may("m", 1)

	_, _, err := other.Add(ctx, actor("o"), c, []im.UserID{"late"})
	w.ok(err)
	may("late", 2)

	w.ok(other.Mute(ctx, actor("o"), c, "m", w.now.Add(time.Hour)))
	_, err = other.MaySend(ctx, "m", c)
	w.wantCode(err, im.CodeMuted)
	w.Refresh(c)
	_, err = w.MaySend(ctx, "m", c)
	w.wantCode(err, im.CodeMuted)
	w.ok(other.Mute(ctx, actor("o"), c, "m", time.Time{}))
	may("m", 4)

	w.wantCode(w.MayRecall(ctx, "m", c, "late"), im.CodePermissionDenied)
	w.ok(other.SetRole(ctx, actor("o"), c, "m", im.RoleAdmin))
	w.ok(w.MayRecall(ctx, "m", c, "late"))

	// A no that is right costs small reads alone, a yes none.
	may("late", 5)
	revisions, rosters := w.reads(func() {
		_, err := w.MaySend(ctx, "stranger", c)
		w.wantCode(err, im.CodeNotFound)
	})
	if revisions != 1 || rosters != 0 {
		t.Errorf("a no took %d and %d reads", revisions, rosters)
	}
	if revisions, rosters := w.reads(func() { may("late", 5) }); revisions != 0 || rosters != 0 {
		t.Errorf("a yes took %d and %d reads", revisions, rosters)
	}
}

// Alone, a no is answered from RAM as well.
func TestNoAlone(t *testing.T) {
	w := newWorld(t, group.Options{}, "o")
	c := w.create("o")
	_, err := w.MaySend(t.Context(), "o", c)
	w.ok(err)
	if revisions, rosters := w.reads(func() {
		_, err := w.MaySend(t.Context(), "stranger", c)
		w.wantCode(err, im.CodeNotFound)
	}); revisions != 0 || rosters != 0 {
		t.Errorf("a no took %d and %d reads", revisions, rosters)
	}
}

// Many who are refused while another process changes the group again and again:
// everybody who is in is told so, however many read at once.
func TestNoIsConfirmedWhileOthersChange(t *testing.T) {
	w := newWorld(t, group.Options{Shared: true}, "o", "a", "b", "c", "d", "e", "f")
	other := w.another(group.Options{})
	c := w.create("o")
	users := []im.UserID{"a", "b", "c", "d", "e", "f"}
	for i, u := range users {
		_, _, err := other.Add(t.Context(), actor("o"), c, []im.UserID{u})
		w.ok(err)
		var all sync.WaitGroup
		for _, in := range users[:i+1] {
			all.Go(func() {
				if rev, err := w.MaySend(t.Context(), in, c); err != nil || rev < uint64(i+1) {
					t.Errorf("%s: %d %v", in, rev, err)
				}
			})
		}
		all.Go(func() { // and the next change
			w.Refresh(c)
		})
		all.Wait()
	}
}

// A change that another process applied is told here as well, whenever this
// one's drive of it comes back: it leads from the roster before it to the one
// after it, and touches no other.
func TestAppliedByAnother(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name             string
		changes          int // made by the other process before this one reads
		told, told2      int // which change is told then, and after it
		want             uint64
		stranger, member bool
	}{
		{"the roster before it", 1, 2, 0, 3, true, true},
		{"told twice", 1, 2, 2, 3, true, true},
		{"the roster after it", 2, 2, 0, 3, true, true},
		{"an older roster", 0, 2, 0, 1, false, true},
		{"a newer roster", 3, 2, 1, 4, true, false},
		{"both, in the wrong order", 0, 2, 1, 2, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, group.Options{}, "o", "m", "late")
			other := w.another(group.Options{})
			g, err := other.Create(ctx, actor("o"), "friends", []im.UserID{"m"}, "")
			w.ok(err)
			id := g.Conversation
			steps := []func() error{
				func() error { _, err := other.Rename(ctx, actor("o"), id, "others"); return err },
				func() error { _, _, err := other.Add(ctx, actor("o"), id, []im.UserID{"late"}); return err },
				func() error { return other.Leave(ctx, actor("m"), id) },
			}
			for _, step := range steps[:c.changes] {
				w.ok(step())
			}
			_, err = w.MaySend(ctx, "o", id) // it is in RAM now
			w.ok(err)
			for _, step := range steps[c.changes:] {
				w.ok(step())
			}
			for _, n := range []int{c.told, c.told2} {
				if n > 0 {
					w.Applied(w.journal.Entries(id)[n], uint64(n+1))
				}
			}
			rev, err := w.MaySend(ctx, "o", id)
			w.ok(err)
			_, strangerErr := w.MaySend(ctx, "late", id)
			_, memberErr := w.MaySend(ctx, "m", id)
			if rev != c.want || (strangerErr == nil) != c.stranger || (memberErr == nil) != c.member {
				t.Errorf("revision %d, want %d; late %v, m %v", rev, c.want, strangerErr, memberErr)
			}
			if c.stranger {
				if m, known := w.Membership("late", id, rev); !known || m.First != 3 {
					t.Errorf("late sees %+v %v", m, known)
				}
			}
		})
	}
}

// meanwhile runs f between the two reads of Reconcile, or after both.
type meanwhile struct {
	*world
	between, after func()
}

func (m *meanwhile) GroupRevisions(ctx context.Context, after im.ConversationID, limit int) ([]im.GroupInfo, error) {
	list, err := m.store.GroupRevisions(ctx, after, limit)
	if f := m.between; f != nil && after == "" {
		f()
	}
	return list, err
}

func (m *meanwhile) RestoreGroup(ctx context.Context, c im.ConversationID, rev, seq uint64) error {
	return m.store.RestoreGroup(ctx, c, rev, seq)
}

func (m *meanwhile) Heads(ctx context.Context, cs []im.ConversationID, out []im.Head) error {
	err := m.journal.Heads(ctx, cs, out)
	if m.after != nil {
		m.after()
	}
	return err
}

func (m *meanwhile) Timeline() string { return m.journal.Timeline() }

// Changes by others while one starts are no losses.
func TestReconcileWhileOthersChange(t *testing.T) {
	w := newWorld(t, group.Options{}, "o")
	other := w.another(group.Options{})
	c := w.create("o")
	rename := func(name string) func() {
		return func() {
			_, err := other.Rename(t.Context(), actor("o"), c, name)
			w.ok(err)
		}
	}
	m := &meanwhile{world: w, between: rename("between"), after: rename("after")}
	n, err := w.Reconcile(t.Context(), m, m)
	w.ok(err)
	if n != 0 {
		t.Errorf("%d restored", n)
	}
	w.agrees(c)
}

// Two that start find the same loss; the slower one finds it repaired, or the
// group already further.
func TestReconcileByTwo(t *testing.T) {
	for _, further := range []bool{false, true} {
		w, c := lossyWorld(t)
		other := w.another(group.Options{})
		m := &meanwhile{world: w, after: func() {
			n, err := other.Reconcile(t.Context(), w.store, w.journal)
			w.ok(err)
			if n != 1 {
				t.Errorf("%d restored by the faster", n)
			}
			if further {
				_, err := other.Rename(t.Context(), actor("o"), c, "further")
				w.ok(err)
			}
		}}
		_, err := w.Reconcile(t.Context(), m, m)
		w.ok(err)
		if want := map[bool]int{false: 4, true: 5}[further]; len(w.journal.Entries(c)) != want {
			t.Errorf("%d entries, want %d", len(w.journal.Entries(c)), want)
		}
		if !further {
			w.restored(c)
		}
	}
}
