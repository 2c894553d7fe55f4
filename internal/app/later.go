package app

import (
	"context"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/later"
)

// makeLater makes what sends messages at their time.
func (a *App) makeLater(m *members) {
	a.later = later.New(later.Options{
		Store: a.directory, Due: a.directory, Lease: a.directory, Send: a.messaging.Send, Drive: a.outbox.Help,
		MaySend: func(ctx context.Context, u im.UserID, c im.ConversationID) error {
			_, err := m.MaySend(ctx, u, c, im.EntryMessage)
			return err
		},
		Node: a.cfg.Node.Name, Alone: a.shared == nil, Logger: a.log,
	})
}
