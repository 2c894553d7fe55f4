package skein

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

func (r *rig) recall(conversation string, target uint64) {
	r.do(func() {
		r.append(nil, &wire.Entry{Conversation: conversation, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: target})
	})
	synctest.Wait()
}

func (r *rig) wantUnread(what string, want uint64) {
	r.t.Helper()
	synctest.Wait()
	if got, err := r.c.Conversation(grp).Unread(bg); err != nil || got != want || want != r.unread() {
		r.t.Errorf("%s: %d unread, %v; want %d, the server says %d", what, got, err, want, r.unread())
	}
}

// A recall of an unread message lowers what is unread at once, on whichever device;
// one of a read message does not, nor does the same recall again.
func TestRecalledIsNotUnread(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(grp, "bob", 6)
		r.wantUnread("before", 6)
		if err := r.c.Conversation(grp).MarkRead(bg, 2); err != nil {
			t.Fatal(err)
		}
		pause(time.Second)
		r.wantUnread("read", 4)
		r.recall(grp, 1) // below the mark
		r.recall(grp, 2) // at it
		r.wantUnread("recalled what was read", 4)
		r.recall(grp, 3) // above
		r.wantUnread("recalled one", 3)
		r.recall(grp, 3)
		r.wantUnread("recalled it again", 3)
		r.recall(grp, 5)
		r.wantUnread("recalled two", 2)
		r.restart()
		r.wantUnread("after a restart", 2)
		// The mark moves part-way over what was recalled, here and on another device.
		if err := r.c.Conversation(grp).MarkRead(bg, 4); err != nil {
			t.Fatal(err)
		}
		pause(time.Second)
		r.wantUnread("read part of it", 1)
		r.do(func() { r.markRead(grp, 5) })
		broadcast(r.fake, &wire.Receipt{Conversation: grp, User: "alice", Read: 5})
		r.wantUnread("read on elsewhere", 1)
		r.do(func() { r.markRead(grp, 6) })
		broadcast(r.fake, &wire.Receipt{Conversation: grp, User: "alice", Read: 6})
		r.wantUnread("read all", 0)
	})
}

// What a device missed is counted when it is back, and a new device counts it from
// the list.
func TestRecalledWhileAway(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sayMany(grp, "bob", 9)
		r.recall(grp, 3)
		r.dial()
		r.wantUnread("a new device", 8)
		r.end()
		r.recall(grp, 4)
		r.recall(grp, 5)
		r.dial()
		r.wantUnread("back again", 6)
		if err := r.c.Conversation(grp).MarkRead(bg, 9); err != nil {
			t.Fatal(err)
		}
		r.recall(grp, 9)
		pause(time.Minute)
		r.wantUnread("all read", 0)
	})
}

// Recalls that a window leaves out, as it starts anew behind a large gap, count.
func TestRecalledInAGap(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial(WithMaxGap(5))
		r.sayMany(grp, "bob", 4)
		r.do(func() { r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil } })
		r.recall(grp, 2)
		r.recall(grp, 3)
		r.sayMany(grp, "bob", 100)
		broadcast(r.fake, &wire.Heads{Heads: []*wire.Head{{Conversation: grp, Seq: 106}}})
		pause(time.Minute)
		r.wantUnread("behind a gap", 102)
		if s, _ := r.c.Conversation(grp).Summary(bg); s.Low <= 6 {
			t.Errorf("the window begins at %d: nothing was left out", s.Low)
		}
	})
}

// A recall from a time when the user was no member is known from the list, and the
// message here loses its content.
func TestRecalledBetweenTwoTimes(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(grp, "bob", 3)
		r.roster(false)
		r.sayMany(grp, "bob", 2) // 5, 6: never alice's
		r.recall(grp, 2)
		r.recall(grp, 5)
		r.roster(true)
		r.sayMany(grp, "bob", 1)
		pause(time.Minute)
		r.wantUnread("back again", 3)
		r.recall(grp, 6) // not hers
		r.wantUnread("a message that was not hers", 3)
		es, err := r.store.Entries(bg, grp, 2, 2, 1)
		if err != nil || len(es) != 1 || !es[0].Recalled || es[0].Content != nil {
			t.Errorf("%v, %v; want it erased", es, err)
		}
	})
}

