package skein

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

func (f *fake) state(conversation string) *wire.ConversationState {
	j := f.journal[conversation]
	s := &wire.ConversationState{
		Conversation: conversation, ReadSeq: f.read[conversation],
		PeerReceived: f.peerReceived[conversation], PeerRead: f.peerRead[conversation], Title: f.titles[conversation],
		Mine: f.mine[conversation], Lifetimes: f.lifetimes(conversation), Floor: f.floor[conversation],
	}
	_, first := f.left(conversation)
	s.FirstSeq = max(1, first)
	if len(j) > 0 {
		if s.UntilSeq = f.until[conversation]; s.UntilSeq > 0 {
			j = j[:s.UntilSeq]
		}
		last := j[len(j)-1]
		s.Seq, s.Count, s.LastAtMs = last.Seq, last.Count, last.StoredAtMs
		s.Earlier = f.windows(conversation)
		var seen uint64
		for _, e := range j {
			if !f.sees(e) {
				continue
			}
			switch {
			case e.Seq <= s.ReadSeq || e.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE:
			case !e.Recalled && !f.gone(e):
				seen++
				if e.Sender != "alice" && (slices.Contains(e.Mentions, "alice") || e.GroupMention == wire.GroupMention_GROUP_MENTION_ALL) {
					if s.UnreadMentions++; len(s.MentionSeqs) < f.named {
						s.MentionSeqs = append(s.MentionSeqs, e.Seq)
					}
				}
			default:
				if s.Recalled++; len(s.RecalledSeqs) < f.named {
					s.RecalledSeqs = append(s.RecalledSeqs, e.Seq)
				}
			}
		}
		s.Unread = seen
	}
	return s
}

// sees tells whether an entry is the user's to read.
func (f *fake) sees(e *wire.Entry) bool {
	until := f.until[e.Conversation]
	earlier, first := f.left(e.Conversation)
	for _, w := range earlier {
		if e.Seq >= w.FirstSeq && e.Seq <= w.UntilSeq {
			return true
		}
	}
	return e.Seq >= first && (until == 0 || e.Seq <= until)
}

// listed: a group is in the list once the user may see something of it.
func (f *fake) listed(conversation string) bool {
	return f.first[conversation] <= uint64(len(f.journal[conversation]))
}

// windows are the earlier times of membership, with what is hidden behind each
// and not behind the read mark (SPEC §4.3).
func (f *fake) windows(conversation string) (out []*wire.Window) {
	all, first := f.left(conversation)
	for i, w := range all {
		next := first
		if i+1 < len(all) {
			next = all[i+1].FirstSeq
		}
		hidden := uint64(0)
		for _, e := range f.journal[conversation] {
			if e.Seq > max(w.UntilSeq, f.read[conversation]) && e.Seq < next && e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE {
				hidden++
			}
		}
		out = append(out, &wire.Window{FirstSeq: w.FirstSeq, UntilSeq: w.UntilSeq, Hidden: hidden})
	}
	return out
}

// roster adds alice to the group, or removes her.
func (f *fake) roster(in bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	typ, seq := wire.EventType_EVENT_TYPE_MEMBER_REMOVED, uint64(len(f.journal[grp]))+1
	if in {
		typ = wire.EventType_EVENT_TYPE_MEMBER_ADDED
		if until := f.until[grp]; until > 0 {
			f.earlier[grp] = append(f.earlier[grp], &wire.Window{FirstSeq: max(f.first[grp], 1), UntilSeq: until})
		}
		f.first[grp], f.until[grp] = seq, 0
	} else {
		f.until[grp] = seq
	}
	f.append(nil, &wire.Entry{
		Conversation: grp, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EVENT,
		Event: &wire.Event{Type: typ, Users: []string{"alice"}},
	})
}

func (f *fake) rename(title string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.titles[grp] = title
	f.append(nil, &wire.Entry{
		Conversation: grp, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EVENT,
		Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_GROUP_RENAMED, Text: title},
	})
}

