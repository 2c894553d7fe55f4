package group

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/text/cases"

	"github.com/skein-im/skein/internal/im"
)

// Catalogue knows all groups.
type Catalogue interface {
	// AllGroups returns groups with members in the order of their ids, those after one.
	AllGroups(ctx context.Context, after im.ConversationID, limit int) ([]im.GroupInfo, error)
}

// catalogueLooks is how many groups one page looks at.
const catalogueLooks = 5000

// What follows is for who looks after the deployment. Who may is decided by who calls; what
// they do is done as the group's owner would, and its entries have the owner as sender.

// All returns a page of all groups, of those whose name has query in it, in whatever case, or
// whose id it is. next goes on, also after a page with fewer than limit.
func (s *Service) All(ctx context.Context, query string, after im.ConversationID, limit int) (all []Group, next im.ConversationID, err error) {
	fold := cases.Fold()
	wanted := fold.String(query)
	for looked := 0; looked < catalogueLooks; {
		page, err := s.o.All.AllGroups(ctx, after, min(limit+1, 500))
		if err != nil {
			return nil, "", fmt.Errorf("list groups: %w", err)
		}
		for i := range page {
			g := &page[i]
			fits := strings.Contains(fold.String(g.Name), wanted) || string(g.Conversation) == query
			if fits && len(all) == limit {
				return all, after, nil
			}
			if after = g.Conversation; fits {
				all = append(all, *g)
			}
		}
		if looked += len(page); len(page) < min(limit+1, 500) {
			return all, "", nil
		}
	}
	return all, after, nil
}

// Inspect returns a group, and a page of its members, to whoever asks.
func (s *Service) Inspect(ctx context.Context, c im.ConversationID, limit int, cursor string) (g Group, members []Member, next string, err error) {
	if g, err = s.ofAnybody(ctx, c); err != nil {
		return g, nil, "", err
	}
	members, next, err = s.List(ctx, im.Actor{User: g.Owner}, c, im.RoleNone, "", limit, cursor)
	return g, members, next, err
}

// ofAnybody is a group with members; not_found: there is none.
func (s *Service) ofAnybody(ctx context.Context, c im.ConversationID) (Group, error) {
	g, _, err := s.store.Group(ctx, c, nil)
	if err != nil {
		return Group{}, fmt.Errorf("read group: %w", err)
	}
	if g.Members == 0 || g.Owner == "" {
		return Group{}, im.Errorf(im.CodeNotFound, "no such group")
	}
	return g, nil
}

// HandTo makes a user the owner of a group, adding them if they are no member; the owner of
// before becomes an admin. permission_denied: they may not be added, as when they would be
// asked.
func (s *Service) HandTo(ctx context.Context, c im.ConversationID, user im.UserID) error {
	for range attempts {
		g, err := s.ofAnybody(ctx, c)
		if err != nil || g.Owner == user {
			return err
		}
		owner := im.Actor{User: g.Owner}
		v, err := s.view(ctx, owner, c, []im.UserID{user})
		if err != nil {
			return err
		}
		if v.roleOf(user) == im.RoleNone {
			added, _, err := s.Add(ctx, owner, c, []im.UserID{user})
			if err != nil {
				return err
			}
			if len(added) == 0 {
				return im.Errorf(im.CodePermissionDenied, "this user is no member of the group, and cannot be added to it")
			}
		}
		// permission_denied: another has it since.
		if err := s.Transfer(ctx, owner, c, user); im.CodeOf(err) != im.CodePermissionDenied {
			return err
		}
	}
	return im.Errorf(im.CodeConflict, "this group changes too fast just now")
}

// End dismisses a group.
func (s *Service) End(ctx context.Context, c im.ConversationID) error {
	for range attempts {
		g, err := s.ofAnybody(ctx, c)
		if err != nil {
			return err
		}
		if err := s.Dismiss(ctx, im.Actor{User: g.Owner}, c); im.CodeOf(err) != im.CodePermissionDenied {
			return err
		}
	}
	return im.Errorf(im.CodeConflict, "this group changes too fast just now")
}