// mentioning is a message or an edit that mentions alice, all, or nobody.
func mentioning(rng *rand.Rand, e *wire.Entry) *wire.Entry {
	e.Conversation, e.Sender = grp, "bob"
	if e.Content == nil {
		e.Content = &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "m"}}
	}
	switch rng.IntN(4) {
	case 0:
		e.Mentions = []string{"carol", "alice"}
	case 1:
		e.GroupMention = wire.GroupMention_GROUP_MENTION_ALL
	case 2:
		e.Mentions, e.GroupMention = []string{"carol"}, wire.GroupMention_GROUP_MENTION_HERE
	}
	return e
}

// Whatever happens in whatever order, what a device says to be unread is what the
// server says, also when the server names but a few of what was recalled.
func TestUnreadAgreesWithTheServer(t *testing.T) {
	for seed := range uint64(150) {
		inBubble(t, func(t *testing.T, r *rig) {
			rng := rand.New(rand.NewPCG(seed, 7))
			r.named = []int{1000, 2, 0}[seed%3]
			r.dial(WithMaxGap(12))
			in := true
			for step := range 40 {
				switch n := rng.IntN(14); {
				case n < 4 || len(r.theirs()) == 0:
					for range 1 + rng.IntN(4) {
						r.do(func() { r.append(nil, mentioning(rng, &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_MESSAGE})) })
					}
				case n < 7:
					r.do(func() {
						target := r.journal[grp][rng.IntN(len(r.journal[grp]))]
						if target.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE {
							r.append(nil, &wire.Entry{Conversation: grp, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: target.Seq})
						}
					})
				case n == 7:
					seqs := r.theirs()
					_ = r.c.Conversation(grp).MarkRead(bg, seqs[rng.IntN(len(seqs))])
				case n == 8:
					seqs := r.theirs()
					seq := seqs[rng.IntN(len(seqs))]
					r.do(func() { r.markRead(grp, seq) })
					broadcast(r.fake, &wire.Receipt{Conversation: grp, User: "alice", Read: seq})
				case n == 9:
					in = !in
					r.roster(in)
				case n == 10:
					r.restart(WithMaxGap(12))
				case n > 11:
					seqs := r.theirs()
					r.do(func() {
						target := r.journal[grp][seqs[rng.IntN(len(seqs))]-1]
						if !amends(target) && !target.Recalled {
							kind := kindEdit
							if target.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE && rng.IntN(2) == 0 {
								kind = wire.EntryKind_ENTRY_KIND_EDIT
							}
							r.append(nil, mentioning(rng, &wire.Entry{Kind: kind, Target: target.Seq, Content: target.Content}))
						}
					})
				default:
					r.hangUp()
				}
				if rng.IntN(2) == 0 {
					continue // the next step comes at once
				}
				pause(2 * time.Minute)
				if !in || len(r.theirs()) == 0 {
					continue // who has left is not told of recalls, until the conversation is told again
				}
				if got, err := r.c.Conversation(grp).Unread(bg); err != nil || got != r.unread() {
					t.Errorf("seed %d, step %d: %d unread, %v; the server says %d", seed, step, got, err, r.unread())
					return
				}
				if v, err := r.c.Conversation(grp).Summary(bg); err != nil || v.UnreadMentions != r.mentions() {
					t.Errorf("seed %d, step %d: %d mentions, %v; the server says %d", seed, step, v.UnreadMentions, err, r.mentions())
					return
				}
			}
		})
	}
}

