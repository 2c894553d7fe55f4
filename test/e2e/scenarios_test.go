package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/bus/mem"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// scenario is something users experience, on any deployment.
type scenario struct {
	name  string
	terms terms
	run   func(t *testing.T, w World)
}

// scenarios is the one list. A scenario that needs a handle of its own on the
// deployment's terms makes them itself.
func scenarios() []scenario {
	return []scenario{
		{"two users chat", terms{}, chat},
		{"messages for who is away", terms{}, away},
		{"a group of three", terms{}, groupOfThree},
		{"links and requests to join", terms{}, joining},
		{"recall", terms{}, recall},
		{"recalled is not unread", terms{}, recalledIsRead},
		{"edits, reactions, votes, mentions, pins and copies come to all", terms{}, changesEverywhere},
		{"unread and read marks on two devices", terms{}, twoDevices},
		{"contacts and blocks", terms{}, contacts},
		{"restart under clients", terms{}, restart},
		{"two logins race", terms{}, race},
		{"two tabs of a browser", terms{}, tabs},
		{"a revoked session is closed", terms{}, revoke},
		{"who is banned is out at once", terms{}, banned},
		{"minted tokens", terms{}, minted},
		{"one answer through both doors", terms{}, doors},
		{"a slow reader beside a fast one", terms{}, slowReader},
		{"own changes reach the other device", terms{}, ownChanges},
		{"what a user sets for themselves", terms{}, myState},
		{"removed and added again", terms{}, addedAgain},
		{"two devices resume while groups are made", terms{}, newGroups},
		{"who was away asks page by page", terms{settings: map[string]string{"groups.max_per_user": "5000"}}, resumePages},
		{"four senders, one order", terms{}, oneOrder},
		{"a call with a key is carried out once", terms{}, keyed},
		{"calls with one key at the same time", terms{}, keyedAtOnce},
		{"an answer that was lost", terms{}, keyedAnswerLost},
		{"the SDK's calls are carried out once", terms{}, keyedSDK},
		{"messages are found by who may read them", terms{}, searching},
		{"everything of a user's comes as one zip", terms{}, exporting},
		{"what is uploaded is fetched by who may read it", terms{}, sharing},
		{"links have previews, for who reads the message", terms{settings: map[string]string{"previews.fetch": "on", "previews.allow": "127.0.0.1/32"}}, previews},
		{"announced to everybody", terms{}, announcing},
		{"words that are not allowed, on all nodes", terms{}, filtering},
		{"who was written to first answers", terms{}, answering},
		{"how the deployment is", terms{}, healthy},
		{"the tour", terms{}, tour},
	}
}

// TestOneNode plays the list in this process, under the race detector.
func TestOneNode(t *testing.T) {
	runAll(t, oneNode)
	runRepairs(t, oneNode)
	t.Run("a busy client resumes where it was", func(t *testing.T) {
		t.Parallel()
		busy(t, oneNode(t, terms{}))
	})
	t.Run("no pushed position skips anything", func(t *testing.T) {
		t.Parallel()
		cuts(t, oneNode(t, terms{}))
	})
}

// TestSplit plays it on two gateways, two logic nodes and an API node, over
// PostgreSQL and NATS.
func TestSplit(t *testing.T) {
	runAll(t, split)
	runRepairs(t, split)
	t.Run("a busy client resumes where it was", func(t *testing.T) {
		t.Parallel()
		busy(t, split(t, terms{places: time.Second}))
	})
	t.Run("no pushed position skips anything that is lost between nodes", func(t *testing.T) {
		t.Parallel()
		cuts(t, split(t, terms{places: 500 * time.Millisecond, dispatch: leak}))
	})
	hub := mem.NewHub(1)
	hub.SetFaults(mem.Faults{Skew: 3 * time.Millisecond})
	s := scenario{"four senders, one order, subjects that overtake each other", terms{bus: func(name string, h bus.Handler) (bus.Bus, error) { return hub.Open(name, h), nil }}, oneOrder}
	t.Run(s.name, func(t *testing.T) {
		t.Parallel()
		s.run(t, split(t, s.terms))
	})
}

