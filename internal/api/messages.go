package api

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) sendMessage(ctx context.Context, actor im.Actor, r *wire.SendMessageRequest, k *keyed) (*wire.SendMessageResponse, error) {
	id, err := c.idFor(r.GetId(), k)
	if err != nil {
		return nil, err
	}
	msg, err := said(r, id)
	if err != nil {
		return nil, err
	}
	ack, err := c.store(ctx, actor, msg)
	if err != nil {
		return nil, err
	}
	return &wire.SendMessageResponse{Id: id, Seq: ack.Seq, StoredAtMs: contract.Millis(ack.Stored)}, nil
}

// said is the message that a request asks to send.
func said(r *wire.SendMessageRequest, id []byte) (im.Message, error) {
	return contract.Message(&wire.Send{
		Conversation: r.GetConversation(), Id: id, Content: r.GetContent(), ReplyTo: r.GetReplyTo(), Mentions: r.GetMentions(), Extra: r.GetExtra(),
		Poll: r.GetPoll(), GroupMention: r.GetGroupMention(), Silent: r.GetSilent(), Streaming: r.GetStreaming(), Media: r.GetMedia(), NoPreview: r.GetNoPreview(),
		Thread: r.GetThread(), AlsoInMain: r.GetAlsoInMain(),
	})
}

func (c *Calls) recallMessage(ctx context.Context, actor im.Actor, r *wire.RecallMessageRequest) (*wire.RecallMessageResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if r.GetSeq() == 0 {
		return nil, im.Wrong("seq", "is missing")
	}
	// Whether the target may be taken back is decided at the append; this only
	// finds its time, and answers who may not read it.
	target, err := c.Lists.Entry(ctx, actor, conv, r.GetSeq())
	if err != nil {
		return nil, err
	}
	ack, err := c.store(ctx, actor, im.Message{
		Conversation: conv,
		ID:           recallID(&target, actor.User),
		Kind:         im.EntryRecall,
		Target:       r.GetSeq(),
		Hash:         entrycodec.RecallHash(conv, r.GetSeq()),
	})
	if err != nil {
		return nil, err
	}
	return &wire.RecallMessageResponse{Seq: ack.Seq}, nil
}

// recallID is the id of the entry by which a user takes a target back. It
// depends on the conversation, the target and the user only, so that repeating
// a recall is the same recall: a UUIDv7 with the target's time, and the hash of
// the three in place of randomness.
func recallID(target *im.Entry, by im.UserID) im.MessageID {
	h := sha256.New()
	h.Write([]byte("skein recall\x00" + string(target.Conversation) + "\x00" + string(by) + "\x00"))
	var seq [8]byte
	binary.BigEndian.PutUint64(seq[:], target.Seq)
	h.Write(seq[:])
	return im.NewMessageID(target.Stored, [10]byte(h.Sum(nil)[:10]))
}

func (c *Calls) editMessage(ctx context.Context, actor im.Actor, r *wire.EditMessageRequest, k *keyed) (*wire.EditMessageResponse, error) {
	id, err := c.idFor(r.GetId(), k)
	if err != nil {
		return nil, err
	}
	msg, err := contract.Edit(&wire.EditMessageRequest{
		Conversation: r.GetConversation(), Seq: r.GetSeq(), Id: id, Content: r.GetContent(), Mentions: r.GetMentions(), Extra: r.GetExtra(),
		GroupMention: r.GetGroupMention(),
	})
	if err != nil {
		return nil, err
	}
	ack, err := c.store(ctx, actor, msg)
	if err != nil {
		return nil, err
	}
	return &wire.EditMessageResponse{Id: id, Seq: ack.Seq, StoredAtMs: contract.Millis(ack.Stored)}, nil
}

func (c *Calls) listEdits(ctx context.Context, actor im.Actor, r *wire.ListEditsRequest) (*wire.ListEditsResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if r.GetSeq() == 0 {
		return nil, im.Wrong("seq", "is missing")
	}
	page, next, err := c.Messages.Edits(ctx, actor, conv, r.GetSeq(), r.GetBefore(), int(min(r.GetLimit(), entrycodec.MaxVersions)))
	if err != nil {
		return nil, err
	}
	return &wire.ListEditsResponse{Versions: page, Next: next}, nil
}

// idFor is the id that the caller sent, or one made for a caller that sent none.
func (c *Calls) idFor(sent []byte, k *keyed) ([]byte, error) {
	if len(sent) > 0 {
		return sent, nil
	}
	made, err := c.newID(k)
	return made[:], err
}

