package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// view is what the application would show of a conversation, from the store alone.
func (d *driver) view(ctx context.Context, v *skein.Conversation) (object, error) {
	s, err := v.Summary(ctx)
	if errors.Is(err, skein.ErrNotFound) {
		return object{"known": false}, nil
	}
	if err != nil {
		return nil, err
	}
	es, err := d.store.Entries(ctx, v.ID(), max(s.Low, s.Mine.GetClearedBelow()), s.High, 10_000)
	if err != nil {
		return nil, err
	}
	ms := []object{}
	for _, e := range es {
		gone := slices.ContainsFunc(s.Mine.GetDeleted(), func(r *wire.SeqRange) bool { return r.First <= e.Seq && e.Seq <= r.Last })
		if e.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE || e.Deleted || gone {
			continue
		}
		m := object{
			"seq": e.Seq, "sender": e.Sender, "type": e.GetContent().GetType(), "text": e.GetContent().GetText(),
			"data": e.GetContent().GetData(), "fallback": e.GetContent().GetFallback(), "extra": e.Extra,
			"recalled": e.Recalled, "reply_to": e.ReplyTo, "own": e.Sender == d.c.User(),
		}
		ms = append(ms, m)
	}
	return object{
		"known": true, "messages": ms, "unread": s.Unread, "read": s.Read, "title": s.Title, "member": s.Member,
		"peer_received": s.PeerReceived, "peer_read": s.PeerRead,
		"mine": object{
			"revision": s.Mine.Revision, "pinned": s.Mine.Pinned, "draft": s.Mine.Draft, "cleared_below": s.Mine.ClearedBelow, "unread": s.Mine.Unread,
		},
	}, nil
}

// message is one as the runner reads it.
func message(m *skein.Message) object {
	o := object{
		"conversation": m.Conversation, "seq": m.Seq, "message": m.ID.String(), "sender": m.Sender, "own": m.Own, "status": m.Status.String(),
		"type": m.Type, "text": m.Text, "data": m.Data, "fallback": m.Fallback, "extra": m.Extra, "recalled": m.Recalled, "reply_to": m.ReplyTo, "edits": m.Edits,
	}
	if m.Err != nil {
		o["code"] = string(m.Err.Code)
	}
	return o
}

// shown are the messages among entries.
func shown(ms []*skein.Message) []object {
	out := []object{}
	for _, m := range ms {
		if m.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE {
			out = append(out, message(m))
		}
	}
	return out
}

// thread is what the application would show of one.
func thread(ctx context.Context, v *skein.Conversation, c *command) (object, error) {
	t, replies, next, err := v.Thread(ctx, c.Seq, c.Before, c.Limit)
	if err != nil {
		return nil, err
	}
	root, said := message(t.Root), make([]object, len(replies))
	root["replies"] = t.Root.Replies
	for i, m := range replies {
		said[i] = message(m)
	}
	return object{"root": root, "replies": said, "next": next, "unread": t.Unread, "follows": t.Follows, "kept": t.Kept}, nil
}

func status(s skein.State, err error) object {
	o := object{"state": s.String()}
	var e *skein.Error
	if errors.As(err, &e) {
		o["code"] = string(e.Code)
	}
	return o
}

func (d *driver) events() {
	for e := range d.c.Events(context.Background()) {
		if line := eventLine(e); line != nil {
			d.tell(line)
		}
	}
}

// eventLine is an event as the runner reads it, nil for what it has no name for.
func eventLine(e skein.Event) object {
	of := func(name string, m *skein.Message) object {
		o := message(m)
		o["event"] = name
		return o
	}
	switch e := e.(type) {
	case *skein.MessageEvent:
		return of("message", e.Message)
	case *skein.AckEvent:
		return of("sent", e.Message)
	case *skein.FailedEvent:
		return of("failed", e.Message)
	case *skein.ChangedEvent:
		return of("changed", e.Message)
	case *skein.RecallEvent:
		return object{"event": "recalled", "conversation": e.Conversation, "seq": e.Target}
	case *skein.GroupEvent:
		return named(object{"event": "group", "conversation": e.Conversation}, e.Event)
	case *skein.ContactEvent:
		return named(object{"event": "contact", "user": e.User}, e.Event)
	case *skein.GapEvent:
		return object{"event": "gap", "conversation": e.Conversation, "from": e.From, "to": e.To}
	case *skein.GoneEvent:
		return object{"event": "gone", "conversation": e.Conversation, "from": e.From, "to": e.To}
	case *skein.ResetEvent:
		return object{"event": "reset"}
	case *skein.ReceiptEvent:
		return object{"event": "receipt", "conversation": e.Conversation, "user": e.User, "received": e.Received, "read": e.Read}
	case *skein.MyStateEvent:
		return object{"event": "my_state", "conversation": e.State.Conversation, "revision": e.State.Revision}
	case *skein.TypingEvent:
		return object{"event": "typing", "conversation": e.Conversation, "user": e.User}
	case *skein.SignalEvent:
		return object{"event": "signal", "conversation": e.Conversation, "user": e.User, "type": e.Type, "data": e.Data}
	case *skein.PresenceEvent:
		return object{"event": "presence", "user": e.User, "online": e.Online}
	case *skein.StateEvent:
		o := status(e.State, e.Err)
		o["event"] = "state"
		return o
	}
	return nil
}

// named adds what happened; what this version has no name for is not told.
func named(o object, e *wire.Event) object {
	name, known := wire.EventType_name[int32(e.GetType())]
	if !known {
		return nil
	}
	o["type"] = strings.ToLower(strings.TrimPrefix(name, "EVENT_TYPE_"))
	return o
}