// TestRealProcess plays it with the program as it is shipped. What needs a hand
// inside the server cannot be played there.
func TestRealProcess(t *testing.T) { runAll(t, oneProcess) }

func runAll(t *testing.T, d deployment) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, d(t, s.terms))
		})
	}
}

func runRepairs(t *testing.T, d deployment) {
	for _, s := range repairs() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, d)
		})
	}
}

// chat: one on tcp in protobuf, the other on ws in JSON, and the ticks.
func chat(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	befriend(t, ann, bob)
	dm := ann.DM("bob").ID()
	first := ann.says(dm, "Hello 🌻")
	if first.Seq != 1 || first.Status != skein.StatusSent {
		t.Errorf("%+v", first)
	}
	got := bob.hears("Hello 🌻")
	if got.Sender != "ann" || got.Own || got.Seq != 1 || got.ID != first.ID {
		t.Errorf("%+v", got)
	}
	find(ann, "the delivered tick", func(e *skein.ReceiptEvent) bool { return e.User == "bob" && e.Received >= 1 })
	if err := bob.Conversation(dm).MarkRead(t.Context(), 1); err != nil {
		t.Error(err)
	}
	find(ann, "the read tick", func(e *skein.ReceiptEvent) bool { return e.User == "bob" && e.Read >= 1 })
	ms := must(ann.Conversation(dm).History(t.Context(), 0, 10))(t)
	if len(ms) != 1 || ms[0].Status != skein.StatusRead {
		t.Errorf("%+v", ms)
	}
	data := []byte{0, 0xff, 0xfe, '{'}
	bob.says(dm, "", skein.ContentType("application.octet-stream"), skein.Data(data), skein.ReplyTo(1), skein.Mention("ann"))
	reply := find(ann, "bob's answer", func(e *skein.MessageEvent) bool { return e.Message.Seq == 2 }).Message
	if string(reply.Data) != string(data) || reply.ReplyTo != 1 || !slices.Equal(reply.Mentions, []string{"ann"}) {
		t.Errorf("%+v", reply)
	}
	agree(t, dm, 2, ann, bob)
}

// away: what was sent while a device was away is there when it comes back, each once, in order.
func away(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 2), join(t, w, "bob", 3)
	befriend(t, ann, bob)
	dm := ann.DM("bob").ID()
	ann.says(dm, "before")
	bob.hears("before")
	phone := bob.device
	bob.leave()
	for i := range 60 { // more than a sync brings along
		ann.says(dm, fmt.Sprintf("while away %d", i))
	}
	bob = connect(t, w, phone)
	bob.reaches(dm, 61)
	bob.hears("while away 59")
	got := bob.heard(dm)
	if len(got) != 60 || got[0] != "while away 0" {
		t.Errorf("%d messages: %q", len(got), got)
	}
	if n := must(bob.Conversation(dm).Unread(t.Context()))(t); n != 61 {
		t.Errorf("%d unread", n)
	}
	// A device that has never been here sees the same.
	tablet := connect(t, w, newDevice(t, w, "bob", wire.DeviceClass_DEVICE_CLASS_TABLET, 0))
	agree(t, dm, 61, ann, bob, tablet)
}

