package messaging

import (
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// The list has the thread first that was replied to last, in pages of every size, of one
// conversation and of all; one that moves up between two pages is told no second time, and
// behind the thousand with the newest roots the others follow.
func TestThreadsByLastReply(t *testing.T) {
	w := newWorld(t, ticking())
	g := im.Group("g")
	w.members.add("alice", im.Membership{Conversation: g, First: 1})
	list := func(c im.ConversationID, page int, between func(n int)) (got []uint64) {
		t.Helper()
		for cursor, n := "", 0; ; n++ {
			all, next, err := w.Threads(t.Context(), im.Actor{User: "alice"}, c, cursor, page)
			if err != nil || len(all) > page {
				t.Fatalf("%d in a page of %d, %v", len(all), page, err)
			}
			for i := range all {
				got = append(got, all[i].Root.Seq)
			}
			if cursor = next; next == "" {
				return got
			}
			between(n)
		}
	}
	none := func(int) {}
	if got := list(g, 1, none); len(got) != 0 {
		t.Fatalf("%v", got)
	}
	var roots []uint64
	for range 4 {
		roots = append(roots, w.say("alice", g, "root"))
	}
	for _, i := range []int{2, 0, 3, 1, 0} {
		w.reply("alice", g, roots[i], "a")
	}
	want := []uint64{roots[0], roots[1], roots[3], roots[2]}
	for _, page := range []int{1, 2, 3, 4, 9} {
		for _, c := range []im.ConversationID{g, ""} {
			if got := list(c, page, none); !slices.Equal(got, want) {
				t.Errorf("%q, pages of %d: %v, want %v", c, page, got, want)
			}
		}
	}
	if got := list(g, 2, func(n int) { w.reply("alice", g, roots[0], "up") }); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := list(g, 2, func(n int) { w.reply("alice", g, roots[2], "up") }); !slices.Equal(got, want[:3]) {
		t.Errorf("%v, want %v", got, want[:3])
	}
	// Beyond what is compared: the oldest roots come last, whoever replies there.
	for range threadsOrdered {
		w.reply("alice", g, w.say("alice", g, "root"), "a")
	}
	w.reply("alice", g, roots[1], "again")
	got := list(g, 200, none)
	if len(got) != threadsOrdered+4 || !slices.Equal(got[threadsOrdered:], []uint64{roots[3], roots[2], roots[1], roots[0]}) {
		t.Errorf("%d, the last ones %v", len(got), got[max(0, len(got)-4):])
	}
}

// A page of a thread, and of a list of threads, asks the journal once for all of its entries.
func TestThreadPagesReadAtOnce(t *testing.T) {
	w := newWorld(t, ticking())
	var roots []uint64
	for range 30 {
		roots = append(roots, w.say("alice", ab, "root"))
		w.reply("bob", ab, roots[len(roots)-1], "a")
	}
	for range 60 {
		w.reply("bob", ab, roots[0], "b")
	}
	reads := func(what string, most int, do func() (int, error), want int) {
		t.Helper()
		w.journal.mu.Lock()
		w.journal.reads = 0
		w.journal.mu.Unlock()
		n, err := do()
		w.journal.mu.Lock()
		defer w.journal.mu.Unlock()
		if err != nil || n != want || w.journal.reads > most {
			t.Errorf("%s: %d of %d by %d reads of at most %d, %v", what, n, want, w.journal.reads, most, err)
		}
	}
	alice := im.Actor{User: "alice"}
	reads("replies", 2, func() (int, error) { // the root, and the page
		_, page, _, err := w.Thread(t.Context(), alice, ab, roots[0], 0, 50)
		return len(page), err
	}, 50)
	reads("a conversation's threads", 1, func() (int, error) {
		all, _, err := w.Threads(t.Context(), alice, ab, "", 50)
		return len(all), err
	}, 30)
	yes := true
	for _, root := range roots {
		w.setMine("alice", ab, im.MyChange{Thread: &im.ThreadChange{Root: root, Follow: &yes}})
	}
	reads("those that one says to follow", 2, func() (int, error) { // which they are, and the page
		all, _, err := w.Threads(t.Context(), alice, "", "", 50)
		return len(all), err
	}, 30)
}
