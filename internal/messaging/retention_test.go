package messaging

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// fakeRetention is how long conversations are kept, and their floors.
type fakeRetention struct {
	rows map[im.ConversationID]im.Retention
}

func (f *fakeRetention) Retention(_ context.Context, cs []im.ConversationID) (map[im.ConversationID]im.Retention, error) {
	out := maps.Clone(f.rows)
	maps.DeleteFunc(out, func(c im.ConversationID, _ im.Retention) bool { return !slices.Contains(cs, c) })
	return out, nil
}

func (f *fakeRetention) change(c im.ConversationID, do func(*im.Retention)) {
	r := f.rows[c]
	do(&r)
	f.rows[c] = r
}

func (f *fakeRetention) SetRetention(_ context.Context, c im.ConversationID, own bool, keep time.Duration, _ time.Time) error {
	f.change(c, func(r *im.Retention) { r.Own, r.Keep = own, keep })
	return nil
}

func (f *fakeRetention) RaiseFloors(_ context.Context, floors []im.Floor, now time.Time) error {
	for _, fl := range floors {
		f.change(fl.Conversation, func(r *im.Retention) {
			if fl.Seq > r.Floor {
				r.Floor, r.Raised = fl.Seq, now
			}
		})
	}
	return nil
}

func (f *fakeRetention) GaveUp(_ context.Context, given []im.Floor) error {
	for _, fl := range given {
		f.change(fl.Conversation, func(r *im.Retention) {
			if fl.Seq > r.Given {
				r.Given, r.Told = fl.Seq, fl.Told
			}
		})
	}
	return nil
}

func (f *fakeRetention) Raised(context.Context) (newest uint64, waits bool, err error) {
	for _, r := range f.rows {
		newest, waits = max(newest, r.Told), waits || r.Given < r.Floor
	}
	return newest, waits, nil
}

// keeping is perishing with floors; keep is the deployment's.
func keeping(t *testing.T, keep time.Duration, windows []im.Window, periods ...im.Period) (*world, *fakePeriods, *fakeRetention, im.ConversationID) {
	r := &fakeRetention{rows: map[im.ConversationID]im.Retention{}}
	w, f, g := perishing(t, windows, periods...)
	w.retention, w.keepFor = r, keep
	return w, f, r, g
}

// Whatever times a user was a member, and whatever disappears by itself: what lies up to
// the floor is not read, not unread, mentions nobody and is not pinned, at once on the
// node that moved it, and the state says where the floor is.
func TestBelowTheFloorIsNobodys(t *testing.T) {
	for name, windows := range map[string][]im.Window{
		"always":          {{First: 1}},
		"two times":       {{First: 3, Until: 9}, {First: 15}},
		"three, and left": {{First: 2, Until: 4}, {First: 8, Until: 12}, {First: 20, Until: 33}},
		"later":           {{First: 25}},
	} {
		for _, periods := range [][]im.Period{nil, somePeriods()} {
			t.Run(fmt.Sprintf("%s, %d periods", name, len(periods)), func(t *testing.T) {
				w, f, _, g := keeping(t, 0, windows, periods...)
				w.pin("alice", g, 12, false)
				w.pin("alice", g, 36, false)
				now := saidAt(40)
				f.is(now)
				for _, floor := range []uint64{0, 1, 4, 5, 9, 10, 13, 14, 15, 24, 25, 33, 35, 36} {
					if err := w.Raise(t.Context(), []im.Floor{{Conversation: g, Seq: floor}}); err != nil {
						t.Fatal(err)
					}
					want := slices.DeleteFunc(alive(theirs(windows), periods, now), func(seq uint64) bool { return seq <= floor })
					if windows[len(windows)-1].Until == 0 {
						w.reads("bob", g, want)
						w.wantPinned("bob", g, want, 12, 36)
					}
					even := slices.DeleteFunc(slices.Clone(want), func(seq uint64) bool { return seq%2 == 1 })
					for _, st := range w.sync("bob", im.SyncQuery{}).Conversations {
						if st.Conversation == g && (int(st.Unread) != len(want) || !slices.Equal(st.MentionSeqs, even) || st.Floor != floor) {
							t.Errorf("floor %d: unread %d, mentions %v, told %d; want %v", floor, st.Unread, st.MentionSeqs, st.Floor, want)
						}
					}
					if st := w.sync("alice", im.SyncQuery{}).Conversations; st[0].Lifetimes != nil && st[0].Lifetimes[0].Until != 0 && st[0].Lifetimes[0].Until <= floor {
						t.Errorf("floor %d: a period that is below it is told: %v", floor, st[0].Lifetimes)
					}
				}
				if err := w.Raise(t.Context(), []im.Floor{{Conversation: g, Seq: 7}}); err != nil {
					t.Fatal(err)
				}
				if st := w.sync("alice", im.SyncQuery{}).Conversations; st[0].Floor != 36 {
					t.Errorf("the floor went back to %d", st[0].Floor)
				}
			})
		}
	}
}

