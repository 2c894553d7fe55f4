package e2e

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// addedAgain: bob was a member twice while he was away, or there with a device, or
// with one that left and came back. He reads what was acknowledged to the group in
// both times, and what lies between in no way.
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
	here := connect(t, w, newDevice(t, w, "bob", wire.DeviceClass_DEVICE_CLASS_TABLET, 3))
	passing := connect(t, w, newDevice(t, w, "bob", wire.DeviceClass_DEVICE_CLASS_DESKTOP, 0))
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
			if m.Seq == 7 {
				passing.reaches(g, 7)
				passing.leave()
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
	if got := seqsOf(st.Entries); !slices.Equal(got, visible) {
		t.Errorf("synced %v", got)
	}
	pullsBothTimes(t, g, visible, ask)
	passing = connect(t, w, passing.device)
	for what, p := range map[string]*person{"connected": here, "away in between": passing, "new": connect(t, w, bob)} {
		t.Run(what, func(t *testing.T) { readsBothTimes(t, p, g, visible, what == "new") })
	}
}

func seqsOf(es []*wire.Entry) (s []uint64) {
	for _, e := range es {
		s = append(s, e.Seq)
	}
	return s
}

// pullsBothTimes reads over the API, up, down, and from between the times.
func pullsBothTimes(t *testing.T, g string, visible []uint64, ask func(what string, req, resp proto.Message)) {
	for _, backward := range []bool{true, false} {
		resp := &wire.ListEntriesResponse{}
		ask("ListEntries", &wire.ListEntriesRequest{Conversation: g, Backward: backward, Limit: 100}, resp)
		if got := seqsOf(resp.Entries); !slices.Equal(got, visible) {
			t.Errorf("pulled %v, backward %v", got, backward)
		}
	}
	resp := &wire.ListEntriesResponse{}
	ask("ListEntries", &wire.ListEntriesRequest{Conversation: g, From: 12, Backward: true, Limit: 2}, resp)
	if got := seqsOf(resp.Entries); !slices.Equal(got, []uint64{8, 9}) {
		t.Errorf("from between the windows down: %v", got)
	}
}

// readsBothTimes: the SDK holds, shows, counts and pages through the entries of
// both times, and takes no note of the rest.
func readsBothTimes(t *testing.T, p *person, g string, visible []uint64, fresh bool) {
	p.reaches(g, visible[len(visible)-1])
	if got := p.heard(g); !fresh && p.device.class == wire.DeviceClass_DEVICE_CLASS_TABLET && len(got) != 6 {
		t.Errorf("heard %v", got)
	}
	v := p.Conversation(g)
	for _, page := range []int{1, 4, 100} {
		var got []uint64
		for before := uint64(0); ; before = got[0] {
			ms := must(v.History(t.Context(), before, page))(t)
			if len(ms) == 0 {
				break
			}
			var seqs []uint64
			for _, m := range ms {
				seqs = append(seqs, m.Seq)
			}
			got = append(seqs, got...)
		}
		if !slices.Equal(got, visible) {
			t.Errorf("pages of %d: %v", page, got)
		}
	}
	if es := must(p.device.store.Entries(t.Context(), g, 1, 1000, 1000))(t); len(es) != len(visible) {
		t.Errorf("%d entries in the store", len(es))
	}
	if n := must(v.Unread(t.Context()))(t); n != 6 {
		t.Errorf("%d unread", n)
	}
	p.until("no gap", func(events []skein.Event) bool {
		return !slices.ContainsFunc(events, func(e skein.Event) bool { _, gap := e.(*skein.GapEvent); return gap })
	})
}
