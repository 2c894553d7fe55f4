package messaging

import (
	"context"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// SetMyState changes what the actor set for themselves in a conversation, and returns
// it as it is now. It is kept beside their marks, written as they are, and durable
// when this returns; then the actor's devices are told. Of changes at one node each
// finds what the one before made; of two at two nodes within the same moment the
// later one counts, for all fields.
func (s *Service) SetMyState(ctx context.Context, from im.Actor, c im.ConversationID, change im.MyChange) (im.MyState, error) {
	head, m, err := s.headAs(ctx, from.User, c)
	if err != nil {
		return im.MyState{}, err
	}
	if err := s.somebodyThere(ctx, from.User, c, head); err != nil {
		return im.MyState{}, err
	}
	last := head.Seq
	if m.Until != 0 {
		last = min(last, m.Until)
	}
	if err := checkMine(&change, last); err != nil {
		return im.MyState{}, err
	}
	r := reading{s: s, user: from.User, m: m}
	if err := r.mayDelete(ctx, change.Delete, last); err != nil {
		return im.MyState{}, err
	}
	if change.Thread != nil {
		if _, err := s.threadRoot(ctx, from.User, c, change.Thread.Root, false); err != nil {
			return im.MyState{}, inField("thread.root", err)
		}
	}
	if change.Hidden != nil && *change.Hidden && last > 0 {
		if change.Count, err = s.countAt(ctx, c, last, head); err != nil {
			return im.MyState{}, err
		}
	}
	if change.ClearedBelow != nil && min(*change.ClearedBelow, last+1) > 1 {
		// What is cleared is read: nobody could read it any more, and it would stay unread.
		if err := s.MarkRead(ctx, from, c, min(*change.ClearedBelow-1, last)); err != nil {
			return im.MyState{}, err
		}
	}
	key := im.Mark{User: from.User, Conversation: c}
	lock := s.marking.of(&key)
	lock.Lock()
	state, done, err := s.storeMine(ctx, key, &change)
	lock.Unlock()
	if err == nil && done != nil {
		err = awaitMarks(ctx, done)
	}
	if err != nil {
		return im.MyState{}, err
	}
	if done != nil {
		s.deliverer.MyState(from.User, state)
	}
	return state, nil
}

// somebodyThere refuses a direct chat with a user who does not exist, in which nothing is
// written: it would be in the user's list for ever. Whether the user may write to somebody
// who does exist is another question, and what was set before a user was deleted may be
// taken back.
func (s *Service) somebodyThere(ctx context.Context, u im.UserID, c im.ConversationID, head im.Head) error {
	if head != (im.Head{}) || c.Kind() != im.KindDM {
		return nil
	}
	var now [1]im.Mark
	if err := s.markStore.Marks(ctx, []im.MarkKey{{User: u, Conversation: c}}, now[:], false); err != nil || now[0].Mine != "" {
		return err
	}
	_, err := s.permissions.MaySend(ctx, u, c, 0)
	if code := im.CodeOf(err); code == im.CodeNotFound || code.Info().Action != im.ActionFix {
		return err
	}
	return nil
}

// storeMine makes the change of one user's record, under its lock. done, if not nil,
// tells when it is durable.
func (s *Service) storeMine(ctx context.Context, key im.Mark, change *im.MyChange) (im.MyState, <-chan error, error) {
	var now [1]im.Mark
	if err := s.markStore.Marks(ctx, []im.MarkKey{{User: key.User, Conversation: key.Conversation}}, now[:], false); err != nil {
		return im.MyState{}, nil, err
	}
	change.Read = now[0].Read
	next, state, changed, err := entrycodec.SetMyState(now[0].Mine, key.Conversation, change)
	if err != nil || !changed {
		return state, nil, err
	}
	if n := state.Deleted.Len(); n > im.MaxDeleted {
		return state, nil, im.TooLarge("delete", "makes %d stretches of deleted messages; at most %d of a conversation are kept", n, im.MaxDeleted)
	}
	key.Mine = next
	set, err := s.quietly(ctx, key.User, key.Conversation, 0)
	if err != nil {
		return state, nil, err
	}
	done := make(chan error, 1)
	err = s.setMark(ctx, key.Conversation, append(set, key), im.MarkWait{Stored: func(err error) { done <- err }, Soon: true})
	if errors.Is(err, im.ErrJournalFull) {
		e := im.Wrap(err, im.CodeStorageFull, "the server's disk is full; nothing was stored")
		e.RetryAfter = time.Second
		err = e
	}
	return state, done, err
}

// checkMine refuses what cannot be set in a conversation that ends at last.
func checkMine(c *im.MyChange, last uint64) error {
	switch {
	case *c == im.MyChange{}:
		return im.Wrong("pinned", "is missing, as is all else that is changed")
	case c.Draft != nil && len(*c.Draft) > im.MaxDraft:
		return im.TooLarge("draft", "has %d bytes; at most %d are allowed", len(*c.Draft), im.MaxDraft)
	case c.ClearedBelow != nil && *c.ClearedBelow > last+1:
		return im.Wrong("clearedBelow", "%d is beyond the end, %d", *c.ClearedBelow, last+1)
	case c.Thread != nil && c.Thread.Read != nil && *c.Thread.Read > last:
		return im.Wrong("thread.read", "%d is beyond the end, %d", *c.Thread.Read, last)
	}
	return nil
}

// mine is what the user set for themselves, as far as it can be read.
func (s *Service) mine(m *im.Mark, c im.ConversationID) im.MyState {
	state, err := entrycodec.MyState(m.Mine, c)
	if err != nil {
		s.log.Error("what a user set for themselves cannot be read", "user", m.User, "conversation", c, "err", err)
	}
	return state
}
