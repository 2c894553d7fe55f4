package app

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/later"
	"github.com/skein-im/skein/internal/messaging"
)

// streamStoreBytes is after how much text a streamed message is made durable, however
// soon after the last time.
const streamStoreBytes = 8 << 10

// makeLater makes what sends messages at their time, and what does to messages what is to
// become of them at a time.
func (a *App) makeLater(m *members) {
	a.later = later.New(later.Options{
		Store: a.directory, Due: a.directory, Lease: a.directory, Send: a.messaging.Send, Drive: a.outbox.Help,
		MaySend: func(ctx context.Context, u im.UserID, c im.ConversationID) error {
			_, err := m.MaySend(ctx, u, c, im.EntryMessage)
			return err
		},
		Node: a.cfg.Node.Name, Alone: a.shared == nil, Now: a.now, Logger: a.log,
	})
	a.timers = later.NewTimers(later.TimersOptions{
		Store: a.directory, Lease: a.directory, Do: a.messaging.TimeIsUp,
		Node: a.cfg.Node.Name, Alone: a.shared == nil, Now: a.now, Logger: a.log,
	})
	if keep := time.Duration(a.cfg.Messaging.Retention); keep > 0 {
		a.retention = later.NewRetention(later.RetentionOptions{
			Journal: a.journal, Lease: a.directory, Keep: keep, Pause: messaging.KeepPause(keep),
			Kept: a.messaging.Kept, Raise: a.messaging.Raise, GiveUp: a.messaging.GiveUp,
			Node: a.cfg.Node.Name, Alone: a.shared == nil, Now: a.now, Logger: a.log,
		})
	}
}
