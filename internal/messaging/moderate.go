package messaging

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

// TakeBack takes a message back for the deployment: as its author could, whoever that is and
// however long ago. Done again it does nothing more. not_found: there is no such message. Who
// may is decided by who calls.
func (s *Service) TakeBack(ctx context.Context, c im.ConversationID, seq uint64) error {
	es, err := s.journal.Read(ctx, c, seq, false, 1)
	if err != nil {
		return err
	}
	if len(es) == 0 || es[0].Seq != seq || !es[0].Kind.Said() || len(es[0].Body) == 0 && !es[0].Recalled {
		return errNoMessage
	}
	if es[0].Recalled {
		return nil
	}
	return s.byServer(ctx, &es[0], serverID(&es[0], im.EntryRecall), im.Message{Kind: im.EntryRecall})
}
