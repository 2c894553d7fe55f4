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
		Name: a.messaging.NameLater, Doubt: a.messaging.DoubtLater,
		MaySend: func(ctx context.Context, u im.UserID, c im.ConversationID) error {
			_, err := m.MaySend(ctx, u, c, 0) // nothing is said yet
			return err
		},
		Node: a.cfg.Node.Name, Alone: a.shared == nil, Now: a.now, Logger: a.log,
	})
	a.timers = later.NewTimers(later.TimersOptions{
		Store: a.directory, Lease: a.directory, Do: a.messaging.TimeIsUp,
		Node: a.cfg.Node.Name, Alone: a.shared == nil, Now: a.now, Logger: a.log,
	})
	a.erasures = later.NewErasures(later.ErasuresOptions{
		Store: a.directory, Lease: a.directory, Steps: a.erasureSteps(m),
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

// What somebody sent before their sessions ended is stored soon after. With other processes
// it may be longer: one that missed the word lets them send until it looks by itself.
const (
	sentAlone  = 10 * time.Second
	sentShared = 90 * time.Second
)

// erasureSteps are what is done about a user whose account was deleted (SPEC §3.16). What
// they wrote comes behind their groups and contacts: nothing of theirs is stored any more.
func (a *App) erasureSteps(m *members) []later.ErasureStep {
	sent := sentAlone
	if a.shared != nil {
		sent = sentShared
	}
	whole := func(do func(ctx context.Context, u im.UserID) error) func(context.Context, im.Erasure) (string, error) {
		return func(ctx context.Context, e im.Erasure) (string, error) { return "", do(ctx, e.User) }
	}
	return []later.ErasureStep{
		{Do: whole(m.contacts.Erase)},
		{Do: whole(m.groups.Erase)},
		{After: sent, Do: func(ctx context.Context, e im.Erasure) (string, error) {
			if !e.Messages {
				return "", nil
			}
			return a.messaging.EraseMessages(ctx, e.User, e.Place)
		}},
		{After: sent, Do: whole(a.messaging.EraseOwn)},
		{After: sent, Do: func(ctx context.Context, e im.Erasure) (string, error) {
			return "", a.directory.EraseRest(ctx, e, a.now())
		}},
	}
}

func (a *App) startLater() {
	a.later.Start()
	a.timers.Start()
	a.erasures.Start()
}

func (a *App) closeLater() {
	if a.later != nil {
		a.later.Close()
		a.timers.Close()
		a.erasures.Close()
	}
}
