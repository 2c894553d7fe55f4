package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestKept: messages are kept for two days, in one group for an hour and in one for ever,
// as an administrator set it: what is older is gone for all, by every door and on devices
// that were away, and is given up by the store, also where the processes are killed
// between.
func TestKept(t *testing.T) {
	t.Parallel()
	const two = "messaging.retention=48h"
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		keeps(t, newMoved(t, "", 1, two))
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		keeps(t, newMoved(t, pgtest.Database(t), 1, two))
	})
	t.Run("two nodes", func(t *testing.T) {
		t.Parallel()
		keeps(t, newMoved(t, pgtest.Database(t), 2, two))
	})
}

// keptGroup is a group in which something is said that is not kept for ever.
type keptGroup struct{ *day }

func keeps(t *testing.T, w *moved) {
	d := &day{t: t, w: w}
	long := func(user string, class wire.DeviceClass, which int) device {
		dev := newDevice(t, w, user, class, which)
		dev.token = mint(t, w, user, 100*24*time.Hour).AccessToken
		return dev
	}
	d.ann = connect(t, w, long("ann", wire.DeviceClass_DEVICE_CLASS_PHONE, 0))
	d.bob = connect(t, w, long("bob", wire.DeviceClass_DEVICE_CLASS_PHONE, 1))
	var all [3]*keptGroup // for two days, an hour, for ever
	for i := range all {
		g := &keptGroup{day: &day{t: t, w: w, ann: d.ann, bob: d.bob}}
		g.group = must(d.ann.Groups().Create(deadline(t), fmt.Sprint("Tea ", i), "bob"))(t).Conversation
		g.another = must(d.ann.Groups().Create(deadline(t), fmt.Sprint("Other ", i), "bob"))(t).Conversation
		d.bob.reaches(g.group, 1)
		g.says()
		all[i] = g
	}
	days, hour, ever := all[0], all[1], all[2]
	w.keep(t, hour.group, wire.RetentionKind_RETENTION_KIND_TIME, 3600)
	w.keep(t, ever.group, wire.RetentionKind_RETENTION_KIND_FOREVER, 0)
	d.bob.reaches(ever.group, ever.last)
	away := d.bob.device
	d.bob.leave()

	empty := w.emptiedOf(t, ever.group) // entries that say nothing

	w.move(t, 24*time.Hour)
	hour.gone(hour.last)
	hour.vanished(d.ann, hour.last)
	for _, g := range all {
		if seq := d.ann.says(g.group, "a day later").Seq; seq != g.last+1 {
			t.Errorf("the next one is %d, behind %d", seq, g.last)
		}
	}
	w.move(t, 25*time.Hour)
	days.gone(days.last)
	days.vanished(d.ann, days.last)
	hour.gone(hour.last + 1)
	hour.vanished(d.ann, hour.last+1)
	ever.gone(0)
	for _, n := range w.live() { // between the floor and what the store does
		n.kill(t)
		n.start(t)
	}
	w.move(t, 2*time.Minute)
	w.given(t, days.group, 1, days.last)
	w.given(t, hour.group, 1, hour.last+1)
	days.gone(days.last)
	hour.gone(hour.last + 1)
	ever.gone(0)

	bob, desk := connect(t, w, away), connect(t, w, long("ann", wire.DeviceClass_DEVICE_CLASS_DESKTOP, 2))
	for _, g := range all {
		g.bob = bob
		d.ann.says(g.group, "in the end")
		want := map[*keptGroup][]string{
			days: {"a day later", "in the end"}, hour: {"in the end"}, ever: {"old, edited", "poll", "old", "old", "a day later", "in the end"},
		}[g]
		for _, p := range []*person{desk, bob} {
			p.until(fmt.Sprint("what is left: ", want), func([]skein.Event) bool {
				got := slices.DeleteFunc(said(t, p, g.group), func(text string) bool { return text == "" })
				return slices.Equal(got, want) || g == ever && len(got) >= len(want)-1
			})
		}
	}
	if n := w.emptiedOf(t, ever.group) - empty; n > 0 {
		t.Errorf("%d of what is kept for ever were given up", n)
	}
}

