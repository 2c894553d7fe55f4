package messaging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// What a user wrote and kept for themselves is erased when their account is deleted (SPEC
// §3.16): by recalls as their own would be, and by trims of what was theirs alone.

const (
	// One call reads so many pages of givenPage entries at most, and takes back so many
	// messages at a time: others send meanwhile.
	erasedPages = 16
	erasedOnce  = 16
)

// EraseMessages takes back what a user wrote in dms and groups, in the order of the
// conversations, from a place on ("": from the beginning). It ends after some thousand
// entries, and tells where to go on; "" at the end. Done again it takes nothing back twice.
func (s *Service) EraseMessages(ctx context.Context, u im.UserID, place string) (next string, err error) {
	at, after, err := parseErased(place)
	if err != nil {
		return "", err
	}
	all, _, err := s.members.Memberships(ctx, u)
	if err != nil {
		return "", err
	}
	slices.SortFunc(all, func(a, b im.Membership) int { return cmp.Compare(a.Conversation, b.Conversation) })
	pages := 0
	for i := range all {
		c := all[i].Conversation
		if c < at || c.Kind() == im.KindMe {
			continue
		}
		if c > at {
			after = wroteFrom(&all[i]) - 1
		}
		for limit, more := givenPage, true; more; pages++ {
			if pages == erasedPages {
				return string(c) + " " + strconv.FormatUint(after, 10), nil
			}
			last, rest, err := s.erasePage(ctx, u, c, after, limit)
			switch {
			case err == nil:
				after, more = last, rest
			case !errors.Is(err, im.ErrJournalDamaged):
				return "", err
			case limit > 1: // around what is damaged one entry is read after the other
				limit = 1
			default: // it cannot be taken back: nobody reads it
				if more, err = s.isBefore(ctx, c, after+1); err != nil {
					return "", err
				}
				after++
			}
		}
	}
	return "", nil
}

// wroteFrom is the first entry that a user may have written.
func wroteFrom(m *im.Membership) uint64 {
	from := m.First
	for _, w := range m.Earlier {
		from = min(from, w.First)
	}
	return max(from, 1)
}

// parseErased is a place as EraseMessages tells it.
func parseErased(place string) (c im.ConversationID, after uint64, err error) {
	if place == "" {
		return "", 0, nil
	}
	name, seq, _ := strings.Cut(place, " ")
	if after, err = strconv.ParseUint(seq, 10, 63); err != nil {
		return "", 0, fmt.Errorf("place of an erasure %q: %w", place, err)
	}
	return im.ConversationID(name), after, nil
}

// isBefore tells whether an entry is before the last one of a conversation.
func (s *Service) isBefore(ctx context.Context, c im.ConversationID, seq uint64) (bool, error) {
	head, err := s.head(ctx, c)
	if errors.Is(err, im.ErrJournalDamaged) {
		return false, nil // nothing can be stored there, so nothing be taken back
	}
	return seq < head.Seq, err
}

// erasePage takes back what a user wrote in a page of at most limit entries of a conversation,
// behind after, and tells where it ends and whether there may be more.
func (s *Service) erasePage(ctx context.Context, u im.UserID, c im.ConversationID, after uint64, limit int) (last uint64, more bool, err error) {
	es, err := s.journal.Read(ctx, c, after+1, false, limit)
	if err != nil || len(es) == 0 {
		return after, false, err
	}
	var running sync.WaitGroup
	free := make(chan struct{}, erasedOnce)
	failed := make([]error, len(es))
	for i := range es {
		e := &es[i]
		if !e.Kind.Said() || e.Sender != u || e.Recalled || len(e.Body) == 0 {
			continue
		}
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			if err := s.byServer(ctx, e, serverID(e, im.EntryRecall), im.Message{Kind: im.EntryRecall}); err != nil && im.CodeOf(err) != im.CodeNotFound {
				failed[i] = err
			}
		})
	}
	running.Wait()
	return es[len(es)-1].Seq, true, cmp.Or(failed...)
}

// EraseOwn removes what a user kept for themselves: their states of conversations (drafts,
// folders, what is pinned, muted, hidden), their feed, and what they saved (SPEC §4.29).
// Nobody but them read it. Done again it does nothing more.
func (s *Service) EraseOwn(ctx context.Context, u im.UserID) error {
	marks, err := s.markStore.UserMarks(ctx, u)
	if err != nil {
		return err
	}
	for i := range marks {
		if c := marks[i].Conversation; len(marks[i].Mine) == 0 || isNote(c) {
			continue
		}
		if err := s.eraseMine(ctx, &marks[i]); err != nil {
			return fmt.Errorf("state of %s: %w", marks[i].Conversation, err)
		}
	}
	for _, c := range []im.ConversationID{im.Me(u), im.DM(u, u)} {
		head, err := s.head(ctx, c)
		if err == nil && head.Seq > 0 {
			if err = s.doubtSpan(ctx, c, 0, head.Seq); err == nil {
				err = s.trims.Trim(ctx, im.Span{Conversation: c, After: 0, Until: head.Seq})
			}
		}
		if err != nil && !errors.Is(err, im.ErrJournalDamaged) {
			return fmt.Errorf("empty %s: %w", c, err)
		}
	}
	return nil
}

// eraseMine removes what a user set for themselves in a conversation, but for the numbers
// of what they deleted, which nothing takes back.
func (s *Service) eraseMine(ctx context.Context, m *im.Mark) error {
	no, text, at, level := false, "", time.Time{}, im.PushUnset
	change := im.MyChange{Pinned: &no, MutedUntil: &at, Hidden: &no, Draft: &text, Unread: &no, Folder: &text, PushLevel: &level, NoThreads: true}
	key := im.Mark{User: m.User, Conversation: m.Conversation}
	lock := s.marking.of(&key)
	lock.Lock()
	_, done, err := s.storeMine(ctx, key, &change)
	lock.Unlock()
	if err == nil && done != nil {
		err = awaitMarks(ctx, done)
	}
	return err
}
