package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox/outboxtest"
)

// lossy is a group of o, m, gone and late, whose journal then loses all behind
// entry 3: gone was removed and late added in what is lost, early was removed
// before that. Its revision is the number of its entries.
func (w *world) lossy() im.ConversationID {
	w.t.Helper()
	ctx := w.t.Context()
	c := w.create("o", "m", "gone")
	steps := []func() error{
		func() error { _, _, err := w.Add(ctx, actor("o"), c, []im.UserID{"early"}); return err },
		func() error { _, err := w.Remove(ctx, actor("o"), c, []im.UserID{"early"}); return err },
		func() error { _, err := w.Remove(ctx, actor("o"), c, []im.UserID{"gone"}); return err },
		func() error { _, _, err := w.Add(ctx, actor("o"), c, []im.UserID{"late"}); return err },
	}
	for _, step := range steps {
		w.ok(step())
	}
	w.journal.Lose(c, 3)
	return c
}

func lossyWorld(t *testing.T) (*world, im.ConversationID) {
	w := newWorld(t, group.Options{}, "o", "m", "gone", "early", "late")
	return w, w.lossy()
}

func (w *world) reconcile() (int, error) {
	w.t.Helper()
	return w.Reconcile(w.t.Context(), w.store, w.journal)
}

// place is what a user may read, as first–until.
func (w *world) place(u im.UserID, c im.ConversationID) string {
	w.t.Helper()
	m, found, err := w.store.Membership(w.t.Context(), u, c)
	w.ok(err)
	if !found {
		return "nothing"
	}
	return fmt.Sprintf("%d–%d", m.First, m.Until)
}

// restored checks that a lossy group is as it has to be after Reconcile, with
// its entry at 4 and further ones behind it.
func (w *world) restored(c im.ConversationID) {
	w.t.Helper()
	entries := w.journal.Entries(c)
	if len(entries) < 4 {
		w.t.Fatalf("%d entries", len(entries))
	}
	if e := entries[3]; e.Event.Type != im.EventGroupRestored || e.Sender != "" || e.IfRoster != 3 || e.SetRoster != 5 {
		w.t.Fatalf("the entry is %+v", e)
	}
	for u, want := range map[im.UserID]string{"o": "1–0", "m": "1–0", "late": "4–0", "gone": "1–3", "early": "2–3"} {
		if got := w.place(u, c); got != want {
			w.t.Errorf("%s may read %s, want %s", u, got, want)
		}
		if m, known := w.Membership(u, c, w.journal.Roster(c)); known && fmt.Sprintf("%d–0", m.First) != want {
			w.t.Errorf("%s may read from %d on as RAM has it, want %s", u, m.First, want)
		}
	}
	for _, u := range []im.UserID{"o", "m", "late"} {
		rev, err := w.MaySend(w.t.Context(), u, c)
		w.ok(err)
		if rev != w.journal.Roster(c) {
			w.t.Errorf("%s may send at revision %d, the journal takes %d", u, rev, w.journal.Roster(c))
		}
	}
	for _, u := range []im.UserID{"gone", "early"} {
		_, err := w.MaySend(w.t.Context(), u, c)
		w.wantCode(err, im.CodeNotFound)
	}
}

// The story: after --accept-loss every send to the group was answered
// `unavailable`, and those who had been removed could read on.
func TestReconcile(t *testing.T) {
	w, c := lossyWorld(t)
	healthy := w.create("o", "m")
	if _, err := w.MaySend(t.Context(), "m", c); err != nil { // the roster is cached
		t.Fatal(err)
	}
	n, err := w.reconcile()
	w.ok(err)
	if n != 1 {
		t.Fatalf("%d groups restored, want 1", n)
	}
	w.restored(c)
	w.agrees(healthy)

	_, err = w.Rename(t.Context(), actor("o"), c, "life goes on")
	w.ok(err)
	w.restored(c)
	if n, err = w.reconcile(); n != 0 || err != nil {
		t.Fatalf("a second time: %d, %v", n, err)
	}
	if len(w.journal.Entries(c)) != 5 || len(w.journal.Entries(healthy)) != 1 {
		t.Fatal("entries were added without need")
	}
}