// newID makes an id for a caller that sent none.
func (c *Calls) newID(k *keyed) (im.MessageID, error) {
	if k != nil {
		return im.NewMessageID(k.begun, [10]byte(k.seed("message")[:10])), nil
	}
	var random [10]byte
	if _, err := io.ReadFull(c.Random, random[:]); err != nil {
		return im.MessageID{}, im.Wrap(err, im.CodeInternal, "the server failed")
	}
	return im.NewMessageID(c.Now(), random), nil
}

// store sends a message and waits for the durable outcome. When ctx ends first,
// the message may be stored or not.
func (c *Calls) store(ctx context.Context, actor im.Actor, msg im.Message) (im.Ack, error) {
	type outcome struct {
		ack im.Ack
		err error
	}
	done := make(chan outcome, 1)
	c.Messages.Send(ctx, actor, msg, func(ack im.Ack, err error) { done <- outcome{ack, err} })
	select {
	case o := <-done:
		return o.ack, o.err
	case <-ctx.Done():
		return im.Ack{}, im.Wrap(ctx.Err(), im.CodeUnknown, "the answer took too long; the message may have been stored: send it again with the same id")
	}
}

func (c *Calls) listEntries(ctx context.Context, actor im.Actor, r *wire.ListEntriesRequest) (*wire.ListEntriesResponse, error) {
	q, err := contract.PullQuery(&wire.Pull{
		Conversation: r.GetConversation(), From: r.GetFrom(), Backward: r.GetBackward(), Limit: r.GetLimit(), AtMs: r.GetAtMs(),
	})
	if err != nil {
		return nil, err
	}
	got, err := c.Messages.Pull(ctx, actor, q)
	if err != nil {
		return nil, err
	}
	w := contract.Range(q.Conversation, &got)
	return &wire.ListEntriesResponse{Entries: w.Entries, Head: w.Head, FirstSeq: w.FirstSeq, LastSeq: w.LastSeq, Touched: w.Touched}, nil
}

func (c *Calls) listConversations(ctx context.Context, actor im.Actor, r *wire.ListConversationsRequest) (*wire.ListConversationsResponse, error) {
	q, err := contract.SyncQuery(&wire.Sync{
		Position: r.GetPosition(), Timeline: r.GetTimeline(), Limit: r.GetLimit(), Cursor: r.GetCursor(), Newest: r.GetNewest(),
	})
	if err != nil {
		return nil, err
	}
	if q.Only, err = onlyThese(r); err != nil {
		return nil, err
	}
	got, err := c.Messages.Sync(ctx, actor, q)
	if err != nil {
		return nil, err
	}
	return &wire.ListConversationsResponse{Delta: contract.SyncResult(&got)}, nil
}

// onlyThese are the conversations whose states are asked for alone (SPEC §7.10).
func onlyThese(r *wire.ListConversationsRequest) ([]im.ConversationID, error) {
	names := r.GetConversations()
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > im.MaxOnly {
		return nil, im.TooLarge("conversations", "has %d; at most %d are told at a time", len(names), im.MaxOnly)
	}
	if r.GetPosition() != "" || r.GetTimeline() != "" || r.GetLimit() != 0 || r.GetCursor() != "" || r.GetNewest() != nil {
		return nil, im.Wrong("conversations", "stands alone: nothing else is set beside it")
	}
	only := make([]im.ConversationID, len(names))
	for i, name := range names {
		id, err := im.ParseConversationID(name)
		if err != nil {
			return nil, im.Wrong(fmt.Sprintf("conversations[%d]", i), "is malformed")
		}
		only[i] = id
	}
	return only, nil
}

func (c *Calls) markRead(ctx context.Context, actor im.Actor, r *wire.MarkReadRequest) (*wire.MarkReadResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if r.GetSeq() == 0 {
		return nil, im.Wrong("seq", "is missing")
	}
	if err := c.Messages.MarkRead(ctx, actor, conv, r.GetSeq()); err != nil {
		return nil, err
	}
	return &wire.MarkReadResponse{}, nil
}

func (c *Calls) setMyState(ctx context.Context, actor im.Actor, r *wire.SetMyStateRequest) (*wire.SetMyStateResponse, error) {
	conv, change, err := contract.MyChange(r)
	if err != nil {
		return nil, err
	}
	state, err := c.Messages.SetMyState(ctx, actor, conv, change)
	if err != nil {
		return nil, err
	}
	return &wire.SetMyStateResponse{State: contract.MyState(&state)}, nil
}
