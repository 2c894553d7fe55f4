package directory

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// WriteTx is writeTx, for tests.
type WriteTx = writeTx

// Tx is tx, for tests.
func (d *DB) Tx(ctx context.Context, fn func(*WriteTx) error) error { return d.tx(ctx, fn) }

// PushWorkOf is what ClaimPushes does with a work after it was claimed, for tests.
func (d *DB) PushWorkOf(ctx context.Context, session im.SessionID, c im.ConversationID, now time.Time) ([]im.PushWork, error) {
	return d.pushWorks(ctx, []pushKey{{session, c}}, now)
}
