package api

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// A copy is its original's author's word: it says who that is, is silent if it is to be,
// and cannot be edited. Who asks again with the same id is answered as before, also when
// the original was taken back; who asks for a new copy then is told which one is gone.
func TestForward(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	req := &wire.ForwardMessagesRequest{
		Conversation: s.group, Silent: true,
		Messages: []*wire.ForwardSource{{Conversation: s.group, Seq: s.mine}, {Conversation: s.group, Seq: s.said}},
	}
	for i, m := range req.Messages {
		id := im.NewMessageID(time.Now(), [10]byte{byte(i)})
		m.Id = id[:]
	}
	var first, again wire.ForwardMessagesResponse
	w.must(s.me.token, "MessageService/ForwardMessages", req, &first)
	if len(first.Forwarded) != 2 || first.Error != nil {
		t.Fatalf("%v", &first)
	}
	copied := first.Forwarded[0].Seq
	var page wire.ListEntriesResponse
	w.must(s.bob.token, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: s.group, From: copied, Limit: 1}, &page)
	if e := page.Entries[0]; e.Forward.GetSender() != s.me.id || e.Forward.GetStoredAtMs() == 0 || !e.Silent || e.Content.GetText() == "" {
		t.Errorf("the copy is %v", e)
	}
	edit := &wire.EditMessageRequest{Conversation: s.group, Seq: copied, Content: text("never said")}
	if code := w.call(s.me.token, "MessageService/EditMessage", edit, nil); code != im.CodePermissionDenied {
		t.Errorf("a copy is edited: %q", code)
	}
	w.must(s.me.token, "MessageService/RecallMessage", &wire.RecallMessageRequest{Conversation: s.group, Seq: s.mine}, nil)
	w.must(s.me.token, "MessageService/ForwardMessages", req, &again)
	for i, f := range first.Forwarded {
		if again.Forwarded[i].Seq != f.Seq {
			t.Errorf("asked again: %v, first %v", &again, &first)
		}
	}
	id := im.NewMessageID(time.Now(), [10]byte{9})
	req.Messages[0].Id = id[:]
	if code := w.call(s.me.token, "MessageService/ForwardMessages", req, nil); code != im.CodeTooLate {
		t.Errorf("what was taken back is forwarded: %q", code)
	}
}

// A silent message that is sent is told so.
func TestSilent(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	var sent wire.SendMessageResponse
	w.must(s.me.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: s.group, Content: text("for tomorrow"), Silent: true}, &sent)
	var page wire.ListEntriesResponse
	w.must(s.bob.token, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: s.group, From: sent.Seq, Limit: 1}, &page)
	if len(page.Entries) != 1 || !page.Entries[0].Silent {
		t.Errorf("%v", &page)
	}
}