// theirs are the seqs of the group that are alice's to read.
func (f *fake) theirs() (seqs []uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.journal[grp] {
		if f.sees(e) {
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}

func (f *fake) unread() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state(grp).Unread
}

func (f *fake) mentions() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state(grp).UnreadMentions
}

// timesCases are earlier times of membership and where the last one begins.
func timesCases() map[string]ConversationRecord {
	return map[string]ConversationRecord{
		"not known": {},
		"none":      {First: 1},
		"late":      {First: 7},
		"one":       {First: 10, Earlier: []Window{{First: 3, Until: 5}}},
		"two":       {First: 15, Earlier: []Window{{First: 1, Until: 1}, {First: 3, Until: 9}}},
		"many":      {First: 30, Earlier: []Window{{First: 2, Until: 2}, {First: 4, Until: 8}, {First: 12, Until: 12}, {First: 14, Until: 28}}},
	}
}

// What follows, what precedes and how much there is between is what counting
// tells.
func TestTimesOfMembership(t *testing.T) {
	for name, r := range timesCases() {
		sees := func(seq uint64) bool {
			return seq > 0 && (seq >= r.First || slices.ContainsFunc(r.Earlier, func(w Window) bool { return seq >= w.First && seq <= w.Until }))
		}
		for seq := range uint64(40) {
			after := seq + 1
			for !sees(after) {
				after++
			}
			before := max(seq, 1) - 1
			for before > 0 && !sees(before) {
				before--
			}
			if got := r.after(seq); got != after {
				t.Errorf("%s: after %d comes %d, want %d", name, seq, got, after)
			}
			if got := r.before(seq); got != before {
				t.Errorf("%s: before %d comes %d, want %d", name, seq, got, before)
			}
			n := uint64(0)
			for to := max(seq, 1); to < 40; to++ {
				if sees(to) {
					n++
				}
				if got := r.theirs(max(seq, 1), to); got != n {
					t.Errorf("%s: %d of %d..%d, want %d", name, got, seq, to, n)
				}
			}
			if after > 1 && sees(after) {
				cut := r
				cut.startAt(after)
				if cut.begin() != after || cut.before(after) != 0 || cut.after(after) != r.after(after) {
					t.Errorf("%s: started at %d: %+v", name, after, cut)
				}
			}
		}
	}
}

// Who is removed and added again, any number of times, while connected, while
// away, with pushes that get lost, or with a device that is new: they are shown
// what was said while they were a member and nothing of the rest, all of it counts
// as unread, pages back over the times between, and is in peace with the server.
func TestAddedAgain(t *testing.T) {
	ways := []string{"connected", "away", "pushes lost", "away for a time only", "new device"}
	for _, way := range ways {
		for _, times := range []int{0, 1, 2, 7} {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprint(way, " ", times, " ", late), func(t *testing.T) {
					inBubble(t, func(t *testing.T, r *rig) { addedAgain(t, r, way, times, late) })
				})
			}
		}
	}
}

func addedAgain(t *testing.T, r *rig, way string, times int, late bool) {
	var want []string
	said := func(theirs bool, n int) {
		for range n {
			s := fmt.Sprint("m", len(r.texts()))
			r.say(grp, "bob", s)
			if theirs {
				want = append(want, s)
			}
		}
	}
	if late {
		r.do(func() { r.first[grp] = 1 << 40 })
		said(false, 3)
	}
	r.dial()
	if late {
		r.roster(true)
	}
	said(true, 4)
	pause(time.Minute)
	switch way {
	case "away", "new device":
		r.end()
	case "pushes lost":
		r.do(func() { r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil } })
	}
	for i := range times {
		if way == "away for a time only" {
			if i%2 == 1 {
				r.dial()
			} else {
				r.end()
			}
		}
		r.roster(false)
		r.rename("theirs")
		said(false, 1+i*40)
		r.roster(true)
		r.rename("all's")
		said(true, 2+i)
	}
	r.do(func() { r.onPush = nil })
	if way == "new device" {
		r.store = NewMemoryStore()
	}
	old := 0
	if r.c == nil {
		if way != "new device" {
			old = len(r.events.messages())
		}
		r.dial()
	}
	pause(2 * time.Minute)
	got := r.events.messages()
	if way == "new device" {
		eq(t, "news", len(got), 0)
	} else if way != "away for a time only" {
		eq(t, "messages", got, want[old:])
	}
	checkAddedAgain(t, r)
}

