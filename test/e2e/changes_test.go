package e2e

import (
	"fmt"
	"strings"
	"testing"

	skein "github.com/skein-im/skein/sdk/go"
)

// changesEverywhere: what one member does to messages comes to all others, wherever they
// are connected: edits, reactions, votes, mentions, pins and what is forwarded. With
// several gateways two members are at each, and whoever acts is at the other one for half
// of them. A device that was away, and a new one, have the same.
func changesEverywhere(t *testing.T, w World) {
	ann, bob, carl, dora := join(t, w, "ann", 0), join(t, w, "bob", 1), join(t, w, "carl", 2), join(t, w, "dora", 3)
	befriend(t, ann, bob, carl, dora)
	group := must(ann.Groups().Create(t.Context(), "Tea", "bob", "carl", "dora"))(t).Conversation
	all := []*person{ann, bob, carl, dora}
	for _, p := range all {
		p.reaches(group, 1)
	}
	ctx := deadline(t)
	poll := skein.Poll{Question: "Tea?", Options: []string{"yes", "no"}}
	last := func(_ any, err error) error { return err }
	for _, step := range []struct {
		by *person
		do func(v *skein.Conversation) error
		// target is whose state is looked at, want what all see of it.
		target uint64
		want   string
	}{
		{ann, func(v *skein.Conversation) error { return last(v.Send(ctx, "tea")) }, 2, "tea"},
		{ann, func(v *skein.Conversation) error { return v.Edit(ctx, 2, "more tea") }, 2, "more tea edits 1"},
		{bob, func(v *skein.Conversation) error { return v.React(ctx, 2, "👍") }, 2, "more tea edits 1 👍1"},
		{carl, func(v *skein.Conversation) error { return v.React(ctx, 2, "👍") }, 2, "more tea edits 1 👍2"},
		{bob, func(v *skein.Conversation) error { return v.Unreact(ctx, 2, "👍") }, 2, "more tea edits 1 👍1"},
		{ann, func(v *skein.Conversation) error { return v.Pin(ctx, 2) }, 2, "more tea edits 1 👍1 pinned by ann"},
		{ann, func(v *skein.Conversation) error { return v.Unpin(ctx, 2) }, 2, "more tea edits 1 👍1"},
		{bob, func(v *skein.Conversation) error { return last(v.SendPoll(ctx, poll)) }, 9, "poll 1:0 2:0"},
		{carl, func(v *skein.Conversation) error { return v.Vote(ctx, 9, "1") }, 9, "poll 1:1 2:0"},
		{dora, func(v *skein.Conversation) error { return v.Vote(ctx, 9, "1") }, 9, "poll 1:2 2:0"},
		{carl, func(v *skein.Conversation) error { return v.Vote(ctx, 9, "2") }, 9, "poll 1:1 2:1"},
		{bob, func(v *skein.Conversation) error { return v.EndPoll(ctx, 9) }, 9, "poll 1:1 2:1 ended"},
		{carl, func(v *skein.Conversation) error {
			return last(v.Forward(ctx, skein.EntryRef{Conversation: group, Seq: 2}))
		}, 14, "more tea said by ann"},
		{ann, func(v *skein.Conversation) error { return last(v.Send(ctx, "come", skein.MentionAll())) }, 15, "come to all"},
		{dora, func(v *skein.Conversation) error { return last(v.Send(ctx, "ann", skein.Mention("ann", "bob"))) }, 16, "ann to ann,bob"},
		{ann, func(v *skein.Conversation) error { return v.Recall(ctx, 2) }, 2, "recalled"},
	} {
		if err := step.do(step.by.Conversation(group)); err != nil {
			t.Fatalf("%s, for %q: %v", step.by.device.user, step.want, err)
		}
		for _, p := range all {
			p.sees(group, step.target, step.want)
		}
	}
	away := bob.device
	bob.leave()
	if err := dora.Conversation(group).Edit(ctx, 16, "carl", skein.Mention("carl")); err != nil {
		t.Fatal(err)
	}
	bob = connect(t, w, away)
	fresh := connect(t, w, newDevice(t, w, "carl", carl.device.class, 1))
	for _, p := range []*person{ann, bob, carl, dora, fresh} {
		p.sees(group, 16, "carl edits 1 to carl")
		p.sees(group, 14, "more tea said by ann")
		p.sees(group, 9, "poll 1:1 2:1 ended")
		p.sees(group, 2, "recalled")
	}
	// Neither read anything since they wrote: Ann's message mentions both, Dora's Carl alone.
	for p, want := range map[*person]uint64{bob: 1, fresh: 2} {
		if n := must(p.Conversation(group).Summary(ctx))(t).UnreadMentions; n != want {
			t.Errorf("%s has %d unread mentions, want %d", p.device.user, n, want)
		}
	}
}

// sees waits until a device has a message as somebody else left it.
func (p *person) sees(conversation string, seq uint64, want string) {
	p.t.Helper()
	got := ""
	p.until(fmt.Sprintf("%s#%d to be %q", conversation, seq, want), func([]skein.Event) bool {
		ms, err := p.Conversation(conversation).History(p.t.Context(), 0, 1000)
		if err != nil {
			return false
		}
		for _, m := range ms {
			if m.Seq == seq {
				got = stateOf(m)
			}
		}
		return got == want
	})
}

// stateOf is what a message says and what became of it.
func stateOf(m *skein.Message) string {
	if m.Recalled {
		return "recalled"
	}
	var b strings.Builder
	b.WriteString(m.Text)
	if m.Poll != nil {
		b.Reset()
		b.WriteString("poll")
		for _, o := range m.Poll.Options {
			fmt.Fprintf(&b, " %s:%d", o.Id, o.Votes)
		}
		if m.Poll.EndedAtMs != 0 {
			b.WriteString(" ended")
		}
	}
	if m.Edits > 0 {
		fmt.Fprint(&b, " edits ", m.Edits)
	}
	for _, r := range m.Reactions {
		fmt.Fprintf(&b, " %s%d", r.Reaction, r.Count)
	}
	if m.Pinned != nil {
		b.WriteString(" pinned by " + m.Pinned.User)
	}
	if m.Forward != nil {
		b.WriteString(" said by " + m.Forward.Sender)
	}
	if m.GroupMention != 0 {
		b.WriteString(" to all")
	}
	if len(m.Mentions) > 0 {
		b.WriteString(" to " + strings.Join(m.Mentions, ","))
	}
	return b.String()
}
