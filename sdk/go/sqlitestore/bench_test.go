package sqlitestore

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// One acknowledged message per batch: what a client that sends one by one pays.
func BenchmarkApplyAck(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "s.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	n := uint64(0)
	for b.Loop() {
		n++
		e := &wire.Entry{
			Conversation: "dm:alice:bob", Seq: n, Id: fmt.Appendf(nil, "%016d", n), Sender: "alice", Count: n,
			Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}},
		}
		put := &skein.Batch{OutboxPut: []*skein.OutboxRecord{{
			N: n, State: skein.OutboxPending, Send: &wire.Send{Conversation: e.Conversation, Id: e.Id, Content: e.Content},
		}}}
		ack := &skein.Batch{
			Entries: []*wire.Entry{e}, OutboxDelete: []uint64{n},
			Conversations: []*skein.ConversationRecord{{ID: e.Conversation, Low: 1, High: n, Head: n, Last: e}},
			Feed:          []skein.FeedItem{{N: n, Kind: skein.FeedAck, Conversation: e.Conversation, Seq: n, Entry: e}},
		}
		for _, batch := range []*skein.Batch{put, ack} {
			if err := s.Apply(ctx, batch); err != nil {
				b.Fatal(err)
			}
		}
	}
}