// A journal that is gone altogether.
func TestReconcileFromNothing(t *testing.T) {
	w, c := lossyWorld(t)
	w.journal.Lose(c, 0)
	if n, err := w.reconcile(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for u, want := range map[im.UserID]string{"o": "1–0", "late": "1–0", "gone": "nothing", "early": "nothing"} {
		if got := w.place(u, c); got != want {
			t.Errorf("%s may read %s, want %s", u, got, want)
		}
	}
	if w.journal.Roster(c) != 5 {
		t.Fatalf("the journal is at revision %d", w.journal.Roster(c))
	}
}

// A promise waits for the revision that Reconcile brings back.
func TestReconcileBeforeAPromise(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m", "gone", "early", "late")
	c := w.lossyWithPromise()
	if n, err := w.reconcile(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	w.restart()
	w.restored(c)
	g, err := w.Get(t.Context(), actor("m"), c)
	w.ok(err)
	if g.Name != "promised" || g.Rev != 6 || w.journal.Roster(c) != 6 {
		t.Fatalf("%+v, the journal is at %d", g, w.journal.Roster(c))
	}
}

func (w *world) lossyWithPromise() im.ConversationID {
	w.t.Helper()
	c := w.lossy()
	w.journal.Stop = func(outboxtest.Step, im.Promise) bool { return true }
	_, err := w.Rename(w.t.Context(), actor("o"), c, "promised")
	w.wantCode(err, im.CodeUnknown)
	w.journal.Stop = nil
	return c
}

// A crash between any two steps: the next start ends what this one began, and
// adds the entry once.
func TestReconcileCrashes(t *testing.T) {
	for _, at := range []outboxtest.Step{outboxtest.Promised, outboxtest.Appended, outboxtest.Applied} {
		w, c := lossyWorld(t)
		var tried []im.MessageID
		w.journal.Stop = func(s outboxtest.Step, p im.Promise) bool {
			if s == outboxtest.Promised {
				tried = append(tried, p.ID)
			}
			return s == at
		}
		if _, err := w.reconcile(); !errors.Is(err, outboxtest.ErrStopped) {
			t.Fatalf("step %d: %v", at, err)
		}
		if got := w.place("gone", c); got != "1–3" {
			t.Fatalf("step %d: one who left may read %s", at, got)
		}
		w.journal.Stop = nil
		w.restart()
		if _, err := w.reconcile(); err != nil {
			t.Fatal(err)
		}
		w.restored(c)
		entries := w.journal.Entries(c)
		if len(entries) != 4 || entries[3].ID != tried[0] {
			t.Fatalf("step %d: %d entries, the last %s, first tried %s", at, len(entries), entries[3].ID, tried[0])
		}
	}
}

// Where the journal is ahead nothing was lost: a promise waits to be applied.
func TestReconcileLeavesPromisesAlone(t *testing.T) {
	for _, at := range []outboxtest.Step{outboxtest.Promised, outboxtest.Appended} {
		w := newWorld(t, group.Options{}, "o", "m")
		c := w.create("o")
		w.journal.Stop = func(s outboxtest.Step, _ im.Promise) bool { return s == at }
		_, _, err := w.Add(t.Context(), actor("o"), c, []im.UserID{"m"})
		w.wantCode(err, im.CodeUnknown)
		_, err = w.Create(t.Context(), actor("o"), "new", nil, "r")
		w.wantCode(err, im.CodeUnknown)
		if n, err := w.reconcile(); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		w.restart()
		w.agrees(c)
	}
}

// many is a directory of groups at revision 1 and a journal that knows all but
// some of them.
type many struct {
	groups []im.GroupInfo
	lost   []im.ConversationID
	done   []im.ConversationID
}

func (m *many) GroupRevisions(_ context.Context, after im.ConversationID, limit int) ([]im.GroupInfo, error) {
	from := slices.IndexFunc(m.groups, func(g im.GroupInfo) bool { return g.Conversation > after })
	if from < 0 {
		return nil, nil
	}
	return m.groups[from:min(from+limit, len(m.groups))], nil
}

func (m *many) RestoreGroup(_ context.Context, c im.ConversationID, rev, seq uint64) error {
	if rev != 1 || seq != 1 {
		return fmt.Errorf("%s at revision %d from %d", c, rev, seq)
	}
	m.done = append(m.done, c)
	return nil
}

func (m *many) Heads(_ context.Context, cs []im.ConversationID, out []im.Head) error {
	for i, c := range cs {
		out[i] = im.Head{Seq: 1, Roster: 1}
		if slices.Contains(m.lost, c) {
			out[i] = im.Head{}
		}
	}
	return nil
}

func (m *many) Timeline() string { return "t1" }

func TestReconcilePages(t *testing.T) {
	m := &many{}
	for i := range 2001 {
		m.groups = append(m.groups, im.GroupInfo{Conversation: im.Group(fmt.Sprintf("%04d", i)), Rev: 1})
	}
	m.lost = []im.ConversationID{"grp:0000", "grp:0999", "grp:1000", "grp:2000"}
	w := newWorld(t, group.Options{})
	n, err := w.Reconcile(t.Context(), m, m)
	w.ok(err)
	if n != len(m.lost) || !slices.Equal(m.done, m.lost) {
		t.Fatalf("%d restored: %v", n, m.done)
	}
	ids := map[im.MessageID]bool{}
	for _, c := range m.lost {
		ids[w.journal.Entries(c)[0].ID] = true
	}
	if len(ids) != len(m.lost) {
		t.Fatal("entries of different groups have one id")
	}
}
