package api

import (
	"context"
	"math"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) listThread(ctx context.Context, actor im.Actor, r *wire.ListThreadRequest) (*wire.ListThreadResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	switch {
	case err != nil:
		return nil, err
	case r.GetSeq() == 0 || r.GetSeq() > math.MaxInt64:
		return nil, im.Wrong("seq", "is no seq")
	}
	t, page, next, err := c.Lists.Thread(ctx, actor, conv, r.GetSeq(), r.GetBefore(), foundLimit(r.GetLimit()))
	if err != nil {
		return nil, err
	}
	return &wire.ListThreadResponse{Thread: contract.Threads([]im.Thread{t})[0], Entries: contract.Entries(page), Next: next}, nil
}

func (c *Calls) listThreads(ctx context.Context, actor im.Actor, r *wire.ListThreadsRequest) (*wire.ListThreadsResponse, error) {
	var conv im.ConversationID
	if s := r.GetConversation(); s != "" {
		var err error
		if conv, err = im.ParseConversationID(s); err != nil {
			return nil, err
		}
	}
	page, next, err := c.Lists.Threads(ctx, actor, conv, r.GetCursor(), foundLimit(r.GetLimit()))
	if err != nil {
		return nil, err
	}
	return &wire.ListThreadsResponse{Threads: contract.Threads(page), Next: next}, nil
}

// threadBounds is of threads.
func threadBounds() map[string]Bounds {
	return map[string]Bounds{
		"Entry.thread":                    seq(),
		"Replies.count":                   number(0, math.MaxUint32),
		"Replies.last_at_ms":              millis(),
		"SendMessageRequest.thread":       number(0, math.MaxInt64).format("seq"),
		"ListThreadRequest.conversation":  matching(anyPattern).required().format("conversation"),
		"ListThreadRequest.seq":           number(1, math.MaxInt64).required().format("seq"),
		"ListThreadRequest.before":        seq().format("seq"),
		"ListThreadRequest.limit":         page(defaultFound, math.MaxUint32),
		"ListThreadResponse.thread":       {Required: true},
		"ListThreadResponse.entries":      list(maxFound),
		"ListThreadResponse.next":         seq(),
		"ListThreadsRequest.conversation": Bounds{Pattern: "^$|" + anyPattern}.format("conversation"),
		"ListThreadsRequest.limit":        page(defaultFound, math.MaxUint32),
		"ListThreadsRequest.cursor":       opaqueText().format("cursor"),
		"ListThreadsResponse.threads":     list(maxFound),
		"ListThreadsResponse.next":        opaqueText(),
		"Thread.root":                     {Required: true},
		"Thread.last":                     seq(),
		"Thread.unread":                   number(0, math.MaxUint32),
		"Thread.read":                     seq(),
		"SetThread.root":                  number(1, math.MaxInt64).required().format("seq"),
		"SetThread.read":                  seq().format("seq"),
		"MyState.threads":                 list(im.MaxThreadMarks),
		"ThreadMark.root":                 someSeq().required(),
		"ThreadMark.read":                 seq(),
	}
}
