package e2e

import (
	"errors"
	"slices"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// announcing: what is announced reaches every connected client, wherever it is connected, is
// told to who asks, and goes when it is withdrawn.
func announcing(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	admin := skein.NewAdmin(w.HTTP(), w.AdminKey())
	made := must(admin.Announce(t.Context(), &wire.AnnounceRequest{
		Text: "Away at ten", Texts: []*wire.AnnouncementText{{Language: "de", Text: "Um zehn weg"}}, Level: wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_WARNING,
	}))(t)
	for _, p := range []*person{ann, bob} {
		e := find(p, "the announcement", func(e *skein.AnnouncementsEvent) bool { return len(e.All) == 1 })
		if a := e.All[0]; a.Id != made.Id || skein.AnnouncementText(a, "fr", "de-AT") != "Um zehn weg" || skein.AnnouncementText(a, "fr") != "Away at ten" {
			t.Errorf("%s: %v", p.device.user, a)
		}
		if all := must(p.Announcements(t.Context()))(t); len(all) != 1 || all[0].Id != made.Id {
			t.Errorf("%s asks: %v", p.device.user, all)
		}
	}
	if err := admin.Withdraw(t.Context(), made.Id); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*person{ann, bob} {
		find(p, "that it is withdrawn", func(e *skein.AnnouncementsEvent) bool { return len(e.All) == 0 })
	}
	carol := join(t, w, "carol", 2)
	if all := must(carol.Announcements(t.Context()))(t); len(all) != 0 {
		t.Errorf("carol asks: %v", all)
	}
}

// filtering: a rule counts on every node from the moment it was answered, whoever sends by
// which, and is gone likewise.
func filtering(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	befriend(t, ann, bob)
	admin := skein.NewAdmin(w.HTTP(), w.AdminKey())
	dm := ann.DM("bob").ID()
	for round := range 5 {
		rule := must(admin.AddFilterRule(t.Context(), &wire.FilterRule{Kind: wire.FilterKind_FILTER_KIND_WORD, Pattern: "赌博", Action: wire.FilterAction_FILTER_ACTION_REFUSE}))(t)
		for _, p := range []*person{ann, bob} {
			_, err := p.Conversation(dm).Send(t.Context(), "我们去赌\u200b博吧")
			var e *skein.Error
			if !errors.As(err, &e) || e.Code != wire.CodeFiltered {
				t.Errorf("round %d, %s: %v", round, p.device.user, err)
			}
		}
		if err := admin.RemoveFilterRule(t.Context(), rule.Id); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*person{ann, bob} {
			p.says(dm, "我们去赌博吧")
		}
	}
}

// answering: who takes messages from contacts only and writes first is answered, whichever
// nodes the two are connected to, until they block the other.
func answering(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	if err := bob.Call(t.Context(), "skein.v1.UserService/UpdateProfile", &wire.UpdateProfileRequest{DmPolicy: wire.DmPolicy_DM_POLICY_EVERYONE}, &wire.UpdateProfileResponse{}); err != nil {
		t.Fatal(err)
	}
	dm := ann.DM("bob").ID()
	refused := func(what string) {
		t.Helper()
		_, err := bob.Conversation(dm).Send(t.Context(), "hello?")
		var e *skein.Error
		if !errors.As(err, &e) || e.Code != wire.CodeNotContact {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("before")
	first := ann.says(dm, "hello")
	bob.reaches(dm, first.Seq)
	answer := bob.says(dm, "hello yourself")
	ann.reaches(dm, answer.Seq)
	if err := ann.Contacts().Block(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	refused("after a block")
	if err := ann.Contacts().Unblock(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	refused("after it was taken back")
}

// healthy: the deployment tells how it is, with every node that is there.
func healthy(t *testing.T, w World) {
	ann := join(t, w, "ann", 0)
	ann.says(ann.DM("ann").ID(), "a note")
	admin := skein.NewAdmin(w.HTTP(), w.AdminKey())
	for ctx := deadline(t); ; {
		h := must(admin.Health(t.Context()))(t)
		roles := map[string]bool{}
		for _, n := range h.Nodes {
			for _, r := range n.Roles {
				roles[r] = roles[r] || n.Ready
			}
		}
		var stores []string
		for _, s := range h.Stores {
			stores = append(stores, s.Name)
			if s.Trouble != "" || s.Durability == "" {
				t.Errorf("%v", s)
			}
		}
		if !slices.Contains(stores, "journal") || !slices.Contains(stores, "directory") || !h.Ready || h.StartedAtMs == 0 || !h.Nodes[0].Self || h.SendsMost == 0 || h.MemoryBytes == 0 {
			t.Fatalf("%v", h)
		}
		var followers []string
		for _, f := range h.Followers {
			followers = append(followers, f.Name)
		}
		if slices.Contains(followers, "later") { // it follows no journal
			t.Fatalf("followers %v", followers)
		}
		if roles["gateway"] && roles["logic"] && roles["api"] && slices.Contains(followers, "push") && slices.Contains(followers, "search") {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("nodes %v, followers %v", h.Nodes, h.Followers)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
