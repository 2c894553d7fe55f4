package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/later"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) scheduleMessage(ctx context.Context, actor im.Actor, r *wire.ScheduleMessageRequest, k *keyed) (*wire.ScheduleMessageResponse, error) {
	if r.GetMessage() == nil {
		return nil, im.Wrong("message", "is missing")
	}
	id, err := c.idFor(r.GetMessage().GetId(), k)
	if err != nil {
		return nil, err
	}
	if err := notLater(r.GetMessage()); err != nil {
		return nil, err
	}
	msg, err := said(r.GetMessage(), id)
	if err != nil {
		return nil, im.In("message", err)
	}
	at, err := timeAt(r.GetAtMs())
	if err != nil {
		return nil, err
	}
	if at.IsZero() {
		return nil, im.Wrong("atMs", "is missing")
	}
	if err := c.sayable(ctx, actor, &msg); err != nil {
		return nil, err
	}
	if err := c.repliesLater(ctx, actor, &msg); err != nil {
		return nil, err
	}
	if err := c.Later.Schedule(ctx, actor.User, msg, at); err != nil {
		return nil, err
	}
	return &wire.ScheduleMessageResponse{Id: id}, nil
}

// repliesLater looks whether the root of a reply that is sent later is there, and the
// actor's to read. What it is by then is decided when the reply is sent.
func (c *Calls) repliesLater(ctx context.Context, actor im.Actor, m *im.Message) error {
	if m.Target == 0 {
		return nil
	}
	e, err := c.Lists.Entry(ctx, actor, m.Conversation, m.Target)
	switch {
	case im.CodeOf(err) == im.CodeNotFound:
		return at("message.thread", err)
	case err != nil:
		return err
	case !e.Kind.Said():
		return at("message.thread", im.Errorf(im.CodeNotFound, "there is no such message"))
	case e.Recalled && e.Root() == 0: // below a reply that was taken back it goes to the root
		return at("message.thread", im.Errorf(im.CodeTooLate, "the message was taken back"))
	}
	return nil
}

// notLater refuses what a message that is sent later cannot say.
func notLater(m *wire.SendMessageRequest) error {
	if m.GetStreaming() {
		return im.Wrong("message.streaming", "must not be said of a message that is sent later")
	}
	return nil
}

// timeAt is a time from outside; zero: there is none.
func timeAt(ms int64) (time.Time, error) {
	switch {
	case ms < 0 || ms > maxMillis:
		return time.Time{}, im.Wrong("atMs", "must be Unix milliseconds up to the year 9999")
	case ms == 0:
		return time.Time{}, nil
	}
	return time.UnixMilli(ms).UTC(), nil
}

func (c *Calls) changeScheduled(ctx context.Context, actor im.Actor, r *wire.ChangeScheduledRequest) (*wire.ChangeScheduledResponse, error) {
	id, err := im.ParseMessageID(r.GetId())
	if err != nil {
		return nil, err
	}
	at, err := timeAt(r.GetAtMs())
	if err != nil {
		return nil, err
	}
	var msg *im.Message
	if m := r.GetMessage(); m != nil {
		if len(m.GetId()) > 0 && string(m.GetId()) != string(id[:]) {
			return nil, im.Wrong("message.id", "must be the one that it was scheduled with")
		}
		if err := notLater(m); err != nil {
			return nil, err
		}
		now, err := said(m, id[:])
		if err != nil {
			return nil, im.In("message", err)
		}
		if err := c.sayable(ctx, actor, &now); err != nil {
			return nil, err
		}
		if err := c.repliesLater(ctx, actor, &now); err != nil {
			return nil, err
		}
		msg = &now
	}
	return &wire.ChangeScheduledResponse{}, c.Later.Change(ctx, actor.User, id, msg, at)
}

func (c *Calls) cancelScheduled(ctx context.Context, actor im.Actor, r *wire.CancelScheduledRequest) (*wire.CancelScheduledResponse, error) {
	id, err := im.ParseMessageID(r.GetId())
	if err != nil {
		return nil, err
	}
	return &wire.CancelScheduledResponse{}, c.Later.Cancel(ctx, actor.User, id)
}

// scheduledBytes is how long the messages of a page are together, at most; one alone may
// be longer.
const scheduledBytes = 256 << 10

func (c *Calls) listScheduled(ctx context.Context, actor im.Actor, r *wire.ListScheduledRequest) (*wire.ListScheduledResponse, error) {
	after, err := scheduledAfter(r.GetCursor())
	if err != nil {
		return nil, err
	}
	limit := int(min(r.GetLimit(), later.MaxOfUser))
	if limit == 0 {
		limit = later.MaxOfUser
	}
	page, err := c.Later.List(ctx, actor.User, after, limit+1)
	if err != nil {
		return nil, err
	}
	out := &wire.ListScheduledResponse{}
	bytes := 0
	for i := range page {
		bytes += len(page[i].Message.Body)
		if i == limit || i > 0 && bytes > scheduledBytes {
			out.Next = scheduledCursor(page[i-1].Place())
			break
		}
		out.Scheduled = append(out.Scheduled, scheduled(&page[i]))
	}
	return out, nil
}

func scheduled(s *im.Scheduled) *wire.Scheduled {
	m := &s.Message
	var e wire.Entry
	if entrycodec.Decode(m.Body, &e) != nil {
		e.Content = &wire.Content{Type: contract.Unreadable}
	}
	out := &wire.Scheduled{
		Message: &wire.SendMessageRequest{
			Conversation: string(m.Conversation), Id: m.ID[:], Content: e.Content, ReplyTo: e.ReplyTo, Mentions: e.Mentions, Extra: e.Extra, Poll: e.Poll, GroupMention: e.GroupMention, Silent: e.Silent, NoPreview: e.NoPreview,
			Media: entrycodec.MediaIDs(m.Body), Thread: m.Target, AlsoInMain: m.Target != 0 && m.Kind == im.EntryMessage,
		},
		AtMs: contract.Millis(s.At), CreatedAtMs: contract.Millis(s.Created), State: wire.ScheduledState(s.State),
	}
	if s.State == im.ScheduledFailed {
		out.Error = contract.Error(&im.Error{Code: s.Code, Message: s.Text})
	}
	return out
}

// A cursor is the place behind which the next page begins: two times and an id.
const scheduledCursorBytes = 8 + 8 + len(im.MessageID{})

// maxScheduledCursor is how long one is.
const maxScheduledCursor = (scheduledCursorBytes*8 + 5) / 6

func scheduledCursor(p im.ScheduledPlace) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.At.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(p.Created.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(b, p.ID[:]...))
}

func scheduledAfter(cursor string) (p im.ScheduledPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != scheduledCursorBytes {
		return p, im.Wrong("cursor", "is none of this server's")
	}
	p.At = time.UnixMilli(int64(binary.BigEndian.Uint64(b)))
	p.Created = time.UnixMilli(int64(binary.BigEndian.Uint64(b[8:])))
	p.ID = im.MessageID(b[16:])
	return p, nil
}
