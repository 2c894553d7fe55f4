package contact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// Page is a part of the caller's list.
type Page struct {
	Contacts []Contact
	// Next is the cursor of the next page, "" after the last.
	Next string
	// Revision: what is other after it is told to who asks for what changed since then.
	Revision uint64
	// Reset: what changed since the revision that was asked for is not known any more;
	// this is the first page of the whole list.
	Reset bool
}

// List returns a page of the caller's contacts, requests and blocks: of all, ordered by
// user id, or of those that changed after the revision since, in the order in which they
// changed last. Who is in the list no more is told then as None.
func (s *Service) List(ctx context.Context, actor im.Actor, limit int, cursor string, since uint64) (p Page, err error) {
	if err := checkActor(actor); err != nil {
		return p, err
	}
	if limit, err = im.PageSize(cursor == "" || im.ValidID(cursor), limit, MaxPage, DefaultPage); err != nil {
		return p, err
	}
	now, floor := s.o.Now(), uint64(0)
	if p.Revision, floor, err = s.store.ContactRevision(ctx, actor.User); err != nil {
		return p, fmt.Errorf("list contacts: %w", err)
	}
	switch p.Reset = since > 0 && (since < floor || since > p.Revision); {
	case p.Reset:
		cursor = ""
	case since > 0:
		if cursor != "" {
			if since, err = strconv.ParseUint(cursor, 10, 63); err != nil {
				return p, im.Wrong("cursor", "is not one of this list")
			}
		}
		if p.Contacts, err = s.store.ContactsSince(ctx, actor.User, since, limit+1); err == nil && len(p.Contacts) > limit {
			p.Contacts = p.Contacts[:limit]
			p.Revision = p.Contacts[limit-1].Revision
			p.Next = strconv.FormatUint(p.Revision, 10)
		}
	}
	if since == 0 || p.Reset {
		p.Contacts, err = s.store.Contacts(ctx, actor.User, im.UserID(cursor), now.Add(-s.o.RequestsLast), limit+1)
		if len(p.Contacts) > limit {
			p.Contacts = p.Contacts[:limit]
			p.Next = string(p.Contacts[limit-1].User)
		}
	}
	if err != nil {
		return Page{}, fmt.Errorf("list contacts: %w", err)
	}
	for i := range p.Contacts {
		s.lapse(&p.Contacts[i], now)
		clearGone(&p.Contacts[i])
	}
	return p, nil
}

// SetTags replaces the tags that the caller has for somebody of their list.
func (s *Service) SetTags(ctx context.Context, actor im.Actor, user im.UserID, tags []string) error {
	if len(tags) > MaxTags {
		return im.TooLarge("tags", "may be at most %d", MaxTags)
	}
	var kept []string
	for i, t := range tags {
		field := fmt.Sprintf("tags[%d]", i)
		t = strings.TrimSpace(t)
		if err := im.CheckName(field, t, 1, MaxTag); err != nil {
			return err
		}
		if !slices.Contains(kept, t) {
			kept = append(kept, t)
		}
	}
	_, err := s.change(ctx, actor, user, func(mine, _ *Contact) (event, error) {
		if mine.State == None && !mine.Blocked {
			return event{}, im.Errorf(im.CodeNotFound, "this user is not in your list")
		}
		mine.Tags = strings.Join(kept, "\n")
		return event{kind: im.EventContactTagged, private: true}, nil
	})
	return err
}

// TagsOf returns the tags of a contact.
func TagsOf(c *Contact) []string {
	if c.Tags == "" {
		return nil
	}
	return strings.Split(c.Tags, "\n")
}

// Expires is until when an open request may be answered, in Unix milliseconds; 0: there
// is none.
func (s *Service) Expires(c *Contact) int64 {
	if c.Asked.IsZero() {
		return 0
	}
	return c.Asked.Add(s.o.RequestsLast).UnixMilli()
}

// sweepPage is how much one step of Sweep does.
const sweepPage = 200

// Sweep ends requests that were open for too long, and forgets who has had nothing to
// tell for long. It is called now and then, by any number of nodes.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.o.Now()
	for {
		pairs, err := s.store.LapsedRequests(ctx, now.Add(-s.o.RequestsLast), sweepPage)
		if err != nil {
			return fmt.Errorf("lapsed requests: %w", err)
		}
		var failed error
		for _, p := range pairs {
			_, err := s.change(ctx, im.Actor{User: p[0]}, p[1], func(_, _ *Contact) (event, error) { return event{}, nil })
			failed = errors.Join(failed, err)
		}
		if failed != nil {
			return failed
		}
		if len(pairs) < sweepPage {
			break
		}
	}
	for {
		if more, err := s.store.PurgeContacts(ctx, now.Add(-goneFor), now, sweepPage); err != nil || !more {
			return err
		}
	}
}
