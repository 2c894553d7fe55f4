package api

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/wire"
)

var typeShape = regexp.MustCompile(typePattern)

func (c *Calls) searchMessages(ctx context.Context, actor im.Actor, r *wire.SearchMessagesRequest) (*wire.SearchMessagesResponse, error) {
	q := search.Question{Query: r.GetQuery(), Sender: im.UserID(r.GetSender()), Types: r.GetTypes(), Limit: int(min(r.GetLimit(), search.MaxLimit)), Cursor: r.GetCursor()}
	var err error
	if r.GetConversation() != "" {
		if q.Conversation, err = im.ParseConversationID(r.GetConversation()); err != nil {
			return nil, err
		}
	}
	if r.GetSender() != "" && !im.ValidID(r.GetSender()) {
		return nil, im.Wrong("sender", "is no user's id")
	}
	for i, t := range q.Types {
		if !typeShape.MatchString(t) {
			return nil, im.Wrong("types["+strconv.Itoa(i)+"]", "is no type of content")
		}
	}
	if q.From, err = timeOf("afterMs", r.GetAfterMs()); err != nil {
		return nil, err
	}
	if q.To, err = timeOf("beforeMs", r.GetBeforeMs()); err != nil {
		return nil, err
	}
	if c.Search == nil {
		return nil, im.Errorf(im.CodeUnimplemented, "this server does not search messages")
	}
	got, err := c.Search.Search(ctx, actor, q)
	if err != nil {
		return nil, err
	}
	out := &wire.SearchMessagesResponse{Next: got.Next, Complete: got.Complete, KnownUntilMs: contract.Millis(got.Known)}
	for _, f := range got.Found {
		found := &wire.FoundMessage{Entry: contract.Entries([]im.Entry{f.Entry})[0]}
		for _, m := range f.Matches {
			found.Matches = append(found.Matches, &wire.TextMatch{Field: m.Field, Start: m.Start, End: m.End})
		}
		out.Found = append(out.Found, found)
	}
	return out, nil
}

// timeOf reads a time; 0 is none.
func timeOf(field string, ms int64) (time.Time, error) {
	if ms < 0 || ms > maxMillis {
		return time.Time{}, im.Wrong(field, "is no time in milliseconds since 1970")
	}
	if ms == 0 {
		return time.Time{}, nil
	}
	return time.UnixMilli(ms), nil
}
