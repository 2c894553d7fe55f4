package messaging

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// promise notes a change of u's place in a group, as a directory does before the
// entry is appended.
func (f *fakeMembers) promise(u im.UserID, c im.ConversationID, roster uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.promised[u] = append(f.promised[u], im.Promised{Conversation: c, Roster: roster})
}

// keepPromises makes all promised changes: u sees the groups from their first entry.
func (f *fakeMembers) keepPromises(u im.UserID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.promised[u] {
		f.rows[u] = append(f.rows[u], im.Membership{Conversation: p.Conversation, First: 1})
	}
	delete(f.promised, u)
}

// halfMake stores the entry that makes a group, and does not get to the directory.
func (w *world) halfMake(c im.ConversationID, users ...im.UserID) {
	w.t.Helper()
	for _, u := range users {
		w.members.promise(u, c, 1)
	}
	stalled := errors.New("the directory does not answer")
	_, err := w.AppendEvent(w.t.Context(), im.Promise{ID: w.id(), Conversation: c, Sender: "carol", SetRoster: 1,
		Event: im.Event{Type: im.EventGroupCreated, Users: users}}, func(uint64) error { return stalled })
	if !errors.Is(err, stalled) {
		w.t.Fatal(err)
	}
}

// The entry that makes a group is stored, and that bob is in it is not visible
// yet. Whatever bob asks then, the position he is told is before that entry:
// from it he hears of the group later. Whoever is not named goes on.
func TestNoPositionPassesAHalfDoneChange(t *testing.T) {
	for _, n := range []int{0, 1, 2, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t)
			w.mustSend("alice", ab, "before")
			w.elsewhere()
			cold := w.sync("bob", im.SyncQuery{})
			var groups []im.ConversationID
			for i := range n {
				groups = append(groups, im.Group(fmt.Sprint("g", i)))
				w.halfMake(groups[i], "carol", "bob")
				w.mustSend("alice", ab, "meanwhile")
			}
			w.elsewhere()
			told := map[string]string{"the old one": cold.Position}
			told["a resume's"] = w.sync("bob", im.SyncQuery{Position: cold.Position, Timeline: "t1"}).Position
			told["a cold start's"] = w.sync("bob", im.SyncQuery{}).Position
			digest := im.HeadHash(ab, uint64(n+1))
			if n == 0 {
				digest = 0
			}
			same, next, err := w.Compare(t.Context(), im.Actor{User: "bob"}, cold.Position, digest)
			if err != nil || !same || (next == "") != (n > 0) {
				t.Errorf("compare: %v %q %v", same, next, err)
			}
			if next != "" {
				told["a heartbeat's"] = next
			}
			now, _ := w.journal.Position(t.Context())
			for who, at := range map[string]string{
				"alice": w.sync("alice", im.SyncQuery{Position: cold.Position, Timeline: "t1"}).Position,
				"cold":  w.sync("alice", im.SyncQuery{}).Position,
			} {
				if at != now.String() {
					t.Errorf("%s is held at %s by a change that does not concern her", who, at)
				}
			}
			w.members.keepPromises("bob")
			for what, at := range told {
				got := conversations(w.sync("bob", im.SyncQuery{Position: at, Timeline: "t1"}))
				for _, g := range groups {
					if !slices.Contains(got, g) {
						t.Errorf("from %s position bob is told of %v, and never of %s", what, got, g)
					}
				}
			}
			if at := w.sync("bob", im.SyncQuery{}).Position; at != now.String() {
				t.Errorf("held at %s when nothing is half done any more", at)
			}
		})
	}
}

// Who leaves is told so too, when it is visible: until then the entry that
// removed them is not passed.
func TestNoPositionPassesAHalfDoneRemoval(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	w.members.add("bob", im.Membership{Conversation: g, First: 1})
	w.mustSend("alice", g, "1")
	w.halfMake(g, "bob") // any change of the roster that names bob
	at := w.sync("bob", im.SyncQuery{})
	w.elsewhere()
	w.members.mu.Lock()
	w.members.rows["bob"][0].Until = 2
	delete(w.members.promised, "bob")
	w.members.mu.Unlock()
	r := w.sync("bob", im.SyncQuery{Position: at.Position, Timeline: "t1"})
	if len(r.Conversations) != 1 || r.Conversations[0].Until != 2 {
		t.Errorf("told %+v", r.Conversations)
	}
}

// The change is made, and the group goes on, between the two looks of a sync.
func TestAChangeIsMadeUnderASync(t *testing.T) {
	for _, later := range []int{0, 1, 2, 30} {
		for _, cold := range []bool{true, false} {
			w := newWorld(t)
			g := im.Group("g")
			w.elsewhere()
			at := w.sync("bob", im.SyncQuery{})
			w.halfMake(g, "carol", "bob")
			w.elsewhere()
			q := im.SyncQuery{Position: at.Position, Timeline: "t1"}
			if cold {
				q = im.SyncQuery{}
			}
			w.journal.mu.Lock()
			w.journal.onHeads = func() {
				w.members.keepPromises("bob")
				w.members.mu.Lock()
				w.members.current[g], w.members.cached[g] = 1, 1
				w.members.mu.Unlock()
				for range later {
					w.mustSend("carol", g, "welcome")
				}
			}
			w.journal.mu.Unlock()
			at = w.sync("bob", q)
			if got := conversations(at); slices.Contains(got, g) {
				continue
			}
			r := w.sync("bob", im.SyncQuery{Position: at.Position, Timeline: "t1"})
			if len(r.Conversations) != 1 || r.Conversations[0].Told.Entries[0].Seq != 1 {
				t.Errorf("with %d messages since, from position %s: %v", later, at.Position, conversations(r))
			}
		}
	}
}

// Whoever waits for a change that nobody makes helps to make it.
func TestSyncHelpsWhatHoldsItBack(t *testing.T) {
	w := newWorld(t) // its entries are old
	w.halfMake(im.Group("g"), "bob")
	w.sync("bob", im.SyncQuery{})
	w.sync("alice", im.SyncQuery{})
	w.members.mu.Lock()
	defer w.members.mu.Unlock()
	if !slices.Equal(w.members.helped, []im.ConversationID{im.Group("g")}) {
		t.Errorf("helped %v", w.members.helped)
	}
}
