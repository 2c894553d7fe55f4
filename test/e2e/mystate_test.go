package e2e

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// mine waits until a device knows what its user set in a conversation.
func (p *person) mine(conversation, what string, ok func(*wire.MyState) bool) {
	p.t.Helper()
	p.until(what, func([]skein.Event) bool {
		s, err := p.Conversation(conversation).Summary(p.t.Context())
		return err == nil && ok(s.Mine)
	})
}

// myState: what a user sets for themselves on one device, the other one knows,
// connected, when it comes back, and on a new store; nobody else is told; what is
// cleared is not shown, and a draft is there after a restart.
func myState(t *testing.T, w World) {
	phone, cem := join(t, w, "ann", 0), join(t, w, "cem", 1)
	desk := newDevice(t, w, "ann", wire.DeviceClass_DEVICE_CLASS_DESKTOP, 2)
	there := connect(t, w, desk)
	befriend(t, phone, cem)
	dm := skein.DM("ann", "cem")
	cem.says(dm, "one")
	cem.says(dm, "two")
	for _, p := range []*person{phone, there} {
		p.hears("two")
	}
	set := func(change *wire.SetMyStateRequest) {
		t.Helper()
		must(phone.Conversation(dm).SetMyState(t.Context(), change))(t)
	}
	set(&wire.SetMyStateRequest{Pinned: proto.Bool(true), Draft: proto.String("dear cem")})
	there.mine(dm, "a pin and a draft", func(m *wire.MyState) bool { return m.Pinned && m.Draft == "dear cem" })
	there.leave()
	set(&wire.SetMyStateRequest{Draft: proto.String(""), ClearedBelow: proto.Uint64(2), MutedUntilMs: proto.Int64(1 << 42), Folder: proto.String(" Work ")})
	now := func(m *wire.MyState) bool {
		return m.Pinned && m.Draft == "" && m.ClearedBelow == 2 && m.MutedUntilMs == 1<<42 && m.Folder == "Work"
	}
	back := connect(t, w, desk)
	back.mine(dm, "what was set while it was away", now)
	ms := must(back.Conversation(dm).History(t.Context(), 0, 50))(t)
	if len(ms) != 1 || ms[0].Text != "two" {
		t.Errorf("%d messages are shown, want the last one", len(ms))
	}
	w.Stop(t)
	w.Start(t)
	tablet := connect(t, w, newDevice(t, w, "ann", wire.DeviceClass_DEVICE_CLASS_TABLET, 3))
	tablet.mine(dm, "what was set before the restart", now)
	if _, err := phone.Conversation(dm).SetMyState(t.Context(), &wire.SetMyStateRequest{ClearedBelow: proto.Uint64(99)}); !errors.Is(err, skein.ErrInvalidArgument) {
		t.Errorf("cleared beyond the end: %v", err)
	}
	// Where nothing was written yet: to who is there, who comes back, and on a new store.
	back.leave()
	saved := skein.DM("ann", "ann")
	must(phone.Conversation(saved).SetMyState(t.Context(), &wire.SetMyStateRequest{Draft: proto.String("a note")}))(t)
	drafted := func(m *wire.MyState) bool { return m.GetDraft() == "a note" }
	tablet.mine(saved, "a draft in an empty conversation, there", drafted)
	connect(t, w, desk).mine(saved, "a draft in an empty conversation, back", drafted)
	connect(t, w, newDevice(t, w, "ann", wire.DeviceClass_DEVICE_CLASS_WEB, 4)).mine(saved, "a draft in an empty conversation, new", drafted)
	cem.mine(dm, "nothing of ann's", func(m *wire.MyState) bool { return m.Revision == 0 })
	for _, e := range cem.seen() {
		if e, ok := e.(*skein.MyStateEvent); ok {
			t.Errorf("cem is told %v", e.State)
		}
	}
}