// groupOfThree: everybody hears everything while they are in it, and nobody else.
func groupOfThree(t *testing.T, w World) {
	ann, bob, cem := join(t, w, "ann", 0), join(t, w, "bob", 1), join(t, w, "cem", 2)
	befriend(t, ann, bob, cem)
	g := must(ann.Groups().Create(t.Context(), "Tea", "bob"))(t)
	id := g.Conversation
	ann.says(id, "only the two of us")
	bob.hears("only the two of us")
	must(ann.Groups().Add(t.Context(), id, "cem"))(t)
	find(cem, "joining", func(e *skein.GroupEvent) bool {
		return e.Event.GetType() == wire.EventType_EVENT_TYPE_MEMBER_ADDED && e.By == "ann"
	})
	cem.says(id, "hello from cem")
	ann.hears("hello from cem")
	bob.hears("hello from cem")

	must(ann.Groups().Remove(t.Context(), id, "bob"))(t)
	find(bob, "leaving", func(e *skein.GroupEvent) bool {
		return e.Event.GetType() == wire.EventType_EVENT_TYPE_MEMBER_REMOVED
	})
	ann.says(id, "bob is gone")
	cem.hears("bob is gone")
	if _, err := bob.Conversation(id).Send(t.Context(), "am I?"); err == nil {
		t.Error("a removed member may write")
	}
	must(bob.Sessions().List(t.Context()))(t) // a round trip: nothing is on its way
	if got := bob.heard(id); !slices.Equal(got, []string{"only the two of us", "hello from cem"}) {
		t.Errorf("bob heard %q", got)
	}
	s := must(bob.Conversation(id).Summary(t.Context()))(t)
	if s.Member || s.High != 5 {
		t.Errorf("%+v", s)
	}
	for _, m := range must(cem.Conversation(id).History(t.Context(), 0, 100))(t) {
		if m.Seq < 3 {
			t.Errorf("cem sees #%d from before joining", m.Seq)
		}
	}
	if got := ann.history(id); len(got) != 6 {
		t.Errorf("ann has %q", got)
	}
}

