package api

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
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

// So many copies are so many sends: who has fewer left stores none of them, is told how
// long to wait, and sends them then. What is stored already costs nothing more.
func TestForwardCountsAsSends(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	now := time.Now()
	devices := limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 1, Burst: 3}})
	w.calls.Limiter = NewLimiter(LimiterOptions{Devices: devices, Now: func() time.Time { return now }})
	forward := func(n int, salt byte) (*wire.ForwardMessagesRequest, im.Code) {
		req := &wire.ForwardMessagesRequest{Conversation: s.group}
		for i := range n {
			id := im.NewMessageID(time.Now(), [10]byte{salt, byte(i)})
			req.Messages = append(req.Messages, &wire.ForwardSource{Conversation: s.group, Seq: s.mine, Id: id[:]})
		}
		return req, w.call(s.me.token, "MessageService/ForwardMessages", req, nil)
	}
	first, code := forward(3, 1)
	if code != "" {
		t.Fatalf("three: %q", code)
	}
	var page wire.ListEntriesResponse
	entries := func() uint64 {
		w.must(s.me.token, "MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: s.group, From: 1, Limit: 1}, &page)
		return page.Head
	}
	before := entries()
	if _, code := forward(3, 2); code != im.CodeRateLimited || entries() != before {
		t.Errorf("three more at once: %q, %d entries, %d before", code, entries(), before)
	}
	if code := w.call(s.me.token, "MessageService/ForwardMessages", first, nil); code != "" {
		t.Errorf("the first ones again: %q", code)
	}
	if _, code := forward(1, 3); code != "" {
		t.Errorf("one is counted at the door: %q", code)
	}
	now = now.Add(3 * time.Second)
	if _, code := forward(3, 4); code != "" {
		t.Errorf("when it is time: %q", code)
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
