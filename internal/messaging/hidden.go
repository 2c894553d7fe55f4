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

// receipt tells of a mark: the user's own devices of all of it, the other of a dm, where
// it is hidden, that it was received. to is memory for the recipients.
func (s *Service) receipt(m *im.Mark, hidden bool, to []im.UserID) {
	if !hidden {
		s.deliverer.Receipt(*m, receiptFor(m, to))
		return
	}
	if peer, dm := m.Conversation.Peer(m.User); dm {
		received := *m
		received.Read = 0
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
