package app

import (
	"context"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/messaging"
)

// logic is the logic role in this process: messaging, with the accounts at its
// door and the API's methods beside it. It is im.Logic; all calls are plain.
// The embedded service gives Send, Mark, Sync, Pull, Compare and Signal.
type logic struct {
	*messaging.Service
	sends    api.Messages // the Service, or what tells of it
	accounts *account.Service
	calls    *api.Calls
}

var _ im.Logic = (*logic)(nil)

func (l *logic) Authenticate(ctx context.Context, h im.Handshake) (im.Actor, error) {
	return l.accounts.Authenticate(ctx, h)
}

func (l *logic) Send(ctx context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	l.sends.Send(ctx, from, m, reply)
}

func (l *logic) Mark(ctx context.Context, from im.Actor, c im.ConversationID, received, read uint64, reply func(error)) {
	reply(l.Service.Mark(ctx, from, c, received, read))
}

func (l *logic) Call(ctx context.Context, from im.Actor, call im.Call) ([]byte, error) {
	return l.calls.Call(ctx, from, call)
}