// checkAddedAgain reads everything in every way.
func checkAddedAgain(t *testing.T, r *rig) {
	t.Helper()
	theirs := r.theirs()
	eq(t, "gaps", len(eventsOf[*GapEvent](r.events)), 0)
	v := r.c.Conversation(grp)
	s, err := v.Summary(bg)
	if err != nil || !s.Member || s.High != theirs[len(theirs)-1] || s.Unread != r.unread() || s.Title != r.titles[grp] {
		t.Errorf("%+v, %v; want %d unread, %q", s, err, r.unread(), r.titles[grp])
	}
	for _, page := range []int{1, 3, 20, 1000} {
		var got []uint64
		for before := uint64(0); ; before = got[0] {
			ms, err := v.History(bg, before, page)
			if err != nil {
				t.Fatal(err)
			}
			if len(ms) == 0 {
				break
			}
			var seqs []uint64
			for _, m := range ms {
				seqs = append(seqs, m.Seq)
			}
			got = append(seqs, got...)
		}
		if !slices.Equal(got, theirs) {
			t.Errorf("pages of %d: %v, want %v", page, got, theirs)
			return
		}
	}
	for before := uint64(1); before <= theirs[len(theirs)-1]; before++ {
		ms, err := v.History(bg, before, 1)
		i, _ := slices.BinarySearch(theirs, before)
		if err != nil || (len(ms) == 1) != (i > 0) || i > 0 && ms[0].Seq != theirs[i-1] {
			t.Errorf("before %d: %v, %v", before, ms, err)
			return
		}
	}
	es, err := r.store.Entries(bg, grp, 1, 1<<60, 1<<30)
	if err != nil || len(es) != len(theirs) {
		t.Errorf("%d entries in the store, want %d; %v", len(es), len(theirs), err)
	}
	syncs := len(frames(r.fake, (*wire.ClientFrame).GetSync))
	pause(10 * time.Minute)
	eq(t, "syncs in peace", len(frames(r.fake, (*wire.ClientFrame).GetSync))-syncs, 0)
	for _, seq := range theirs {
		if err := v.MarkRead(bg, seq); err != nil {
			t.Fatal(err)
		}
		pause(10 * time.Second)
		unread, _ := v.Unread(bg)
		if unread != r.unread() {
			t.Errorf("read up to %d: %d unread, want %d", seq, unread, r.unread())
			return
		}
	}
}

// What was said between two times is no gap, however much it is; what was missed of
// the user's own is one, and history reads it.
func TestGapAcrossTimes(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.opts = []Option{WithMaxGap(100)}
		r.dial()
		r.sayMany(grp, "bob", 3)
		synctest.Wait()
		r.roster(false)
		r.sayMany(grp, "bob", 3000)
		r.roster(true)
		r.sayMany(grp, "bob", 80)
		pause(time.Minute)
		checkAddedAgain(t, r)
		r.end()
		r.sayMany(grp, "bob", 70)
		r.roster(false)
		r.sayMany(grp, "bob", 10)
		r.roster(true)
		r.sayMany(grp, "bob", 70)
		r.do(func() { r.deltaMax = 5 })
		r.dial()
		pause(time.Minute)
		gaps := eventsOf[*GapEvent](r.events)
		if len(gaps) != 1 || !slices.Contains(r.theirs(), gaps[0].From) || !slices.Contains(r.theirs(), gaps[0].To) {
			t.Fatalf("gaps %+v", gaps)
		}
		ms, err := r.c.Conversation(grp).History(bg, 0, 1000)
		eq(t, "history", len(ms), len(r.theirs()))
		eq(t, "err", err, nil)
	})
}