// wantPinned checks which of the pinned messages a user sees, who reads readable.
func (w *world) wantPinned(u im.UserID, c im.ConversationID, readable []uint64, pinned ...uint64) {
	w.t.Helper()
	var want, got []uint64
	for _, seq := range pinned {
		if slices.Contains(readable, seq) {
			want = append(want, seq)
		}
	}
	es, _, err := w.Pins(w.t.Context(), im.Actor{User: u}, c, "", 50)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range es {
		got = append(got, e.Seq)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		w.t.Errorf("%s sees %v pinned, want %v", u, got, want)
	}
}

// The journal gives up what is below a floor, when every node knows of it, and nothing
// else; what another call raised meanwhile waits for its own time.
func TestBelowTheFloorIsGivenUp(t *testing.T) {
	w, f, r, g := keeping(t, 0, []im.Window{{First: 1}})
	other := im.Group("other")
	w.members.add("alice", im.Membership{Conversation: other, First: 1})
	for range 3 {
		w.mention("alice", other, "there")
	}
	cs := []im.ConversationID{g, other, im.Group("none")}
	now := saidAt(50)
	steps := []struct {
		after        time.Duration
		raise        []im.Floor
		wantG, wantO int
		again        time.Duration
	}{
		{0, nil, 0, 0, 0},
		{0, []im.Floor{{Conversation: g, Seq: 10}}, 0, 0, floorTold},
		{floorTold - 1, []im.Floor{{Conversation: other, Seq: 2}}, 0, 0, floorTold},
		{floorTold, nil, 10, 0, 2*floorTold - 1},
		{2*floorTold - 1, nil, 10, 2, 0},
		{2 * floorTold, nil, 10, 2, 0}, // again
	}
	for i, s := range steps {
		f.is(now.Add(s.after))
		if err := w.Raise(t.Context(), s.raise); err != nil {
			t.Fatal(err)
		}
		again, err := w.GiveUp(t.Context(), cs)
		if err != nil {
			t.Fatal(err)
		}
		if want := now.Add(s.again); s.again == 0 != again.IsZero() || s.again != 0 && !again.Equal(want) {
			t.Errorf("step %d: again at %s, want %s", i, again, want)
		}
		if len(w.empty(g)) != s.wantG || len(w.empty(other)) != s.wantO {
			t.Errorf("step %d: given up are %v and %v", i, w.empty(g), w.empty(other))
		}
	}
	if r.rows[g].Given != 10 || r.rows[other].Given != 2 {
		t.Errorf("noted: %+v", r.rows)
	}
}

