package skein

import (
	"context"

	"github.com/skein-im/skein/wire"
)

// Forward stores copies of up to 100 messages, that the user may read, in this
// conversation, in their order. Message.Forward tells who wrote each first, and when. It
// returns their seqs: fewer than there are, with an error, if not all were stored. All
// are looked up before anything is stored.
func (v *Conversation) Forward(ctx context.Context, from ...EntryRef) (seqs []uint64, err error) {
	return v.forward(ctx, nil, from)
}

// ForwardMerged puts the messages into one message of the type `merged`, made by the
// server, and returns its seq.
func (v *Conversation) ForwardMerged(ctx context.Context, title string, from ...EntryRef) (seq uint64, err error) {
	seqs, err := v.forward(ctx, &wire.ForwardMerge{Title: title}, from)
	if err != nil || len(seqs) != 1 {
		return 0, err
	}
	return seqs[0], nil
}

func (v *Conversation) forward(ctx context.Context, merge *wire.ForwardMerge, from []EntryRef) (seqs []uint64, err error) {
	req := &wire.ForwardMessagesRequest{Conversation: v.id, Merge: merge}
	for _, f := range from {
		req.Messages = append(req.Messages, &wire.ForwardSource{Conversation: f.Conversation, Seq: f.Seq})
	}
	err = v.c.do(ctx, func(k *core) {
		next := func() []byte { id := k.ids.Next(); return id[:] }
		if merge != nil {
			merge.Id = next()
			return
		}
		for _, m := range req.Messages {
			m.Id = next()
		}
	})
	if err != nil {
		return nil, err
	}
	var resp wire.ForwardMessagesResponse
	if err := v.c.Call(ctx, "skein.v1.MessageService/ForwardMessages", req, &resp); err != nil {
		return nil, err
	}
	for _, f := range resp.Forwarded {
		seqs = append(seqs, f.Seq)
		if err := v.stored(ctx, f.Seq); err != nil {
			return seqs, err
		}
	}
	if e := resp.Error; e != nil {
		return seqs, errorOf(e)
	}
	return seqs, nil
}
