package contact_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/im"
)

func TestMayWatch(t *testing.T) {
	w := newWorld(t, "me", "friend", "blocker", "asked", "stranger")
	for _, step := range []string{
		"me asks friend", "friend accepts me", "me asks blocker", "blocker accepts me", "blocker blocks me", "me asks asked",
		"me blocks friend",
	} {
		if err := w.do(step); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.MayWatch(t.Context(), "me", []im.UserID{"stranger", "friend", "ghost", "blocker", "asked", "me", "friend"})
	if err != nil || len(got) != 0 {
		t.Fatal("whom I blocked", got, err)
	}
	if err := w.do("me unblocks friend"); err != nil {
		t.Fatal(err)
	}
	got, err = w.MayWatch(t.Context(), "me", []im.UserID{"stranger", "friend", "ghost", "blocker", "asked", "me", "friend"})
	if err != nil || !slices.Equal(got, []im.Watched{{User: "friend"}}) {
		t.Fatal(got, err)
	}
	if err := w.do("me blocks friend"); err != nil {
		t.Fatal(err)
	}
	if got, err := w.MayWatch(t.Context(), "friend", []im.UserID{"me"}); err != nil || len(got) != 0 {
		t.Fatal("the blocked friend may watch", got, err)
	}
	if got, err := w.MayWatch(t.Context(), "me", nil); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
}

// Who hides how far they have read, or blocked the other, shows it to neither; what is
// known is not read again, and what changed counts at once, also by another process.
func TestReadsHidden(t *testing.T) {
	p := newProcesses(t, "a", "b", "c")
	hidden := func(s *contact.Service, want ...im.UserID) {
		t.Helper()
		for _, pair := range [][2]im.UserID{{"a", "b"}, {"b", "a"}} {
			got, err := s.ReadsHidden(t.Context(), pair[0], []im.UserID{pair[1], "c"})
			if err != nil || slices.Contains(got, pair[1]) != slices.Contains(want, "b") || slices.Contains(got, "c") != slices.Contains(want, "c") {
				t.Errorf("between %s and others: %v, %v; want %v", pair[0], got, err, want)
			}
		}
	}
	hidden(p.Service)
	hidden(p.second)
	before := p.store.hidden.Load()
	hidden(p.Service)
	if n := p.store.hidden.Load() - before; n != 0 {
		t.Errorf("what is known was read %d times", n)
	}
	hear := func() {
		for _, n := range p.news {
			p.second.Forget(n[0], n[1])
		}
		p.news = nil
	}
	p.steps("a blocks b")
	hear()
	hidden(p.Service, "b")
	hidden(p.second, "b")
	p.steps("a unblocks b")
	hear()
	hidden(p.Service)
	hidden(p.second)
	yes := true
	if _, err := p.db.UpdateUser(t.Context(), "c", im.ProfileChange{HideReads: &yes}); err != nil {
		t.Fatal(err)
	}
	p.PrivacyChanged(t.Context(), "c")
	hidden(p.Service, "c")
	hear()
	hidden(p.second, "c")
	// Without a word it is known after a minute.
	p.steps("a blocks b")
	p.news = nil
	p.clock = now.Add(2 * time.Minute)
	hidden(p.second, "b", "c")
}

func (s *store) ReadsHidden(ctx context.Context, user im.UserID, others []im.UserID) ([]im.UserID, error) {
	s.hidden.Add(1)
	return s.DB.ReadsHidden(ctx, user, others)
}
