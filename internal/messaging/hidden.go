package messaging

import (
	"context"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// hidden tells whether the other of a dm is not told how far its user has read. After an
// error nobody knows: the mark must not move then, or the other may never hear of it.
func (s *Service) hidden(ctx context.Context, m *im.Mark) (bool, error) {
	peer, dm := m.Conversation.Peer(m.User)
	if !dm || m.Read == 0 {
		return false, nil
	}
	hidden, err := s.members.ReadsHidden(ctx, m.User, []im.UserID{peer})
	return len(hidden) > 0, err
}

// shown is what the other of a dm is told of a mark that moves.
type shown uint8

const (
	showAll      shown = iota
	showReceived       // not how far it is read
	showNothing        // that is all that moved: a Receipt would tell the moment of it
)

// shows tells what the other of a dm is told of a mark that is about to move, and where
// that is nothing, the note to store with it.
func (s *Service) shows(ctx context.Context, m *im.Mark) (shown, []im.Mark, error) {
	hidden, err := s.hidden(ctx, m)
	if err != nil || !hidden {
		return showAll, nil, err
	}
	var now [1]im.Mark
	if err := s.markStore.Marks(ctx, []im.MarkKey{{User: m.User, Conversation: m.Conversation}}, now[:], false); err != nil {
		return showAll, nil, err
	}
	if m.Received <= now[0].Received {
		note, err := s.quietly(ctx, m.User, m.Conversation, m.Read)
		return showNothing, note, err
	}
	return showReceived, nil, nil
}

// receipt tells of a mark: the user's own devices of all of it, the other of a dm as
// much as they are shown. to is memory for the recipients.
func (s *Service) receipt(m *im.Mark, shows shown, to []im.UserID) {
	if shows == showAll {
		s.deliverer.Receipt(*m, receiptFor(m, to))
		return
	}
	if peer, dm := m.Conversation.Peer(m.User); dm && shows == showReceived {
		received := *m
		received.Read, received.ReadCount = 0, 0
		s.deliverer.Receipt(received, append(to, peer))
	}
	s.deliverer.Receipt(*m, append(to, m.User))
}

// hideReads takes out of an answer how far others have read who do not show it to u.
func (s *Service) hideReads(ctx context.Context, u im.UserID, all []im.ConversationState) error {
	var peers []im.UserID
	for i := range all {
		if peer, dm := all[i].Conversation.Peer(u); dm && all[i].PeerRead > 0 {
			peers = append(peers, peer)
		}
	}
	if len(peers) == 0 {
		return nil
	}
	hidden, err := s.members.ReadsHidden(ctx, u, peers)
	if err != nil {
		return err
	}
	for i := range all {
		if peer, dm := all[i].Conversation.Peer(u); dm && slices.Contains(hidden, peer) {
			all[i].PeerRead = 0
		}
	}
	return nil
}
