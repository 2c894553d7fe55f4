package api

import (
	"context"
	"fmt"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// maxForwarded is how many messages are forwarded at a time.
	maxForwarded = 100
	// maxTitleChars is the longest title of what is merged.
	maxTitleChars = 200
)

// forwarding is a call of ForwardMessages: what is asked for, and what is to be stored.
type forwarding struct {
	to     im.ConversationID
	from   []entrycodec.Source
	merge  *wire.ForwardMerge
	silent bool
	// store are the messages, with merge one, without bodies at first.
	store []im.Message
}

func (c *Calls) forwardMessages(ctx context.Context, actor im.Actor, r *wire.ForwardMessagesRequest, k *keyed) (*wire.ForwardMessagesResponse, error) {
	f, err := c.forwarding(r, k)
	if err != nil {
		return nil, err
	}
	acks, stored, err := c.Lists.Stored(ctx, actor, f.store)
	if err != nil {
		return nil, err
	}
	if err := c.fill(ctx, actor, f, stored); err != nil {
		return nil, err
	}
	if err := c.Limiter.more(ClassSend, actor, missing(stored)-1); err != nil {
		return nil, err
	}
	out := &wire.ForwardMessagesResponse{}
	for i := range f.store {
		ack := acks[i]
		if !stored[i] {
			if ack, err = c.store(ctx, actor, f.store[i]); err != nil {
				if i == 0 {
					return nil, err
				}
				out.Error = contract.Error(im.Public(err))
				break
			}
		}
		out.Forwarded = append(out.Forwarded, &wire.Forwarded{Id: f.store[i].ID[:], Seq: ack.Seq, StoredAtMs: contract.Millis(ack.Stored)})
	}
	return out, nil
}

// missing is how many are not stored.
func missing(stored []bool) (n int) {
	for _, is := range stored {
		if !is {
			n++
		}
	}
	return n
}

// forwarding checks the shape of a request.
func (c *Calls) forwarding(r *wire.ForwardMessagesRequest, k *keyed) (*forwarding, error) {
	to, err := im.ParseConversationID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	f := &forwarding{to: to, merge: r.GetMerge(), silent: r.GetSilent()}
	switch n := len(r.GetMessages()); {
	case n == 0:
		return nil, im.Wrong("messages", "is missing")
	case n > maxForwarded:
		return nil, im.TooLarge("messages", "has %d messages; at most %d are allowed", n, maxForwarded)
	}
	seen := map[im.MessageID]bool{}
	for i, m := range r.GetMessages() {
		field := fmt.Sprintf("messages[%d]", i)
		from, err := im.ParseConversationID(m.GetConversation())
		switch {
		case err != nil:
			return nil, im.In(field, err)
		case m.GetSeq() == 0:
			return nil, im.Wrong(field+".seq", "is missing")
		case f.merge != nil && len(m.GetId()) > 0:
			return nil, im.Wrong(field+".id", "must be absent: with merge there is one message, whose id is merge.id")
		}
		f.from = append(f.from, entrycodec.Source{Conversation: from, Seq: m.GetSeq()})
		if f.merge != nil {
			continue
		}
		id, err := c.forwardID(m.GetId(), k, i)
		if err != nil {
			return nil, im.In(field, err)
		}
		if seen[id] {
			return nil, im.Wrong(field+".id", "stands there twice")
		}
		seen[id] = true
		f.store = append(f.store, im.Message{Conversation: to, ID: id, Kind: im.EntryMessage, Hash: entrycodec.ForwardHash(to, f.from[i:i+1], nil, f.silent)})
	}
	if f.merge == nil {
		return f, nil
	}
	if err := contract.CheckText("title", f.merge.GetTitle(), 1, maxTitleChars); err != nil {
		return nil, im.In("merge", err)
	}
	id, err := c.forwardID(f.merge.GetId(), k, 0)
	if err != nil {
		return nil, im.In("merge", err)
	}
	f.store = []im.Message{{Conversation: to, ID: id, Kind: im.EntryMessage, Hash: entrycodec.ForwardHash(to, f.from, f.merge, f.silent)}}
	return f, nil
}

// forwardID is the id that the caller sent for copy n, or one made for who sent none.
func (c *Calls) forwardID(sent []byte, k *keyed, n int) (im.MessageID, error) {
	switch {
	case len(sent) > 0:
		return im.ParseMessageID(sent)
	case k != nil:
		return im.NewMessageID(k.begun, [10]byte(k.seed(fmt.Sprintf("forward %d", n))[:10])), nil
	}
	return c.newID(nil)
}

// fill reads the sources of what is not stored yet, and makes the bodies.
func (c *Calls) fill(ctx context.Context, actor im.Actor, f *forwarding, stored []bool) error {
	for i := range f.from {
		if n := min(i, len(f.store)-1); stored[n] {
			continue
		}
		s := &f.from[i]
		field := fmt.Sprintf("messages[%d]", i)
		var err error
		if s.Entry, err = c.Lists.Message(ctx, actor, s.Conversation, s.Seq); err != nil {
			return at(field, err)
		}
		if f.merge == nil {
			if f.store[i].Body, err = entrycodec.Copy(s, f.silent); err != nil {
				return at(field, im.Wrap(err, im.CodeUnprocessable, "what the message says cannot be read"))
			}
		}
	}
	if f.merge == nil || stored[0] {
		return nil
	}
	if err := c.names(ctx, f.from); err != nil {
		return err
	}
	body, size, err := entrycodec.Merged(f.merge.GetTitle(), f.from, f.silent)
	if err != nil {
		return im.Wrap(err, im.CodeUnprocessable, "what the messages say cannot be read")
	}
	if size > contract.MaxContentBytes {
		return im.TooLarge("messages", "come to %d bytes together; at most %d are allowed", size, contract.MaxContentBytes)
	}
	f.store[0].Body = body
	return nil
}

// names finds what the authors are called.
func (c *Calls) names(ctx context.Context, from []entrycodec.Source) error {
	of := map[im.UserID]string{}
	var ids []im.UserID
	authors := make([]im.UserID, len(from))
	for i := range from {
		u, err := entrycodec.Author(&from[i].Entry)
		if err != nil {
			return im.Wrap(err, im.CodeUnprocessable, "what the messages say cannot be read")
		}
		authors[i] = u
		if _, known := of[u]; !known {
			of[u], ids = string(u), append(ids, u)
		}
	}
	users, err := c.Accounts.Users(ctx, ids)
	if err != nil {
		return err
	}
	for i := range users {
		of[users[i].ID] = users[i].DisplayName
	}
	for i := range from {
		from[i].Name = of[authors[i]]
	}
	return nil
}

// at names the field that a refusal is about.
func at(field string, err error) error {
	e := *im.Public(err)
	e.Field = field
	return &e
}
