package group_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox"
	"github.com/skein-im/skein/internal/outbox/outboxtest"
)

// A server is put back to a copy in which a change is promised and not applied,
// and users know of it: the group was made, or they were let in. They are told to
// come again, and not that there is no such group; the change is driven. Everybody
// else is answered as ever.
func TestNoWhilePromised(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t, group.Options{}, "o", "m", "late", "stranger")
	var helped []im.ConversationID
	node := w.another(group.Options{Shared: true, Help: func(c im.ConversationID) { helped = append(helped, c) }})
	refused := func(u im.UserID, c im.ConversationID, want im.Code) {
		t.Helper()
		helped = nil
		_, err := node.MaySend(ctx, u, c)
		w.wantCode(err, want)
		if later := want == im.CodeUnavailable; later != slices.Equal(helped, []im.ConversationID{c}) || later != (im.Public(err).RetryAfter > 0) {
			t.Errorf("%s was told %v, helped %v", u, err, helped)
		}
	}
	stopped := func(outboxtest.Step, im.Promise) bool { return true }
	drive := func() {
		t.Helper()
		w.journal.Stop = nil
		_, err := outbox.New(w.store, w.journal, outbox.Options{}).Replay(ctx)
		w.ok(err)
	}

	w.journal.Stop = stopped
	_, err := w.Create(ctx, actor("o"), "friends", []im.UserID{"m"}, "")
	w.wantCode(err, im.CodeUnknown)
	ps, _, err := w.store.Pending(ctx, 0, 10)
	w.ok(err)
	c := ps[0].Conversation
	refused("o", c, im.CodeUnavailable)
	refused("m", c, im.CodeUnavailable)
	refused("stranger", c, im.CodeNotFound)
	w.wantCode(node.MayRecall(ctx, "m", c, "o"), im.CodeUnavailable)
	drive()
	for _, u := range []im.UserID{"o", "m"} {
		_, err := node.MaySend(ctx, u, c)
		w.ok(err)
	}

	w.journal.Stop = stopped
	_, _, err = w.Add(ctx, actor("o"), c, []im.UserID{"late"})
	w.wantCode(err, im.CodeUnknown)
	refused("late", c, im.CodeUnavailable)
	refused("stranger", c, im.CodeNotFound)
	if _, err = node.Get(ctx, actor("late"), c); im.CodeOf(err) != im.CodeUnavailable {
		t.Errorf("who waits for a change that cannot be made was told %v", err)
	}
	w.journal.Stop = nil
	g, err := node.Get(ctx, actor("late"), c) // over HTTP it is waited for
	w.ok(err)
	if g.Role != im.RoleMember {
		t.Errorf("role %v", g.Role)
	}
	_, err = node.MaySend(ctx, "late", c)
	w.ok(err)
	refused("stranger", c, im.CodeNotFound)
}

// The directory goes back under a node that has not heard of it: no no of the
// history that is gone is given, whichever revision it was of.
func TestNoOfAHistoryThatIsGone(t *testing.T) {
	for name, now := range map[string]func(other *group.Service, c im.ConversationID) error{
		"behind it": func(*group.Service, im.ConversationID) error { return nil },
		"at the same revision": func(other *group.Service, c im.ConversationID) error {
			_, err := other.Rename(t.Context(), actor("o"), c, "still friends")
			return err
		},
		"past it": func(other *group.Service, c im.ConversationID) error {
			_, err := other.Rename(t.Context(), actor("o"), c, "still friends")
			return errors.Join(err, other.SetRole(t.Context(), actor("o"), c, "m", im.RoleAdmin))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			w := newWorld(t, group.Options{}, "o", "m")
			c := w.create("o", "m")
			dir := t.TempDir()
			w.ok(w.store.Snapshot(ctx, filepath.Join(dir, "directory.db"), func() error { return nil }))
			before := &outboxtest.Journal{}
			for _, p := range w.journal.Entries(c) {
				_, err := before.AppendEvent(ctx, p, nil)
				w.ok(err)
			}

			node := w.another(group.Options{Shared: true})
			_, err := w.Remove(ctx, actor("o"), c, []im.UserID{"m"})
			w.ok(err)
			_, err = node.MaySend(ctx, "m", c)
			w.wantCode(err, im.CodeNotFound)

			copied, err := sqlite.Open(filepath.Join(dir, "directory.db"), sqlite.Options{})
			w.ok(err)
			defer copied.Close()
			w.store.DB, w.journal = copied, before
			w.ok(now(w.another(group.Options{}), c))
			_, err = node.MaySend(ctx, "m", c)
			w.ok(err)
		})
	}
}
