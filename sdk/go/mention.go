package skein

import (
	"context"

	"github.com/skein-im/skein/wire"
)

// MentionAll mentions every member of the group; the group's settings say who may
// (permission_denied).
func MentionAll() SendOption {
	return func(s *wire.Send) { s.GroupMention = wire.GroupMention_GROUP_MENTION_ALL }
}

// MentionHere notifies whoever of the group is connected and not in the background. It
// counts as nobody's mention.
func MentionHere() SendOption {
	return func(s *wire.Send) { s.GroupMention = wire.GroupMention_GROUP_MENTION_HERE }
}

// Mentions are messages that mention the user, of all conversations, as they are now,
// the newest first: at most limit (0: 50; at most 200) behind cursor. next is the cursor
// of the next page, "" if there is none.
func (c *Client) Mentions(ctx context.Context, cursor string, limit int) (ms []*Message, next string, err error) {
	var resp wire.ListMentionsResponse
	req := &wire.ListMentionsRequest{Cursor: cursor, Limit: uint32(max(limit, 0))}
	if err := c.Call(ctx, "skein.v1.MessageService/ListMentions", req, &resp); err != nil {
		return nil, "", err
	}
	for _, e := range resp.Entries {
		ms = append(ms, messageOf(e, c.User()))
	}
	return ms, resp.Next, nil
}
