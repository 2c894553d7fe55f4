package e2e

import (
	"slices"
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// own lists what a device was told of the user's own changes, as type, whom it
// is about, and text.
func own(events []skein.Event) (told []string) {
	for _, e := range events {
		switch e := e.(type) {
		case *skein.ContactEvent:
			if e.Message.Own {
				told = append(told, e.Event.Type.String()[len("EVENT_TYPE_"):]+" "+e.User+" "+e.Event.Text)
			}
		case *skein.ProfileEvent:
			told = append(told, "PROFILE "+e.Event.Text)
		}
	}
	return told
}

// ownChanges: what a user does with contacts, blocks, remarks and the profile on
// one device, the other one is told, connected or when it comes back; nobody
// else is told of a block, a remark or the profile.
func ownChanges(t *testing.T, w World) {
	// Of a contact he hears what is his to know, and no word of blocks and remarks.
	cemHears := []wire.EventType{wire.EventType_EVENT_TYPE_CONTACT_REQUESTED, wire.EventType_EVENT_TYPE_CONTACT_ACCEPTED, wire.EventType_EVENT_TYPE_CONTACT_PROFILE_CHANGED}
	phone, cem := join(t, w, "ann", 0), join(t, w, "cem", 1)
	desk := newDevice(t, w, "ann", wire.DeviceClass_DEVICE_CLASS_DESKTOP, 2)
	there := connect(t, w, desk)
	befriend(t, phone, cem)
	change := func(name string) []string {
		for _, err := range []error{
			phone.Contacts().Block(t.Context(), "cem"), phone.Contacts().Block(t.Context(), "cem"), // once is enough
			phone.Contacts().Unblock(t.Context(), "cem"),
			phone.Contacts().SetRemark(t.Context(), "cem", name),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			must(phone.Users().Update(t.Context(), &wire.UpdateProfileRequest{DisplayName: &name}))(t)
		}
		return []string{"CONTACT_BLOCKED cem ", "CONTACT_UNBLOCKED cem ", "CONTACT_REMARKED cem " + name, "PROFILE " + name}
	}
	hears := func(p *person, want []string) {
		t.Helper()
		p.until("its user's own changes", func(events []skein.Event) bool {
			got := own(events)
			return len(got) >= len(want) && slices.Equal(got[len(got)-len(want):], want)
		})
	}
	want := change("while there")
	hears(there, want)
	hears(phone, want)
	there.leave()
	want = change("while away")
	back := connect(t, w, desk)
	hears(back, want)
	if got := own(back.seen()); len(got) != len(want) {
		t.Errorf("told %q", got)
	}
	for _, e := range cem.seen() {
		switch e := e.(type) {
		case *skein.ContactEvent:
			if typ := e.Event.GetType(); !slices.Contains(cemHears, typ) {
				t.Errorf("cem is told %v", e.Event)
			}
		case *skein.ProfileEvent:
			t.Errorf("cem is told %v", e.Event)
		}
	}
}

// seen are the events so far.
func (p *person) seen() []skein.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}
