package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

const messageService = "skein.v1.MessageService/"

// patiently asks until it is answered, or refused for another reason than the rate
// limits: who reads everything asks for more at once than they allow, and waits as told.
func patiently(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		var e *skein.Error
		if !errors.As(err, &e) || e.Code != wire.CodeRateLimited {
			return err
		}
		if ended := pause(ctx, max(e.RetryAfter, 100*time.Millisecond)); ended != nil {
			return err
		}
	}
}

// Conversations reads the whole list of a user through the API.
func Conversations(ctx context.Context, baseURL, token string) (*wire.SyncDelta, error) {
	var all *wire.SyncDelta
	for cursor := ""; ; {
		var page wire.ListConversationsResponse
		req := &wire.ListConversationsRequest{Limit: 500, Cursor: cursor}
		if err := patiently(ctx, func() error {
			return skein.Post(ctx, baseURL, messageService+"ListConversations", token, req, &page)
		}); err != nil {
			return nil, err
		}
		if all == nil {
			all = page.GetDelta()
		} else {
			all.Conversations = append(all.Conversations, page.GetDelta().GetConversations()...)
		}
		if cursor = page.GetDelta().GetNext(); cursor == "" {
			return all, nil
		}
	}
}

// ReadFresh reads everything a user may see, from the first entry on, through
// the API.
func ReadFresh(ctx context.Context, baseURL, token, user string) (View, error) {
	v := View{Source: SourceFresh, User: user, Device: "fresh"}
	list, err := Conversations(ctx, baseURL, token)
	if err != nil {
		return v, fmt.Errorf("conversations of %s: %w", user, err)
	}
	v.Timeline = list.GetTimeline()
	for _, st := range list.GetConversations() {
		first := st.FirstSeq
		if len(st.Earlier) > 0 {
			first = st.Earlier[0].FirstSeq
		}
		v.Standings = append(v.Standings, Standing{
			Conversation: st.Conversation, First: max(first, 1), Last: st.Seq, Member: st.UntilSeq == 0,
			Marks: true, Read: st.ReadSeq, Unread: st.Unread,
		})
		for from := uint64(1); from <= st.Seq; {
			var page wire.ListEntriesResponse
			req := &wire.ListEntriesRequest{Conversation: st.Conversation, From: from, Limit: 500}
			if err := patiently(ctx, func() error {
				return skein.Post(ctx, baseURL, messageService+"ListEntries", token, req, &page)
			}); err != nil {
				return v, fmt.Errorf("entries of %s: %w", st.Conversation, err)
			}
			if page.LastSeq < from {
				break // the checker finds what is missing
			}
			for _, e := range page.Entries {
				v.Entries = append(v.Entries, EntryOf(e))
			}
			from = page.LastSeq + 1
		}
		if err := readThreads(ctx, baseURL, token, st.Conversation, &v); err != nil {
			return v, fmt.Errorf("threads of %s: %w", st.Conversation, err)
		}
	}
	return v, nil
}

// readThreads reads all threads of a conversation, in pages that are smaller than most.
func readThreads(ctx context.Context, baseURL, token, conversation string, v *View) error {
	if strings.HasPrefix(conversation, "me:") {
		return nil
	}
	ask := func(method string, req, resp proto.Message) error {
		return patiently(ctx, func() error { return skein.Post(ctx, baseURL, messageService+method, token, req, resp) })
	}
	for cursor := ""; ; {
		var list wire.ListThreadsResponse
		if err := ask("ListThreads", &wire.ListThreadsRequest{Conversation: conversation, Cursor: cursor, Limit: 20}, &list); err != nil {
			return err
		}
		for _, t := range list.Threads {
			told := ThreadView{Root: EntryOf(t.Root)}
			for before := uint64(0); ; {
				var page wire.ListThreadResponse
				if err := ask("ListThread", &wire.ListThreadRequest{Conversation: conversation, Seq: t.Root.Seq, Before: before, Limit: 3}, &page); err != nil {
					return err
				}
				var replies []Entry
				for _, e := range page.Entries {
					replies = append(replies, EntryOf(e))
				}
				told.Replies = append(replies, told.Replies...)
				if before = page.Next; before == 0 {
					break
				}
			}
			v.Threads = append(v.Threads, told)
		}
		if cursor = list.Next; cursor == "" {
			return nil
		}
	}
}
