package skein

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// What is not kept any more (SPEC §4.33) is taken away with the next state, from what is
// shown, from what is unread and from the store, and it is told once; of none, some and all
// of what is here, of a user who was there twice, and beside what disappears.
func TestNotKeptAnyMore(t *testing.T) {
	for _, floor := range []uint64{0, 1, 3, 8, 9, 10, 24, 25} {
		for how := range 4 {
			twice, disappears := how&1 > 0, how&2 > 0
			t.Run(fmt.Sprintf("%d, twice %t, disappears %t", floor, twice, disappears), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					r.dial()
					r.sayMany(dm, "bob", 5)
					pause(time.Second)
					if twice {
						r.do(func() { r.earlier[dm], r.first[dm] = []*wire.Window{{FirstSeq: 1, UntilSeq: 5}}, 7 })
						r.hangUp()
					}
					r.sayMany(dm, "bob", 3)
					if disappears {
						r.setLifetime(dm, 60)
					}
					r.sayMany(dm, "bob", 14)
					pause(10 * time.Second)
					r.checkLeft("before", dm)
					if err := r.c.Conversation(dm).MarkRead(bg, 8); err != nil {
						t.Fatal(err)
					}
					pause(time.Second)
					r.hangUp()
					r.do(func() { r.floor[dm] = floor })
					r.sayMany(dm, "bob", 2)
					pause(30 * time.Second)
					r.checkLeft("then", dm)
					if kept := r.keptOf(dm); len(kept) > 0 && slices.Min(kept) <= floor {
						t.Errorf("kept: %v", kept)
					}
					told := len(eventsOf[*GoneEvent](r.events))
					r.hangUp()
					r.say(dm, "bob", "more")
					pause(10 * time.Second)
					r.checkLeft("again", dm)
					eq(t, "told again", len(eventsOf[*GoneEvent](r.events)), told)
					pause(5 * time.Minute)
					r.checkLeft("in the end", dm)
					r.restart()
					pause(time.Second)
					r.checkLeft("after a restart", dm)
				})
			})
		}
	}
}

// rises moves the floor of a conversation, and tells it to who is connected.
func (r *rig) rises(conversation string, floor uint64) {
	r.do(func() { r.floor[conversation] = floor })
	r.tellFloor(conversation, floor)
}

func (r *rig) tellFloor(conversation string, floor uint64) {
	var count uint64
	r.do(func() {
		if floor > 0 {
			count = r.journal[conversation][floor-1].Count
		}
	})
	broadcast(r.fake, &wire.Floor{Conversation: conversation, Seq: floor, Count: count})
}

// A floor that rises is told to who is connected (SPEC §4.33): what lies up to it is taken
// away at once, from what is shown, from what is unread and from the store, without a
// question where the frame tells it all. Told again, or lower, it changes nothing; nor does a
// server's answer that was made before.
func TestFloorRises(t *testing.T) {
	for _, floor := range []uint64{0, 1, 3, 5, 6, 7, 9, 10, 24} {
		for how := range 16 {
			twice, disappears, read, few := how&1 > 0, how&2 > 0, how&4 > 0, how&8 > 0
			t.Run(fmt.Sprintf("%d, twice %t, disappears %t, read %t, few named %t", floor, twice, disappears, read, few), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) { floorRises(t, r, floor, twice, disappears, read, few) })
			})
		}
	}
}

func floorRises(t *testing.T, r *rig, floor uint64, twice, disappears, read, few bool) {
	if few {
		r.named = 1
	}
	r.dial()
	r.sayMany(dm, "bob", 4)
	r.sayMentioning(dm, "alice") // 5
	pause(time.Second)
	if twice {
		r.do(func() { r.earlier[dm], r.first[dm] = []*wire.Window{{FirstSeq: 1, UntilSeq: 5}}, 7 })
		r.hangUp()
	}
	r.sayMany(dm, "bob", 2)
	r.sayMentioning(dm, "alice") // 8
	if disappears {
		r.setLifetime(dm, 3600)
	}
	r.sayMany(dm, "bob", 12)
	for _, seq := range []uint64{4, 8, 12} {
		r.takeBack(dm, seq)
	}
	pause(10 * time.Second)
	r.hangUp() // the server tells what was recalled
	r.say(dm, "bob", "last")
	pause(10 * time.Second)
	if read {
		if err := r.c.Conversation(dm).MarkRead(bg, 4); err != nil {
			t.Fatal(err)
		}
	}
	pause(10 * time.Second)
	r.checkLeft("before", dm)
	syncs := len(frames(r.fake, (*wire.ClientFrame).GetSync))
	r.rises(dm, floor)
	between := twice && floor == 6
	if !between && !few {
		pause(time.Millisecond)
		r.checkLeft("at once", dm)
		eq(t, "questions", len(frames(r.fake, (*wire.ClientFrame).GetSync)), syncs)
	}
	pause(5 * time.Second)
	r.checkLeft("then", dm)
	if kept := r.keptOf(dm); len(kept) > 0 && slices.Min(kept) <= floor {
		t.Errorf("kept: %v", kept)
	}
	var told []string
	for _, e := range eventsOf[*GoneEvent](r.events) {
		told = append(told, fmt.Sprint(e.From <= floor, " ", e.To))
	}
	switch {
	case floor == 0:
		eq(t, "told", told, []string(nil))
	case twice && floor == 5: // and what lies behind it and was never shown
		eq(t, "told", told, []string{"true 6"})
	default:
		eq(t, "told", told, []string{fmt.Sprint("true ", floor)})
	}
	r.tellFloor(dm, floor)
	r.tellFloor(dm, floor/2)
	broadcast(r.fake, &wire.Floor{Conversation: "grp:none", Seq: 3, Count: 3})
	r.do(func() { r.floor[dm] = 0 }) // a node that has not noticed yet
	r.hangUp()
	r.say(dm, "bob", "more")
	pause(10 * time.Second)
	r.do(func() { r.floor[dm] = floor })
	pause(2 * time.Minute)
	r.checkLeft("after an old answer", dm)
	eq(t, "told again", len(eventsOf[*GoneEvent](r.events)), len(told))
	r.restart()
	pause(time.Second)
	r.checkLeft("after a restart", dm)
}

func (r *rig) sayMentioning(conversation, user string) {
	r.do(func() {
		r.append(nil, &wire.Entry{
			Conversation: conversation, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Mentions: []string{user},
			Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "you"}},
		})
	})
}
