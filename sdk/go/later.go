package skein

import (
	"context"
	"time"

	"github.com/skein-im/skein/wire"
)

// SendLater has the server send a message at a time, also when no device of the user's
// is there then: at most 100 of a user, up to 366 days ahead; a time that is over means at
// once. It returns the id that the message has. Every try has the same one, so one whose
// answer was lost makes no second message. The options are those of Send.
func (v *Conversation) SendLater(ctx context.Context, at time.Time, text string, opts ...SendOption) (id []byte, err error) {
	m, err := v.said(text, opts)
	if err != nil {
		return nil, err
	}
	if err := v.c.do(ctx, func(k *core) { m.Id = k.idOr(m.Id) }); err != nil {
		return nil, err
	}
	req := &wire.ScheduleMessageRequest{Message: m, AtMs: at.UnixMilli()}
	var resp wire.ScheduleMessageResponse
	err = v.c.Call(ctx, "skein.v1.MessageService/ScheduleMessage", req, &resp)
	return resp.Id, err
}

// ChangeLater gives a scheduled message of this conversation other words, and another
// time unless that is zero. From its time on it is too late (too_late).
func (v *Conversation) ChangeLater(ctx context.Context, id []byte, at time.Time, text string, opts ...SendOption) error {
	m, err := v.said(text, opts)
	if err != nil {
		return err
	}
	return v.c.changeLater(ctx, &wire.ChangeScheduledRequest{Id: id, Message: m}, at)
}

// said is what a message says, as a call tells it.
func (v *Conversation) said(text string, opts []SendOption) (*wire.SendMessageRequest, error) {
	s := &wire.Send{Conversation: v.id, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}}
	for _, opt := range opts {
		opt(s)
	}
	if err := checkSend(s); err != nil {
		return nil, err
	}
	return &wire.SendMessageRequest{
		Conversation: s.Conversation, Content: s.Content, ReplyTo: s.ReplyTo, Mentions: s.Mentions, Extra: s.Extra, Poll: s.Poll, GroupMention: s.GroupMention, Silent: s.Silent,
		Streaming: s.Streaming, Media: s.Media, Id: s.Id,
		NoPreview: s.NoPreview, Thread: s.Thread, AlsoInMain: s.AlsoInMain,
	}, nil
}

// MoveScheduled gives a scheduled message another time.
func (c *Client) MoveScheduled(ctx context.Context, id []byte, at time.Time) error {
	return c.changeLater(ctx, &wire.ChangeScheduledRequest{Id: id}, at)
}

func (c *Client) changeLater(ctx context.Context, req *wire.ChangeScheduledRequest, at time.Time) error {
	if !at.IsZero() {
		req.AtMs = at.UnixMilli()
	}
	return c.Call(ctx, "skein.v1.MessageService/ChangeScheduled", req, &wire.ChangeScheduledResponse{})
}

// CancelScheduled removes a scheduled message. From its time on that is too late.
func (c *Client) CancelScheduled(ctx context.Context, id []byte) error {
	return c.Call(ctx, "skein.v1.MessageService/CancelScheduled", &wire.CancelScheduledRequest{Id: id}, &wire.CancelScheduledResponse{})
}

// Scheduled are the user's messages that are to be sent, by their time, and those that
// failed then, with the error. A ScheduledEvent tells that they are others.
func (c *Client) Scheduled(ctx context.Context) ([]*wire.Scheduled, error) {
	var all []*wire.Scheduled
	for cursor := ""; ; {
		var resp wire.ListScheduledResponse
		if err := c.Call(ctx, "skein.v1.MessageService/ListScheduled", &wire.ListScheduledRequest{Cursor: cursor}, &resp); err != nil {
			return nil, err
		}
		all = append(all, resp.Scheduled...)
		if cursor = resp.Next; cursor == "" {
			return all, nil
		}
	}
}