// The record of what was recalled, as the mark passes it and the server names it.
func TestRecalledRecord(t *testing.T) {
	r := ConversationRecord{First: 1, High: 20, Head: 20, Read: 4}
	state := func(seq, recalled uint64, seqs ...uint64) []uint64 {
		return r.takeRecalled(&wire.ConversationState{Seq: seq, Recalled: recalled, RecalledSeqs: seqs})
	}
	check := func(what string, more uint64, seqs ...uint64) {
		t.Helper()
		if fmt.Sprint(r.Recalled) != fmt.Sprint(seqs) || r.RecalledMore != more {
			t.Errorf("%s: %v and %d more, want %v and %d", what, r.Recalled, r.RecalledMore, seqs, more)
		}
	}
	eq(t, "news", state(20, 3, 6, 8, 9), []uint64{6, 8, 9})
	check("told", 0, 6, 8, 9)
	for _, seq := range []uint64{7, 7, 3} { // twice is as once
		eq(t, "counted", r.recall(seq), true)
	}
	check("a recall", 0, 6, 7, 8, 9)
	eq(t, "news", state(19, 2, 6, 8), []uint64(nil))
	check("as it was before", 0, 6, 7, 8, 9)
	eq(t, "news", state(20, 2, 6, 8), []uint64(nil))
	check("as it is now", 0, 6, 8)
	state(19, 5, 6, 8)
	check("more than are named", 3, 6, 8)
	eq(t, "known below the last one named", r.recall(7), true)
	eq(t, "not known behind it", r.recall(9), false)
	check("a recall among them", 3, 6, 7, 8)
	r.passRecalled(7)
	check("passed", 3, 8)
	eq(t, "unnamed", r.unnamed(), false)
	r.passRecalled(9)
	check("passed all", 3)
	eq(t, "unnamed", r.unnamed(), true)
	r.passRecalled(20)
	check("at the end", 0)
}

// The record of unread mentions, as messages come, the mark passes them and the server
// names them, also when it looked before this device's last entries.
func TestMentionsRecord(t *testing.T) {
	k := &core{meta: Meta{User: "alice", Listing: true}}
	k.unsure, k.dirty = map[*conv]struct{}{}, map[*conv]struct{}{}
	cv := &conv{rec: ConversationRecord{First: 1, High: 20, Head: 20, Read: 4}}
	state := func(seq, mentions uint64, seqs ...uint64) {
		k.takeMentions(cv, &wire.ConversationState{Seq: seq, UnreadMentions: mentions, MentionSeqs: seqs})
	}
	check := func(what string, asks bool, more uint64, seqs ...uint64) {
		t.Helper()
		_, asked := k.unsure[cv]
		if fmt.Sprint(cv.rec.Mentions) != fmt.Sprint(seqs) || cv.rec.MentionsMore != more || asked != asks {
			t.Errorf("%s: %v and %d more, asked %t; want %v, %d, %t", what, cv.rec.Mentions, cv.rec.MentionsMore, asked, seqs, more, asks)
		}
		clear(k.unsure)
	}
	state(20, 3, 6, 8, 9)
	check("told", false, 0, 6, 8, 9)
	k.noteMention(cv, 8, 20, false)
	check("what the server knew", false, 0, 6, 8, 9)
	k.noteMention(cv, 8, 21, false)
	k.noteMention(cv, 7, 22, true)
	k.noteMention(cv, 3, 23, true)
	k.noteMention(cv, 24, 24, true)
	check("edits, and a message", false, 0, 6, 7, 9, 24)
	cv.rec.High, cv.rec.Head = 24, 24
	state(19, 3, 6, 8, 9)
	check("an answer of before the last one", false, 0, 6, 7, 9, 24)
	state(22, 3, 6, 7, 9)
	check("an answer of before the message", false, 0, 6, 7, 9, 24)
	state(23, 2, 6, 9)
	check("one that differs where this device knows less than both", true, 0, 6, 9, 24)
	state(23, 4, 6, 9)
	check("more than are named, and the message", true, 3, 6, 9)
	state(24, 5, 6, 9)
	check("more than are named", false, 3, 6, 9)
	k.noteMention(cv, 25, 25, true)
	check("one more", false, 4, 6, 9)
	k.noteMention(cv, 12, 26, false)
	check("one of them, perhaps", true, 4, 6, 9)
	cv.rec.passMentions(9)
	check("passed all named", false, 4)
	eq(t, "unnamed", cv.rec.unnamed(), true)
	cv.rec.passMentions(24)
	check("at the end", false, 0)
	eq(t, "unnamed", cv.rec.unnamed(), false)
}
