package e2e

import (
	"fmt"
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// recalledIsRead: a message that was recalled is not unread, on a device that is
// connected, one that was away, and a new one, wherever the read mark stands.
func recalledIsRead(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	befriend(t, ann, bob)
	desk := connect(t, w, newDevice(t, w, "bob", wire.DeviceClass_DEVICE_CLASS_DESKTOP, 2))
	dm := ann.DM("bob").ID()
	for i := range 8 {
		ann.says(dm, fmt.Sprint("message ", i+1))
	}
	bob.reaches(dm, 8)
	desk.reaches(dm, 8)
	unread := func(what string, want uint64, all ...*person) {
		t.Helper()
		for _, p := range all {
			if n := must(p.Conversation(dm).Unread(t.Context()))(t); n != want {
				t.Errorf("%s: %d unread on %s, want %d", what, n, p.device.id, want)
			}
		}
	}
	recall := func(seqs ...uint64) {
		t.Helper()
		for _, seq := range seqs {
			if err := ann.Conversation(dm).Recall(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := bob.Conversation(dm).MarkRead(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	find(desk, "the mark", func(e *skein.ReceiptEvent) bool { return e.User == "bob" && e.Read == 2 })
	unread("before", 6, bob, desk)
	recall(1, 2)
	bob.reaches(dm, 10)
	desk.reaches(dm, 10)
	unread("what was read is recalled", 6, bob, desk)
	recall(3)
	bob.reaches(dm, 11)
	desk.reaches(dm, 11)
	unread("one is recalled", 5, bob, desk)
	away := desk.device
	desk.leave()
	recall(5, 5, 7) // the second one is the first again
	bob.reaches(dm, 13)
	desk = connect(t, w, away)
	desk.reaches(dm, 13)
	fresh := connect(t, w, newDevice(t, w, "bob", wire.DeviceClass_DEVICE_CLASS_TABLET, 3))
	fresh.reaches(dm, 13)
	unread("two more", 3, bob, desk, fresh)
	resp := &wire.ListConversationsResponse{}
	if err := skein.Post(deadline(t), w.HTTP(), "skein.v1.MessageService/ListConversations", bob.device.token, &wire.ListConversationsRequest{}, resp); err != nil {
		t.Fatal(err)
	}
	if st := resp.GetDelta().GetConversations()[0]; st.Unread != 3 || st.Recalled != 3 || fmt.Sprint(st.RecalledSeqs) != "[3 5 7]" {
		t.Errorf("the list: %v", st)
	}
	must(fresh.Conversation(dm).History(t.Context(), 0, 100))(t) // it knows the counts then, and need not ask
	// Part-way over what was recalled.
	if err := bob.Conversation(dm).MarkRead(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*person{desk, fresh} {
		find(p, "the mark", func(e *skein.ReceiptEvent) bool { return e.User == "bob" && e.Read == 5 })
	}
	unread("read on", 2, bob, desk, fresh)
	agree(t, dm, 8, ann, bob, desk, fresh) // five of the 13 entries took messages back
}