// says says something old.
func (g *keptGroup) says() {
	t, ctx := g.t, deadline(g.t)
	tea := g.ann.Conversation(g.group)
	g.target = g.ann.says(g.group, "old", skein.Mention("bob")).Seq
	g.bob.reaches(g.group, g.target)
	g.poll = must(tea.SendPoll(ctx, skein.Poll{Question: "old?", Options: []string{"yes", "no"}}))(t).Seq
	s := must(tea.Stream(ctx, "old"))(t)
	for _, err := range []error{
		tea.Edit(ctx, g.target, "old, edited", skein.Mention("bob")), tea.Pin(ctx, g.target),
		g.bob.Conversation(g.group).React(ctx, g.target, "👍"), s.Append(ctx, " in parts"), s.End(ctx),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	g.streamed, g.first = s.Seq(), 1
	g.last = g.ann.says(g.group, "old").Seq
}

// gone waits until a group is gone up to a floor, and asks for what is gone in every way
// there is; floor 0: nothing is.
func (g *keptGroup) gone(floor uint64) {
	t := g.t
	t.Helper()
	state := func() *wire.ConversationState { return g.list(g.ann) }
	waits(t, fmt.Sprint("the floor ", floor, " of ", g.group), func() bool { return state().Floor == floor })
	st := state()
	if floor == 0 {
		if st.FirstSeq != 1 {
			t.Errorf("of what is kept the first is %d", st.FirstSeq)
		}
		return
	}
	if st.FirstSeq != floor+1 || len(st.Earlier) > 0 {
		t.Errorf("floor %d: first %d, earlier %v", floor, st.FirstSeq, st.Earlier)
	}
	was := g.last
	g.last = floor
	g.only("the list", st.Entries)
	for _, req := range []*wire.ListEntriesRequest{{Limit: 200}, {Backward: true, Limit: 200}, {From: 1, Limit: 200}, {AtMs: 1, Limit: 200}} {
		req.Conversation = g.group
		var page wire.ListEntriesResponse
		g.must(g.bob, "ListEntries", req, &page)
		g.only(fmt.Sprint("entries ", req), page.Entries)
	}
	var mentions wire.ListMentionsResponse
	g.must(g.bob, "ListMentions", &wire.ListMentionsRequest{}, &mentions)
	g.only("mentions", mentions.Entries)
	var pins wire.ListPinsResponse
	g.must(g.bob, "ListPins", &wire.ListPinsRequest{Conversation: g.group}, &pins)
	g.only("pins", pins.Entries)
	g.named("below the floor", g.ann)
	g.named("below the floor", g.bob)
	g.last = was
}

// vanished waits until a device that is connected has taken away what lies up to a floor:
// nobody says anything, and it asks for nothing.
func (g *keptGroup) vanished(p *person, floor uint64) {
	g.t.Helper()
	p.until(fmt.Sprint("what lies up to ", floor, " vanishes"), func(events []skein.Event) bool {
		return slices.ContainsFunc(events, func(e skein.Event) bool {
			gone, ok := e.(*skein.GoneEvent)
			return ok && gone.Conversation == g.group && gone.To >= floor
		})
	})
	all := must(p.device.store.Entries(deadline(g.t), g.group, 1, floor, 1000))(g.t)
	if i := slices.IndexFunc(all, func(e *wire.Entry) bool { return e.Content != nil || e.Event != nil }); i >= 0 {
		g.t.Errorf("the device has of what is gone: %v", all[i])
	}
}

// keep sets how long messages of a conversation are kept.
func (m *moved) keep(t *testing.T, conversation string, kind wire.RetentionKind, seconds uint32) {
	t.Helper()
	req := &wire.SetRetentionRequest{Conversation: conversation, Kind: kind, RetentionS: seconds}
	if err := skein.Post(deadline(t), m.HTTP(), "skein.v1.AdminService/SetRetention", m.AdminKey(), req, new(wire.SetRetentionResponse)); err != nil {
		t.Fatal(err)
	}
}

// emptiedOf counts what the store has given up of a conversation.
func (m *moved) emptiedOf(t *testing.T, group string) int {
	if m.database != "" {
		return int(m.emptied(t, group, 1, 1<<40))
	}
	m.nodes[0].terminate()
	empty, _ := embeddedBodies(t, m, group)
	m.nodes[0].start(t)
	return empty
}
