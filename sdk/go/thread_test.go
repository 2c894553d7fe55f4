package skein

import (
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// A thread's root says how many replies there are: by each that is pushed, acknowledged or
// taken back, and by what is read after an absence. Replies are told by events of their
// own, lie in no window, and are never unread.
func TestThreads(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sayMany(dm, "bob", 3)
		r.dial()
		check := func(what string, replies, unread int) {
			t.Helper()
			pause(time.Minute)
			ms, err := r.c.Conversation(dm).History(bg, 0, 10)
			if err != nil || len(ms) != 3 {
				t.Fatalf("%s: %v, %v", what, ms, err)
			}
			eq(t, what, ms[1].Replies, replies)
			s, err := r.c.Conversation(dm).Summary(bg)
			if err != nil {
				t.Fatal(err)
			}
			eq(t, what+": unread", int(s.Unread), unread)
			r.checkStore(dm)
		}
		push := func(e *wire.Entry) (seq uint64) {
			r.do(func() {
				e.Conversation, e.Sender = dm, "bob"
				if e.Kind == 0 {
					e.Kind, e.Thread = wire.EntryKind_ENTRY_KIND_THREAD_REPLY, e.Target
					e.Content = &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "a reply"}}
				}
				seq = r.append(nil, e).Seq
			})
			return seq
		}
		check("none", 0, 3)
		first := push(&wire.Entry{Target: 2})
		check("one", 1, 3)
		if _, err := r.c.Conversation(dm).Send(bg, "mine", InThread(2)); err != nil {
			t.Fatal(err)
		}
		check("an own one", 2, 3)
		if n := len(eventsOf[*ReplyEvent](r.events)); n != 1 {
			t.Errorf("%d replies were told, want one", n)
		}
		if acks := eventsOf[*AckEvent](r.events); len(acks) != 1 || acks[0].Message.Thread != 2 || acks[0].Message.Status != StatusSent {
			t.Errorf("%+v", acks)
		}
		if n, err := r.c.Conversation(dm).Outbox(bg); err != nil || len(n) != 0 {
			t.Errorf("the outbox has %v, %v", n, err)
		}
		push(&wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: first})
		check("taken back", 1, 3)
		if es := eventsOf[*RecallEvent](r.events); len(es) != 1 || es[0].Target != first || es[0].Message.Thread != 2 {
			t.Errorf("%+v", es)
		}
		r.end()
		for range 70 {
			first = push(&wire.Entry{Target: 2})
		}
		r.dial()
		check("after an absence", 71, 3)
		push(&wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_EDIT, Target: first, Thread: 2, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "other words"}}})
		check("a reply is edited", 71, 3)
		if es := eventsOf[*ThreadEvent](r.events); len(es) != 1 || es[0].Target != first || es[0].Root != 2 {
			t.Errorf("%+v", es)
		}
		r.takeBack(dm, 2)
		check("the root is taken back", 0, 2)
		push(&wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: first})
		check("and a reply of it", 0, 2)
	})
}

// A message that stands in a thread and in the conversation's line is a message there, and
// its root counts it: when it is pushed, acknowledged, read after an absence, and taken back
// meanwhile or live.
func TestInBoth(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sayMany(dm, "bob", 2)
		r.dial()
		said := func(text string) (seq uint64) {
			r.do(func() {
				seq = r.append(nil, &wire.Entry{
					Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Thread: 1, AlsoInMain: true,
					Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}},
				}).Seq
			})
			return seq
		}
		check := func(what string, replies, unread int, want ...string) {
			t.Helper()
			pause(time.Minute)
			ms, err := r.c.Conversation(dm).History(bg, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			eq(t, what, texts(ms), append([]string{"m1", "m2"}, want...))
			eq(t, what+": replies", ms[0].Replies, replies)
			for _, m := range ms[2:] {
				if m.Thread != 1 || !m.AlsoInMain || m.Replies != 0 {
					t.Errorf("%s: %+v", what, m)
				}
			}
			s, err := r.c.Conversation(dm).Summary(bg)
			if err != nil || int(s.Unread) != unread {
				t.Errorf("%s: %d unread, want %d, %v", what, s.Unread, unread, err)
			}
			r.checkStore(dm)
		}
		check("none", 0, 2)
		first := said("one")
		check("pushed", 1, 3, "one")
		if es := eventsOf[*MessageEvent](r.events); len(es) == 0 || es[len(es)-1].Message.Thread != 1 {
			t.Errorf("%+v", es)
		}
		if _, err := r.c.Conversation(dm).Send(bg, "mine", InThread(1), AlsoInMain()); err != nil {
			t.Fatal(err)
		}
		check("an own one", 2, 0, "one", "mine")
		r.takeBack(dm, first)
		check("taken back", 1, 0, "", "mine")
		r.end()
		two, three := said("two"), said("three")
		r.takeBack(dm, two)
		said("four")
		r.dial()
		check("after an absence", 3, 2, "", "mine", "", "three", "four")
		r.end()
		r.takeBack(dm, three)
		r.dial()
		check("taken back while away", 2, 1, "", "mine", "", "", "four")
	})
}

// A reply mentions the user until it is read or taken back, though it is not unread.
func TestMentionInThread(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sayMany(grp, "bob", 2)
		r.dial()
		check := func(what string, mentions uint64) {
			t.Helper()
			pause(time.Minute)
			s, err := r.c.Conversation(grp).Summary(bg)
			if err != nil || s.UnreadMentions != mentions || s.Unread != 2 {
				t.Errorf("%s: %d mentions, %d unread, %v", what, s.UnreadMentions, s.Unread, err)
			}
		}
		var seq uint64
		r.do(func() {
			seq = r.append(nil, &wire.Entry{
				Conversation: grp, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_THREAD_REPLY, Target: 1, Thread: 1, Mentions: []string{r.user},
				Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "you"}},
			}).Seq
		})
		check("mentioned", 1)
		r.takeBack(grp, seq)
		check("taken back", 0)
	})
}
