package skein

import (
	"context"
	"time"

	"github.com/skein-im/skein/wire"
)

// HistoryAt returns up to limit entries (0: 50) that were stored at a time, the server's,
// or later, ascending: so a program jumps to a date. They come from the server; what is
// before them tells History with the first one's seq, and what is behind them HistoryAt
// does not: it is History before a seq further on. As in History, messages are as they
// are now and amendments not among them. None: nothing was stored since, or all that was
// is cleared or not the user's to read.
func (v *Conversation) HistoryAt(ctx context.Context, at time.Time, limit int) ([]*Message, error) {
	if kindOf(v.id) == KindInvalid {
		return nil, invalid("%q is not a conversation", v.id)
	}
	if limit <= 0 {
		limit = 50
	}
	w, err := v.window(ctx)
	if err != nil {
		return nil, err
	}
	req := &wire.ListEntriesRequest{Conversation: v.id, AtMs: max(at.UnixMilli(), 1)}
	var out []*Message
	for len(out) < limit {
		var resp wire.ListEntriesResponse
		req.Limit = uint32(min(limit-len(out), 500))
		if err := v.c.Call(ctx, "skein.v1.MessageService/ListEntries", req, &resp); err != nil {
			return nil, err
		}
		out = append(out, v.messages(resp.Entries, w)...)
		if resp.LastSeq == 0 || resp.LastSeq >= resp.Head {
			break
		}
		req.AtMs, req.From = 0, max(resp.LastSeq+1, w.Mine.GetClearedBelow())
	}
	return out, nil
}
