package e2e

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// addedAgain: bob was a member twice while he was away. He reads what was
// acknowledged to the group in both times, and what lies between in neither way.
func addedAgain(t *testing.T, w World) {
	ctx := deadline(t)
	ann, cem := join(t, w, "ann", 0), join(t, w, "cem", 1)
	bob := newDevice(t, w, "bob", wire.DeviceClass_DEVICE_CLASS_PHONE, 2)
	ask := func(what string, req, resp proto.Message) {
		t.Helper()
		if err := skein.Post(ctx, w.HTTP(), "skein.v1.MessageService/"+what, bob.token, req, resp); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	list := func(position, timeline string) *wire.SyncDelta {
		t.Helper()
		resp := &wire.ListConversationsResponse{}
		ask("ListConversations", &wire.ListConversationsRequest{Position: position, Timeline: timeline}, resp)
		return resp.Delta
	}
	before := list("", "")
	g := must(ann.Groups().Create(t.Context(), "Tea", "cem"))(t).Conversation
	cem.reaches(g, 1)
	var theirs []uint64
	for _, in := range []bool{false, true, false, true} {
		change := ann.Groups().Remove
		if in {
			change = ann.Groups().Add
		}
		if len(theirs) > 0 || in {
			must(change(t.Context(), g, "bob"))(t)
		}
		for range 3 {
			m := ann.says(g, "word")
			if in {
				theirs = append(theirs, m.Seq)
			}
		}
	}
	// Created, three, added, three, removed, three, added, three.
	if !slices.Equal(theirs, []uint64{6, 7, 8, 14, 15, 16}) {
		t.Fatalf("bob's are %v", theirs)
	}
	visible := []uint64{5, 6, 7, 8, 9, 13, 14, 15, 16}
	delta := list(before.Position, before.Timeline)
	if len(delta.Conversations) != 1 {
		t.Fatalf("told %v", delta)
	}
	st := delta.Conversations[0]
	if len(st.Earlier) != 1 || st.Earlier[0].FirstSeq != 5 || st.Earlier[0].UntilSeq != 9 || st.Earlier[0].Hidden != 3 || st.FirstSeq != 13 || st.UntilSeq != 0 {
		t.Errorf("windows %v and %d to %d", st.Earlier, st.FirstSeq, st.UntilSeq)
	}
	if st.Unread != 6 {
		t.Errorf("%d unread", st.Unread)
	}
	seqs := func(es []*wire.Entry) (s []uint64) {
		for _, e := range es {
			s = append(s, e.Seq)
		}
		return s
	}
	if got := seqs(st.Entries); !slices.Equal(got, visible) {
		t.Errorf("synced %v", got)
	}
	for _, backward := range []bool{true, false} {
		resp := &wire.ListEntriesResponse{}
		ask("ListEntries", &wire.ListEntriesRequest{Conversation: g, Backward: backward, Limit: 100}, resp)
		if got := seqs(resp.Entries); !slices.Equal(got, visible) {
			t.Errorf("pulled %v, backward %v", got, backward)
		}
	}
	resp := &wire.ListEntriesResponse{}
	ask("ListEntries", &wire.ListEntriesRequest{Conversation: g, From: 12, Backward: true, Limit: 2}, resp)
	if got := seqs(resp.Entries); !slices.Equal(got, []uint64{8, 9}) {
		t.Errorf("from between the windows down: %v", got)
	}
}