// A conversation with a time of its own is looked at by its timer: what is older goes,
// then the store gives it up, and so on; with the deployment's time again it is looked at
// until it is as all others are, and no more.
func TestATimeOfItsOwn(t *testing.T) {
	w, f, r, g := keeping(t, 2*time.Hour, []im.Window{{First: 1}})
	look := func() time.Time {
		t.Helper()
		again, err := w.TimeIsUp(t.Context(), im.Timer{Kind: im.TimerRetention, Conversation: g})
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	set := func(own bool, keep time.Duration) {
		t.Helper()
		if err := w.SetRetention(t.Context(), g, own, keep); err != nil {
			t.Fatal(err)
		}
	}
	is := func(at time.Time, floor uint64, empty int, again time.Time) {
		t.Helper()
		f.is(at)
		if got := look(); !got.Equal(again) {
			t.Errorf("again at %s, want %s", got, again)
		}
		if r.rows[g].Floor != floor || len(w.empty(g)) != empty {
			t.Errorf("floor %d, %d given up; want %d and %d", r.rows[g].Floor, len(w.empty(g)), floor, empty)
		}
	}
	set(true, time.Hour)
	at := saidAt(70) // 1–10 are an hour old
	is(at, 10, 0, at.Add(floorTold))
	is(at.Add(floorTold), 10, 10, at.Add(floorTold+KeepPause(time.Hour)))
	at = saidAt(71)
	is(at, 11, 10, at.Add(floorTold))
	set(true, 0) // for ever
	is(saidAt(300), 11, 11, time.Time{})
	set(false, 0)
	at = saidAt(130)
	is(at, 11, 11, time.Time{}) // it was an hour there, and is two now
	at = saidAt(150)
	is(at, 30, 11, at.Add(floorTold))
	is(at.Add(floorTold), 30, 30, time.Time{})
	set(true, time.Hour)
	at = saidAt(200) // all of them, and the conversation goes on
	is(at, 40, 30, at.Add(floorTold))
	is(at.Add(floorTold), 40, 40, at.Add(floorTold).Add(time.Hour))
	if seq := w.say("alice", g, "on"); seq != 41 {
		t.Errorf("the next one is %d", seq)
	}
	w.reads("bob", g, []uint64{41})
}

// What is no time, no conversation, or none that anything was said in, is refused.
func TestNoRetention(t *testing.T) {
	w, _, r, g := keeping(t, 2*time.Hour, []im.Window{{First: 1}})
	for _, tt := range []struct {
		c    im.ConversationID
		keep time.Duration
		want im.Code
	}{
		{g, time.Hour - time.Second, im.CodeInvalidArgument},
		{g, im.MaxRetention + time.Second, im.CodeInvalidArgument},
		{im.Me("bob"), time.Hour, im.CodeInvalidArgument},
		{im.Group("none"), time.Hour, im.CodeNotFound},
	} {
		if err := w.SetRetention(t.Context(), tt.c, true, tt.keep); im.CodeOf(err) != tt.want {
			t.Errorf("%s for %s: %v", tt.keep, tt.c, err)
		}
	}
	if _, err := w.GetRetention(t.Context(), im.Me("bob")); im.CodeOf(err) != im.CodeInvalidArgument {
		t.Errorf("of a feed: %v", err)
	}
	if len(r.rows) != 0 {
		t.Errorf("set: %v", r.rows)
	}
	if got, err := w.GetRetention(t.Context(), g); err != nil || got.Own || got.Keep != 2*time.Hour {
		t.Errorf("%+v, %v", got, err)
	}
}

// A period of which all is below the floor is over, whatever its lifetime.
func TestPeriodsBelowTheFloorAreOver(t *testing.T) {
	w, f, _, g := keeping(t, 0, []im.Window{{First: 1}}, im.Period{After: 4, Until: 11, Lifetime: 24 * time.Hour}, im.Period{After: 12, Lifetime: 24 * time.Hour})
	f.is(saidAt(41))
	for floor, want := range map[uint64]int{10: 2, 11: 1} {
		r := w.retention.(*fakeRetention)
		r.rows[g] = im.Retention{Floor: floor}
		for _, st := range w.sync("bob", im.SyncQuery{}).Conversations {
			if st.Conversation == g && len(st.Lifetimes) != want {
				t.Errorf("floor %d: periods %v are told, want %d", floor, st.Lifetimes, want)
			}
		}
	}
}

// A floor is told at once where it is raised, by whoever raises it, with the count there, and
// once more before the store gives up what lies up to it.
func TestFloorsAreTold(t *testing.T) {
	w, f, _, g := keeping(t, 2*time.Hour, []im.Window{{First: 1}})
	told := func() []im.Floor {
		w.out.mu.Lock()
		defer w.out.mu.Unlock()
		all := w.out.floors
		w.out.floors = nil
		return all
	}
	wants := func(what string, floors ...uint64) {
		t.Helper()
		var want []im.Floor
		for _, seq := range floors {
			got, err := w.journal.Read(t.Context(), g, seq, false, 1)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, im.Floor{Conversation: g, Seq: seq, Count: got[0].Count})
		}
		if got := told(); !slices.Equal(got, want) {
			t.Errorf("%s: told %v, want %v", what, got, want)
		}
	}
	look := func(at time.Time) {
		t.Helper()
		f.is(at)
		if _, err := w.TimeIsUp(t.Context(), im.Timer{Kind: im.TimerRetention, Conversation: g}); err != nil {
			t.Fatal(err)
		}
	}
	look(saidAt(70))
	wants("nothing is old")
	if err := w.SetRetention(t.Context(), g, true, time.Hour); err != nil {
		t.Fatal(err)
	}
	at := saidAt(70)
	look(at)
	wants("raised", 10)
	look(at.Add(floorTold - time.Second))
	wants("not known everywhere yet")
	look(at.Add(floorTold))
	wants("given up", 10)
	look(at.Add(floorTold + time.Second))
	wants("nothing more")
	if err := w.Raise(t.Context(), []im.Floor{{Conversation: g, Seq: 12, Count: 5}, {Conversation: im.DM("a", "b"), Seq: 1}}); err != nil {
		t.Fatal(err)
	}
	if got := told(); !slices.Equal(got, []im.Floor{{Conversation: g, Seq: 12, Count: 5}, {Conversation: im.DM("a", "b"), Seq: 1}}) {
		t.Errorf("told %v", got)
	}
}