// recall: the content is gone from every device, also from one that was away and one that is new.
func recall(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	befriend(t, ann, bob)
	dm := ann.DM("bob").ID()
	ann.says(dm, "stays")
	ann.says(dm, "a slip", skein.ReplyTo(1), skein.Mention("bob"))
	bob.hears("a slip")
	tablet := connect(t, w, newDevice(t, w, "bob", wire.DeviceClass_DEVICE_CLASS_TABLET, 2))
	tablet.reaches(dm, 2)
	must(tablet.Conversation(dm).History(t.Context(), 0, 10))(t)
	kept := tablet.device
	tablet.leave()
	if err := ann.Conversation(dm).Recall(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	find(bob, "the recall", func(e *skein.RecallEvent) bool { return e.Target == 2 && e.By == "ann" })
	ann.reaches(dm, 3)
	tablet = connect(t, w, kept)
	tablet.reaches(dm, 3)
	fresh := connect(t, w, newDevice(t, w, "bob", wire.DeviceClass_DEVICE_CLASS_DESKTOP, 3))
	fresh.reaches(dm, 3)
	for _, p := range []*person{ann, bob, tablet, fresh} {
		for _, line := range p.history(dm) {
			if strings.Contains(line, "slip") {
				t.Errorf("%s still has %s", p.device.user, line)
			}
		}
	}
	agree(t, dm, 2, ann, bob, tablet, fresh) // the recall is no line of the conversation
}

// twoDevices: what is read on one is read on the other; own messages are on both.
func twoDevices(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	desk := connect(t, w, newDevice(t, w, "bob", wire.DeviceClass_DEVICE_CLASS_DESKTOP, 2))
	befriend(t, ann, bob)
	dm := ann.DM("bob").ID()
	for i := range 5 {
		ann.says(dm, fmt.Sprint("message ", i))
	}
	bob.reaches(dm, 5)
	desk.reaches(dm, 5)
	if a, b := must(bob.Conversation(dm).Unread(t.Context()))(t), must(desk.Conversation(dm).Unread(t.Context()))(t); a != 5 || b != 5 {
		t.Errorf("unread %d and %d", a, b)
	}
	if err := bob.Conversation(dm).MarkRead(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	find(desk, "the own mark", func(e *skein.ReceiptEvent) bool { return e.User == "bob" && e.Read == 4 })
	if n := must(desk.Conversation(dm).Unread(t.Context()))(t); n != 1 {
		t.Errorf("%d unread on the desk", n)
	}
	bob.says(dm, "answer")
	if m := desk.hears("answer"); !m.Own {
		t.Errorf("%+v", m)
	}
	if n := must(bob.Conversation(dm).Unread(t.Context()))(t); n != 0 {
		t.Errorf("%d unread after an answer", n)
	}
	agree(t, dm, 6, ann, bob, desk)
}

// contacts: asked, accepted, blocked, removed.
func contacts(t *testing.T, w World) {
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	dm := ann.DM("bob").ID()
	if _, err := ann.Conversation(dm).Send(t.Context(), "hi"); !isCode(err, wire.CodeNotContact) {
		t.Errorf("a stranger writes: %v", err)
	}
	must(ann.Contacts().Request(t.Context(), "bob", "It's me"))(t)
	asked := find(bob, "the request", func(e *skein.ContactEvent) bool {
		return e.Event.GetType() == wire.EventType_EVENT_TYPE_CONTACT_REQUESTED
	})
	if asked.User != "ann" || asked.Event.Text != "It's me" {
		t.Errorf("%+v", asked)
	}
	must(bob.Contacts().Accept(t.Context(), "ann"))(t)
	find(ann, "the answer", func(e *skein.ContactEvent) bool {
		return e.User == "bob" && e.Event.GetType() == wire.EventType_EVENT_TYPE_CONTACT_ACCEPTED
	})
	ann.says(dm, "hi again")
	bob.hears("hi again")

	if err := bob.Contacts().Block(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := ann.Conversation(dm).Send(t.Context(), "hello?"); !isCode(err, wire.CodeNotContact) {
		t.Errorf("a blocked user is told %v", err)
	}
	list := must(bob.Contacts().List(t.Context()))(t)
	if len(list) != 1 || !list[0].Blocked {
		t.Errorf("%v", list)
	}
	if err := bob.Contacts().Unblock(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	ann.says(dm, "thanks")
	if err := bob.Contacts().Remove(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	find(ann, "the end", func(e *skein.ContactEvent) bool {
		return e.Event.GetType() == wire.EventType_EVENT_TYPE_CONTACT_REMOVED
	})
	if _, err := ann.Conversation(dm).Send(t.Context(), "why?"); !isCode(err, wire.CodeNotContact) {
		t.Errorf("after the end: %v", err)
	}
	bob.reaches(dm, 2)
	agree(t, dm, 2, ann, bob)
}

// restart: whatever was acknowledged or in the outbox arrives, each once, in the sender's order.
func restart(t *testing.T, w World) {
	all := []*person{join(t, w, "ann", 0), join(t, w, "bob", 1), join(t, w, "cem", 2)}
	befriend(t, all...)
	g := must(all[0].Groups().Create(t.Context(), "Tea", "bob", "cem"))(t).Conversation
	const each = 40
	ctx := deadline(t)
	var pending []*skein.Pending
	for i := range each {
		if i == each/4 || i == each/2 {
			w.Stop(t)
		}
		for _, p := range all {
			// In the outbox at once, also while there is no server.
			pending = append(pending, must(p.Conversation(g).SendAsync(ctx, fmt.Sprintf("%s %d", p.device.user, i)))(t))
		}
		if i == each/4+3 || i == each/2+3 {
			w.Start(t)
		}
	}
	for _, p := range pending {
		if _, err := p.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	total := 1 + len(all)*each // and the group's first entry
	for _, p := range all {
		p.reaches(g, uint64(total))
	}
	agree(t, g, total, all...)
	for _, p := range all {
		next := map[string]int{}
		for _, m := range must(p.Conversation(g).History(t.Context(), 0, 1000))(t) {
			if m.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE {
				continue
			}
			if want := fmt.Sprintf("%s %d", m.Sender, next[m.Sender]); m.Text != want {
				t.Fatalf("%s has %q where %q is due", p.device.user, m.Text, want)
			}
			next[m.Sender]++
		}
	}
}
