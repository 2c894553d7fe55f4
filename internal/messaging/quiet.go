package messaging

import (
	"context"
	"fmt"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// A mark's Pos says that something moved there, to the user's own devices and to the other
// of a dm alike. Of some moves the other is not told: what the user set for themselves, and
// how far they have read, where that is hidden. The other's next Sync would tell the
// conversation again, with nothing new in it, and so when that happened. So such a move is
// stored with a note: as long as the mark is where the move brings it, the other goes by the
// position that the note names. A note is kept as a mark of the same user, in a conversation
// that nobody can name.

// noteMark ends the name under which a conversation's note is kept. No conversation has it.
const noteMark = ":quiet"

func noteOf(c im.ConversationID) im.ConversationID { return c + noteMark }

// isNote tells a note from a conversation with a user, or a group, that is called as the
// mark is.
func isNote(c im.ConversationID) bool {
	of, marked := strings.CutSuffix(string(c), noteMark)
	return marked && im.ConversationID(of).Kind() == im.KindDM
}

// note says that the last move to these marks that the other was told of was at pos.
type note struct{ received, read, pos uint64 }

func (n note) String() string { return fmt.Sprintf("%d.%d.%d", n.received, n.read, n.pos) }

func parseNote(s string) (n note, ok bool) {
	_, err := fmt.Sscanf(s, "%d.%d.%d", &n.received, &n.read, &n.pos)
	return n, err == nil
}

// seenAt is the position of the last move of a mark that the other of a dm is told of.
func seenAt(m *im.Mark, kept string) uint64 {
	if n, ok := parseNote(kept); ok && n.received == m.Received && n.read == m.Read {
		return n.pos
	}
	return m.Pos
}

// quietly returns the note to store with a move of which the other of a dm is not told:
// the mark stays where it is, or is read further. It is called under the mark's lock;
// outside of dms there is none.
func (s *Service) quietly(ctx context.Context, u im.UserID, c im.ConversationID, read uint64) ([]im.Mark, error) {
	if _, dm := c.Peer(u); !dm {
		return nil, nil
	}
	keys := []im.MarkKey{{User: u, Conversation: c}, {User: u, Conversation: noteOf(c)}}
	var now [2]im.Mark
	if err := s.markStore.Marks(ctx, keys, now[:], false); err != nil {
		return nil, err
	}
	if seenAt(&now[0], now[1].Mine) == now[0].Pos && now[0].Pos > 0 {
		// The position of a mark is known when it is durable.
		if err := s.settleMarks(ctx, []markPair{{own: now[0]}}); err != nil {
			return nil, err
		}
		if err := s.markStore.Marks(ctx, keys, now[:], false); err != nil {
			return nil, err
		}
	}
	n := note{received: now[0].Received, read: max(read, now[0].Read), pos: seenAt(&now[0], now[1].Mine)}
	return []im.Mark{{User: u, Conversation: noteOf(c), Mine: n.String()}}, nil
}

// hushPeers gives the marks of others whose dms are told for nothing but these the position
// of the last move that u is told of.
func (s *Service) hushPeers(ctx context.Context, since im.Position, all []view, marks []markPair) error {
	var keys []im.MarkKey
	var of []int
	for i := range all {
		if p := &marks[i].peer; s.isMoved(p, since) && !s.isMoved(&marks[i].own, since) && !s.isNew(all[i].m.Conversation, &all[i].head, since) {
			keys, of = append(keys, im.MarkKey{User: p.User, Conversation: noteOf(p.Conversation)}), append(of, i)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	notes := make([]im.Mark, len(keys))
	if err := s.markStore.Marks(ctx, keys, notes, false); err != nil {
		return err
	}
	for n, i := range of {
		marks[i].peer.Pos = seenAt(&marks[i].peer, notes[n].Mine)
	}
	return nil
}
