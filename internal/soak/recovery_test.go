package soak

import (
	"testing"
	"time"
)

// recoveryStory is a fault at 100 that is healed at 200: ann's connection to g1
// ends, bob's to g2 goes on.
func recoveryStory() Run {
	ann := []Record{
		{Kind: Connected, Mono: 1, At: "g1"},
		{Kind: Invoked, Mono: 90, Hash: "a"},
		{Kind: Disconnected, Mono: 110},
		{Kind: Invoked, Mono: 120, Hash: "b"},
		{Kind: Connected, Mono: 150, At: "g2"},
		{Kind: OK, Mono: 160, Hash: "a", Conversation: dm, Seq: 1},
		{Kind: Applied, Mono: 160, Conversation: dm, Seq: 1},
		{Kind: OK, Mono: 170, Hash: "b", Conversation: dm, Seq: 2},
		{Kind: Applied, Mono: 170, Conversation: dm, Seq: 2},
	}
	bob := []Record{
		{Kind: Connected, Mono: 1, At: "g2"},
		{Kind: Invoked, Mono: 101, Hash: "c"},
		{Kind: OK, Mono: 105, Hash: "c", Conversation: grp, Seq: 1},
		{Kind: Applied, Mono: 190, Conversation: dm, Seq: 1},
		{Kind: Applied, Mono: 230, Conversation: dm, Seq: 2},
		{Kind: Invoked, Mono: 800, Hash: "d"}, // nobody wrote in it before
		{Kind: OK, Mono: 803, Hash: "d", Conversation: "dm:bob:cid", Seq: 1},
		{Kind: Disconnected, Mono: 900},
	}
	for i := range ann {
		ann[i].User = "ann"
	}
	for i := range bob {
		bob[i].User = "bob"
	}
	return Run{Histories: [][]Record{ann, bob}}
}

func TestRecover(t *testing.T) {
	got := Recover(recoveryStory(), []Moment{{Began: 100, Healed: 200, Gone: []string{"g1"}}})
	want := Recovery{
		Any:          Times{1, 5, 5},
		Conversation: Times{3, 4, 70}, // 70: not by `a`, which was sent before and waited for
		Back:         Times{1, 50, 50},
		Whole:        Times{1, 30, 30},
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Who never comes back, and what never arrives, is not hidden by those who do.
func TestRecoverNever(t *testing.T) {
	run := recoveryStory()
	ann, bob := run.Histories[0], run.Histories[1]
	run.Histories = [][]Record{ann, append(bob[:4:4], bob[5])} // without the second entry
	if got := Recover(run, []Moment{{Began: 100, Healed: 200, Gone: []string{"g1"}}}); got.Never != 1 {
		t.Errorf("bob never got what ann sent: %+v", got)
	}
	run.Histories = [][]Record{append(ann[:4:4], ann[5:]...), bob}
	if got := Recover(run, []Moment{{Began: 100, Healed: 200, Gone: []string{"g1"}}}); got.Never != 1 || got.Back.N != 0 {
		t.Errorf("ann is never back: %+v", got)
	}
}

func TestTimes(t *testing.T) {
	all := []time.Duration{3, 1, 2}
	if got := timesOf(all); got != (Times{3, 2, 3}) {
		t.Errorf("%+v", got)
	}
}

// A refusal is right for those who come and go only.
func TestRefused(t *testing.T) {
	run := Run{
		Histories: [][]Record{{
			{Kind: Failed, User: "ann", Conversation: dm},
			{Kind: Failed, User: "ann", Conversation: grp},
			{Kind: Failed, User: "cid", Conversation: grp},
			{Kind: Failed, User: "cid", Conversation: dm},
			{Kind: Retry, User: "ann", Conversation: dm},
		}},
		Views: []View{{Entries: []Entry{
			{Conversation: grp, Seq: 1, Joined: []string{"ann", "cid"}},
			{Conversation: grp, Seq: 2, Left: []string{"cid"}},
		}}},
	}
	if n := Refused(run); n != 2 {
		t.Errorf("%d, want ann's two", n)
	}
}
