package skein

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// Silent asks that nobody be notified of the message: it counts as unread, and clients
// neither sound nor show a notification.
func Silent() SendOption {
	return func(s *wire.Send) { s.Silent = true }
}

// Pin pins the message seq for everybody in the conversation: who may in a group, says
// the group (permission_denied); in a dm both may. What is pinned already stays as it is.
// The event that tells it is a ChangedEvent, here and on all devices.
func (v *Conversation) Pin(ctx context.Context, seq uint64) error { return v.pin(ctx, seq, false) }

// Unpin ends that.
func (v *Conversation) Unpin(ctx context.Context, seq uint64) error { return v.pin(ctx, seq, true) }

func (v *Conversation) pin(ctx context.Context, seq uint64, remove bool) error {
	req := &wire.PinMessageRequest{Conversation: v.id, Seq: seq, Remove: remove}
	if err := v.c.do(ctx, func(k *core) { id := k.ids.Next(); req.Id = id[:] }); err != nil {
		return err
	}
	var resp wire.PinMessageResponse
	if err := v.c.Call(ctx, "skein.v1.MessageService/PinMessage", req, &resp); err != nil || resp.Seq == 0 {
		return err
	}
	return v.stored(ctx, resp.Seq)
}

// Pins are the pinned messages of the conversation as they are now, the one that was
// pinned last first: at most limit (0: 50; at most 200) behind cursor. next is the cursor
// of the next page, "" if there is none.
func (v *Conversation) Pins(ctx context.Context, cursor string, limit int) (ms []*Message, next string, err error) {
	var resp wire.ListPinsResponse
	req := &wire.ListPinsRequest{Conversation: v.id, Cursor: cursor, Limit: uint32(max(limit, 0))}
	if err := v.c.Call(ctx, "skein.v1.MessageService/ListPins", req, &resp); err != nil {
		return nil, "", err
	}
	for _, e := range resp.Entries {
		ms = append(ms, messageOf(e, v.c.User()))
	}
	return ms, resp.Next, nil
}

// pinned is an entry as a pin, or the end of one, leaves it.
func pinned(e, by *wire.Entry) *wire.Entry {
	c := proto.Clone(e).(*wire.Entry)
	c.Amended, c.Pinned = by.Seq, by.Pinned
	return c
}
