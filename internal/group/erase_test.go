package group_test

import (
	"context"
	"testing"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// places tells where a user is; right after its first answer something happens.
type places struct {
	group.Places
	then func()
}

func (p *places) RolesOf(ctx context.Context, user im.UserID) (map[im.ConversationID]im.Role, error) {
	roles, err := p.Places.RolesOf(ctx, user)
	if f := p.then; f != nil {
		p.then = nil
		f()
	}
	return roles, err
}

// Two processes have the same user leave all groups at the same time: what one has read of
// the user's roles is no longer true when it acts on it, and they are out of all groups
// nevertheless.
func TestTwoErase(t *testing.T) {
	for name, other := range map[string]func(context.Context, *group.Service, im.ConversationID) error{
		"gave one away": func(ctx context.Context, s *group.Service, owned im.ConversationID) error {
			return s.Transfer(ctx, actor("zoe"), owned, "bob")
		},
		"did it all": func(ctx context.Context, s *group.Service, _ im.ConversationID) error { return s.Erase(ctx, "zoe") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, group.Options{}, "zoe", "bob", "cem")
			w.store.everyone = true
			alone, owned, member := w.create("zoe"), w.create("zoe", "bob", "cem"), w.create("bob", "zoe")
			first := w.another(group.Options{Places: w.store})
			second := w.another(group.Options{Places: &places{Places: w.store, then: func() { w.ok(other(t.Context(), first, owned)) }}})
			w.ok(second.Erase(t.Context(), "zoe"))
			for _, c := range []im.ConversationID{alone, owned, member} {
				if _, zoe, err := w.store.DB.Group(t.Context(), c, []im.UserID{"zoe"}); len(zoe) > 0 && zoe[0].Role != im.RoleNone {
					t.Errorf("%s has her as %v, %v", c, zoe[0].Role, err)
				}
			}
		})
	}
}
