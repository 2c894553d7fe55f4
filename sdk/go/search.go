package skein

import (
	"context"
	"time"

	"github.com/skein-im/skein/wire"
)

// Search is what to look for in messages. The zero value looks for nothing and is
// refused: Query or Types must say something.
type Search struct {
	// Query is what messages must say, at most 200 characters: all of its words, in any
	// order, the last one perhaps a beginning, and Chinese, Japanese and Korean text as it
	// stands. Without case, width and diacritics.
	Query string
	// Conversation: only there, "" in all of the user's.
	Conversation string
	// Sender: only what this user wrote, "" anybody.
	Sender string
	// Types: only messages with one of these types of content, such as "image" or "file";
	// "link": texts with an http or https address. At most 16.
	Types []string
	// After and Before bound when it was stored, zero for none: After ≤ t < Before.
	After, Before time.Time
	// Limit is how many are answered at most (0: 20; at most 50), Cursor the Next of the
	// page before.
	Limit  int
	Cursor string
}

// Found is a message that was looked for.
type Found struct {
	*Message
	// Matches are where it says what was looked for, in UTF-16 code units of the texts
	// that they name (wire.TextMatch); none without a query.
	Matches []*wire.TextMatch
}

// SearchResult is a page of what was found.
type SearchResult struct {
	Found []Found // the newest first
	// Next is the cursor of the next page, "" if there is none. A page may be short, or
	// empty, and have one.
	Next string
	// Complete: what was stored some seconds ago and before was looked through. Otherwise
	// the server's index is being made, and what was stored up to KnownUntil is.
	Complete   bool
	KnownUntil time.Time
}

// Search finds messages by what they say (SPEC §4.32), on the server: also those that
// this device does not have. A server that does not search answers `unimplemented`, one
// whose index is away `unavailable`.
func (c *Client) Search(ctx context.Context, s Search) (*SearchResult, error) {
	req := &wire.SearchMessagesRequest{
		Query: s.Query, Conversation: s.Conversation, Sender: s.Sender, Types: s.Types, Limit: uint32(max(s.Limit, 0)), Cursor: s.Cursor,
		AfterMs: millisOf(s.After), BeforeMs: millisOf(s.Before),
	}
	var resp wire.SearchMessagesResponse
	if err := c.Call(ctx, "skein.v1.MessageService/SearchMessages", req, &resp); err != nil {
		return nil, err
	}
	out := &SearchResult{Next: resp.Next, Complete: resp.Complete}
	if resp.KnownUntilMs > 0 {
		out.KnownUntil = time.UnixMilli(resp.KnownUntilMs)
	}
	for _, f := range resp.Found {
		out.Found = append(out.Found, Found{Message: messageOf(f.Entry, c.User()), Matches: f.Matches})
	}
	return out, nil
}

// Search is Client.Search in this conversation alone.
func (v *Conversation) Search(ctx context.Context, s Search) (*SearchResult, error) {
	s.Conversation = v.id
	return v.c.Search(ctx, s)
}

// millisOf is a time in Unix milliseconds, 0 for none.
func millisOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
