package e2e

import (
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// joining: somebody asks by a link, is refused, asks again and is let in; the owner
// and who asks hear all of it. Somebody else joins an open group by the last use.
func joining(t *testing.T, w World) {
	ann, bob, cem := join(t, w, "ann", 0), join(t, w, "bob", 1), join(t, w, "cem", 2)
	ctx := t.Context()
	id := must(ann.Groups().Create(ctx, "Tea"))(t).Conversation
	opens := func(mode wire.JoinMode) {
		t.Helper()
		must(ann.Groups().Update(ctx, &wire.UpdateGroupRequest{Conversation: id, Join: mode}))(t)
	}
	opens(wire.JoinMode_JOIN_MODE_APPROVAL)
	link := must(ann.Groups().CreateLink(ctx, id, time.Now().Add(time.Hour), 3))(t)
	look := must(bob.Groups().Look(ctx, link.Code))(t)
	if look.Name != "Tea" || look.Members != 1 || !look.Approval {
		t.Errorf("a look shows %v", look)
	}
	for range 2 {
		if got := must(bob.Groups().Ask(ctx, link.Code, "please"))(t); got != id {
			t.Errorf("asked to join %s", got)
		}
	}
	requested, refused := wire.EventType_EVENT_TYPE_GROUP_JOIN_REQUESTED, wire.EventType_EVENT_TYPE_GROUP_JOIN_REFUSED
	hears := func(p *person, about, by string, what wire.EventType) {
		t.Helper()
		find(p, what.String(), func(e *skein.JoinRequestEvent) bool {
			return e.Conversation == id && e.User == about && e.By == by && e.Event.GetType() == what
		})
	}
	hears(ann, "bob", "bob", requested)
	if all := must(ann.Groups().Requests(ctx, id))(t); len(all) != 1 || all[0].User != "bob" || all[0].Text != "please" {
		t.Errorf("requests %v", all)
	}
	if err := ann.Groups().RefuseJoin(ctx, id, "bob"); err != nil {
		t.Fatal(err)
	}
	hears(bob, "bob", "ann", refused)
	must(bob.Groups().Ask(ctx, link.Code, ""))(t)
	if err := bob.Groups().Withdraw(ctx, id); err != nil {
		t.Fatal(err)
	}
	hears(ann, "bob", "bob", wire.EventType_EVENT_TYPE_GROUP_JOIN_WITHDRAWN)
	must(bob.Groups().Ask(ctx, link.Code, ""))(t)
	if err := ann.Groups().Approve(ctx, id, "bob"); err != nil {
		t.Fatal(err)
	}
	find(bob, "being let in", func(e *skein.GroupEvent) bool {
		return e.Event.GetType() == wire.EventType_EVENT_TYPE_MEMBER_ADDED && e.By == "ann"
	})
	bob.says(id, "thank you")
	ann.hears("thank you")

	opens(wire.JoinMode_JOIN_MODE_OPEN)
	if _, err := cem.Groups().Join(ctx, link.Code); err == nil {
		t.Error("a link for three was used a fourth time")
	}
	link = must(ann.Groups().CreateLink(ctx, id, time.Time{}, 1))(t)
	if g := must(cem.Groups().Join(ctx, link.Code))(t); g.Conversation != id || g.Members != 3 {
		t.Errorf("joined %v", g)
	}
	cem.says(id, "hello")
	ann.hears("hello")
	bob.hears("hello")
	for _, l := range must(ann.Groups().Links(ctx, id))(t) {
		if l.Creator != "ann" || l.Uses != l.MaxUses {
			t.Errorf("a link that is used up: %v", l)
		}
		if err := ann.Groups().RevokeLink(ctx, id, l.Code); err != nil {
			t.Error(err)
		}
	}
	if all := must(ann.Groups().Links(ctx, id))(t); len(all) != 0 {
		t.Errorf("links %v", all)
	}
}