// A store of a version that knew of the last time of membership only, which reads
// the list again: it learns of the others, and history reads them.
func TestTimesAreLearntFromTheList(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.say(dm, "bob", "another conversation")
		r.comesBack()
		r.sayMany(grp, "bob", 2)
		pause(time.Minute)
		r.end()
		snap, err := r.store.Load(bg)
		if err != nil {
			t.Fatal(err)
		}
		b := &Batch{Meta: &snap.Meta}
		b.Meta.Listing = true
		for _, rec := range snap.Conversations {
			if rec.ID == grp {
				rec.Earlier, rec.Low = nil, rec.First
				b.Forget = []EntryRef{{grp, rec.First}}
				b.Conversations = []*ConversationRecord{&rec}
			}
		}
		if err := r.store.Apply(bg, b); err != nil {
			t.Fatal(err)
		}
		r.say(grp, "bob", "while away")
		r.dial()
		pause(time.Minute)
		eq(t, "messages", r.events.messages(), []string{"while away"})
		checkAddedAgain(t, r)
	})
}

// All pushes about leaving and coming back are lost, and a position that is beyond
// them is told: the client asks the list since when it is a member.
func TestPositionBeyondTheReturn(t *testing.T) {
	for _, restart := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.dial()
			r.sayMany(grp, "bob", 3)
			pause(time.Minute)
			hold := true
			r.do(func() {
				r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
				r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool { return hold && f.GetPull() != nil }
			})
			r.say(grp, "bob", "lost")
			r.roster(false)
			r.say(grp, "bob", "hidden")
			r.roster(true)
			last := r.say(grp, "bob", "pushed")
			broadcast(r.fake, &wire.Push{Entries: []*wire.Entry{last}, Position: r.position()})
			synctest.Wait()
			if restart {
				r.end()
			}
			r.do(func() { hold, r.onPush = false, nil })
			if restart {
				r.dial()
			} else {
				r.hangUp()
			}
			pause(2 * time.Minute)
			checkAddedAgain(t, r)
		})
	}
}

// Who was removed while a state was made is told that, and of the entries only those
// up to the state's end: what lies between is pulled, or comes as a push, and is shown.
func TestRemovedWhileTheStateWasMade(t *testing.T) {
	in := func(seq uint64) *wire.Entry {
		e := said(seq)
		e.Conversation = grp
		return e
	}
	for _, pushed := range []bool{false, true} {
		k := still(t, NewMemoryStore())
		cv := k.newConv(grp, 0)
		cv.rec.First = 1
		k.offer(cv, in(1), false)
		k.applyState(&wire.ConversationState{
			Conversation: grp, Seq: 3, Count: 3, FirstSeq: 1, UntilSeq: 5, FromSeq: 2, Entries: []*wire.Entry{in(2), in(3)},
		}, false, reqSync)
		eq(t, "end of the window", cv.rec.High, 3)
		eq(t, "known to exist", cv.rec.Head, 5)
		eq(t, "is missing", cv.missing(), true)
		removal := &wire.Entry{
			Conversation: grp, Seq: 5, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EVENT, Count: 4,
			Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_MEMBER_REMOVED, Users: []string{"alice"}},
		}
		if pushed {
			k.take([]*wire.Entry{in(4), removal})
		} else {
			k.filled(&request{kind: reqFill, cv: cv, from: 4}, &wire.Range{
				Conversation: grp, FirstSeq: 4, LastSeq: 5, Head: 5, Entries: []*wire.Entry{in(4), removal},
			})
		}
		k.commit()
		es, err := k.o.store.Entries(bg, grp, 1, 9, 9)
		if err != nil || len(es) != 5 || cv.rec.High != 5 || cv.rec.Until != 5 || cv.missing() {
			t.Errorf("pushed %v: %d entries, %v; %+v", pushed, len(es), err, cv.rec)
		}
	}
}

// A server that says nothing for as long as it said itself is lost, before anybody
// else's patience is over. SPEC §9.1.
func TestSilentServerIsLostWhenItSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.welcome = func(w *wire.Welcome) {
			w.Heartbeat = &wire.Heartbeat{IdleMs: 5_000, SilenceMs: 7_500, DeadMs: 10_000}
		}
		r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool { return f.GetPing() != nil } // not answered
		r.dial()
		pause(9 * time.Second)
		pings := frames(r.fake, (*wire.ClientFrame).GetPing)
		eq(t, "pings", len(pings), 1)
		eq(t, "hellos", len(frames(r.fake, (*wire.ClientFrame).GetHello)), 1)
		pause(2 * time.Second)
		eq(t, "hellos after dead_ms", len(frames(r.fake, (*wire.ClientFrame).GetHello)), 2)
	})
}