// A resume tells the conversations whose floors rose since its position, whatever else
// happened there, from the moment on at which one is raised; who knows a later position is
// told none.
func TestResumeTellsFloors(t *testing.T) {
	w, f, _, g := keeping(t, 0, []im.Window{{First: 1}})
	other := im.Group("other")
	w.members.add("bob", im.Membership{Conversation: other, First: 1})
	w.say("alice", other, "there")
	now := saidAt(50)
	f.is(now)
	before := w.sync("bob", im.SyncQuery{})
	told := func(what, position string, want ...uint64) string {
		t.Helper()
		res := w.sync("bob", im.SyncQuery{Position: position, Timeline: before.Timeline})
		var got []uint64
		for _, st := range res.Conversations {
			if st.Conversation == g {
				got = append(got, st.Floor)
			}
			if st.MarksOnly && st.Told.First != 0 {
				t.Errorf("%s: %+v", what, st)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: floors %v, want %v", what, got, want)
		}
		return res.Position
	}
	told("no floor rose", before.Position)
	if err := w.Raise(t.Context(), []im.Floor{{Conversation: g, Seq: 10, Count: 5}}); err != nil {
		t.Fatal(err)
	}
	f.is(now.Add(raisedFor))
	told("raised", before.Position, 10)
	f.is(now.Add(floorTold))
	if _, err := w.GiveUp(t.Context(), []im.ConversationID{g, other}); err != nil {
		t.Fatal(err)
	}
	f.is(now.Add(floorTold + raisedFor))
	told("given up", before.Position, 10)
	w.say("alice", other, "more")
	later := told("and something was said elsewhere", before.Position, 10)
	told("known", later)
	w.say("alice", other, "and more")
	told("known, and something was said", later)
}
