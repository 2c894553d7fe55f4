package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// finds waits until a search finds exactly what is wanted, which the index may learn a
// little later, and what it finds says so.
func (p *person) finds(s skein.Search, want ...string) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var got []string
		for cursor, first := "", true; first || cursor != ""; first = false {
			s.Cursor = cursor
			r, err := p.Search(p.t.Context(), s)
			if err != nil {
				p.t.Fatalf("%s searches %+v: %v", p.User(), s, err)
			}
			for _, f := range r.Found {
				got = append(got, f.Text)
				if (len(f.Matches) == 0) != (s.Query == "") {
					p.t.Errorf("%q in %q is at %v", s.Query, f.Text, f.Matches)
				}
			}
			cursor = r.Next
		}
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s searches %+v and finds %q, want %q", p.User(), s, got, want)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// searching: what was said is found by who may read it, as it is now.
func searching(t *testing.T, w World) {
	ann, bob, cem := join(t, w, "ann", 0), join(t, w, "bob", 1), join(t, w, "cem", 2)
	g := must(ann.Groups().Create(t.Context(), "Tea", "bob"))(t).Conversation
	bob.reaches(g, 1)
	plan := ann.says(g, "Quixotic plan: 今天下午三点在会议室开会 😀")
	later := ann.says(g, "quixotry is no plan")
	for !later.Time.After(plan.Time) { // two of one millisecond are not told apart by their time
		if err := ann.Conversation(g).Recall(t.Context(), later.Seq); err != nil {
			t.Fatal(err)
		}
		later = ann.says(g, "quixotry is no plan")
	}
	gone := ann.says(g, "quixotic, and taken back 会议")
	edited := ann.says(g, "quixotic before the edit")
	bob.says(g, "ｑｕｉｘｏｔｉｃ and a link: https://example.org/会议")
	if err := ann.Conversation(g).Recall(t.Context(), gone.Seq); err != nil {
		t.Fatal(err)
	}
	if err := ann.Conversation(g).Edit(t.Context(), edited.Seq, "after the edit: café müßig"); err != nil {
		t.Fatal(err)
	}
	const first, linked, second = "Quixotic plan: 今天下午三点在会议室开会 😀", "ｑｕｉｘｏｔｉｃ and a link: https://example.org/会议", "quixotry is no plan"
	bob.finds(skein.Search{Query: "quixot"}, linked, second, first)
	bob.finds(skein.Search{Query: "quixot", Limit: 1}, linked, second, first) // page by page
	bob.finds(skein.Search{Query: "quixotic"}, linked, first)
	bob.finds(skein.Search{Query: "会", Conversation: g}, linked, first)
	bob.finds(skein.Search{Query: "会议", Conversation: g}, linked, first)
	bob.finds(skein.Search{Query: "会议室开"}, first)
	bob.finds(skein.Search{Query: "室议会"})
	bob.finds(skein.Search{Query: "下午 plan"}, first)
	bob.finds(skein.Search{Query: "😀"}, first)
	bob.finds(skein.Search{Query: "CAFE MUSSIG"}, "after the edit: café müßig")
	bob.finds(skein.Search{Query: "before"})
	bob.finds(skein.Search{Query: "taken"})
	bob.finds(skein.Search{Types: []string{"link"}}, linked)
	bob.finds(skein.Search{Query: "quixot", Sender: "bob"}, linked)
	bob.finds(skein.Search{Query: "quixot", Before: plan.Time.Add(time.Millisecond), Conversation: g}, first)
	bob.finds(skein.Search{Query: "quixot", After: time.Now().Add(time.Hour)})
	// Nobody else's.
	cem.finds(skein.Search{Query: "quixot"})
	if _, err := cem.Search(t.Context(), skein.Search{Query: "quixot", Conversation: g}); !isCode(err, wire.CodeNotFound) {
		t.Errorf("a stranger searches the group: %v", err)
	}
	// What they deleted and cleared, for them alone.
	if err := bob.Conversation(g).DeleteForMe(t.Context(), plan.Seq); err != nil {
		t.Fatal(err)
	}
	bob.finds(skein.Search{Query: "会议室"})
	ann.finds(skein.Search{Query: "会议室"}, first)
	// Who was removed finds what was theirs.
	if _, err := ann.Groups().Remove(t.Context(), g, "bob"); err != nil {
		t.Fatal(err)
	}
	ann.says(g, "quixotic without bob")
	ann.finds(skein.Search{Query: "without"}, "quixotic without bob")
	bob.finds(skein.Search{Query: "quixotic"}, linked)
	if _, err := ann.Groups().Add(t.Context(), g, "bob"); err != nil {
		t.Fatal(err)
	}
	again := ann.says(g, "quixotic again")
	bob.reaches(g, again.Seq)
	bob.finds(skein.Search{Query: "quixotic"}, "quixotic again", linked)
	if _, err := bob.Conversation(g).SetMyState(t.Context(), &wire.SetMyStateRequest{ClearedBelow: &again.Seq}); err != nil {
		t.Fatal(err)
	}
	bob.finds(skein.Search{Query: "quixotic"}, "quixotic again")
	// Notes, and after a restart.
	bob.says(bob.Saved().ID(), "quixotic notes")
	bob.finds(skein.Search{Query: "quixotic"}, "quixotic notes", "quixotic again")
	for n := range 60 {
		bob.says(bob.Saved().ID(), fmt.Sprintf("note %d", n))
	}
	w.Stop(t)
	w.Start(t)
	bob.finds(skein.Search{Query: "quixotic"}, "quixotic notes", "quixotic again")
	ann.finds(skein.Search{Query: "taken"})
}