// Who writes marks all the time and hears nothing asks whether the server is there.
func TestHearingNothingPings(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.welcome = func(w *wire.Welcome) {
			w.Heartbeat = &wire.Heartbeat{IdleMs: 5_000, SilenceMs: 7_500, DeadMs: 10_000}
		}
		c := r.dial()
		for range 3 {
			pause(2 * time.Second)
			if err := c.Conversation(dm).Typing(bg); err != nil {
				t.Fatal(err)
			}
		}
		eq(t, "pings", len(frames(r.fake, (*wire.ClientFrame).GetPing)), 1)
	})
}

// Who is added again to a group that shows everything may read what lies between their
// times: the window has none of it, so it begins behind it.
func TestWindowBeginsBehindWhatIsShownNow(t *testing.T) {
	store := NewMemoryStore()
	k := still(t, store)
	in := func(seq uint64) *wire.Entry { e := said(seq); e.Conversation = grp; return e }
	k.applyState(&wire.ConversationState{Conversation: grp, Seq: 3, Count: 3, FirstSeq: 1, UntilSeq: 3, FromSeq: 1, Entries: []*wire.Entry{in(1), in(2), in(3)}}, false, reqSync)
	twice := &wire.ConversationState{Conversation: grp, Seq: 8, Count: 8, FirstSeq: 7, Earlier: []*wire.Window{{FirstSeq: 1, UntilSeq: 3}}, FromSeq: 7, Entries: []*wire.Entry{in(7), in(8)}}
	k.applyState(twice, false, reqSync)
	k.applyState(twice, false, reqSync) // nothing new: the window stays
	k.commit()
	if r := k.convs[grp].rec; r.Low != 1 || r.High != 8 {
		t.Fatalf("window %d to %d, want 1 to 8", r.Low, r.High)
	}
	k.applyState(&wire.ConversationState{Conversation: grp, Seq: 9, Count: 9, FirstSeq: 9, Earlier: []*wire.Window{{FirstSeq: 1, UntilSeq: 8}}, FromSeq: 9, Entries: []*wire.Entry{in(9)}}, false, reqSync)
	k.commit()
	es, err := store.Entries(bg, grp, 1, 100, 100)
	if r := k.convs[grp].rec; err != nil || r.Low != 7 || r.High != 9 || len(es) != 3 || es[0].Seq != 7 {
		t.Errorf("window %d to %d, entries %v, %v; want 7 to 9", r.Low, r.High, es, err)
	}
}

// Who is added again while a Sync is under way that was asked for before asks once more:
// its answer says that they are gone.
func TestReturnedWhileASyncIsUnderWay(t *testing.T) {
	k := still(t, NewMemoryStore())
	in := func(seq uint64) *wire.Entry { e := said(seq); e.Conversation = grp; return e }
	gone := &wire.ConversationState{Conversation: grp, Seq: 3, Count: 3, FirstSeq: 1, UntilSeq: 3, FromSeq: 1, Entries: []*wire.Entry{in(1), in(2), in(3)}}
	k.applyState(gone, false, reqSync)
	k.state, k.syncing = StateConnected, true
	k.take([]*wire.Entry{in(5)})
	k.syncing = false
	k.release()
	cv := k.convs[grp]
	if _, asked := k.unsure[cv]; !asked || len(k.held) != 1 {
		t.Fatalf("asked %t, %d entries wait; want another Sync", asked, len(k.held))
	}
	clear(k.unsure)
	k.release() // the answer said nothing of it: it is not asked for ever
	if len(k.unsure) != 0 || len(k.held) != 0 {
		t.Fatalf("%d asked, %d entries wait", len(k.unsure), len(k.held))
	}
}
