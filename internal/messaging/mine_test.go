package messaging

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func ptr[T any](v T) *T { return &v }

func (w *world) setMine(u im.UserID, c im.ConversationID, change im.MyChange) im.MyState {
	w.t.Helper()
	s, err := w.SetMyState(w.t.Context(), im.Actor{User: u}, c, change)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// What is hidden, or marked as unread, says until when: the count and the read mark of
// that moment, of the conversation as the user may read it. Said again both begin anew.
func TestHiddenUntil(t *testing.T) {
	w, g := windowed(t, im.Window{First: 5, Until: 9}) // 40 messages: bob may read up to the ninth
	on, off := ptr(true), ptr(false)
	check := func(what string, c im.ConversationID, change im.MyChange, hidden, read uint64) {
		t.Helper()
		if s := w.setMine("bob", c, change); s.HiddenCount != hidden || s.UnreadAt != read || s.Hidden != (change.Hidden == on) {
			t.Errorf("%s: %+v, want %d and %d", what, s, hidden, read)
		}
	}
	check("who was removed", g, im.MyChange{Hidden: on}, 9, 0)
	w = newWorld(t)
	w.members.add("bob", im.Membership{Conversation: ab, First: 1})
	check("nothing written yet", ab, im.MyChange{Hidden: on, Unread: on}, 0, 0)
	w.mustSend("alice", ab, "one")
	w.mustSend("alice", ab, "two")
	w.amend(ab, 1, "a change, which is no message")
	check("again", ab, im.MyChange{Hidden: on}, 2, 0)
	if err := w.MarkRead(t.Context(), im.Actor{User: "bob"}, ab, 2); err != nil {
		t.Fatal(err)
	}
	check("marked", ab, im.MyChange{Hidden: on, Unread: on}, 2, 2)
	check("both taken back", ab, im.MyChange{Hidden: off, Unread: off}, 0, 0)
}

// What a user sets is told in the answer, to their devices, and by a sync from before
// and from nothing; what is not named stays, and marks move none of it.
func TestMyState(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "one")
	at := w.sync("bob", im.SyncQuery{})
	if s := at.Conversations[0].Mine; s.Revision != 0 {
		t.Fatalf("before anything was set: %+v", s)
	}
	until := time.UnixMilli(1_900_000_000_123).UTC()
	w.setMine("bob", ab, im.MyChange{Pinned: ptr(true), Draft: ptr("to be")})
	want := im.MyState{Conversation: ab, Revision: 2, Pinned: true, Draft: "to be", MutedUntil: until, ClearedBelow: 2, Unread: true, UnreadAt: 1}
	if got := w.setMine("bob", ab, im.MyChange{MutedUntil: &until, ClearedBelow: ptr(uint64(2)), Unread: ptr(true)}); got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
	if err := w.MarkRead(t.Context(), im.Actor{User: "bob"}, ab, 1); err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]im.SyncQuery{"resume": {Position: at.Position, Timeline: at.Timeline}, "cold": {}} {
		if got := w.sync("bob", q).Conversations; len(got) != 1 || got[0].Mine != want || got[0].Read != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := w.sync("alice", im.SyncQuery{}).Conversations[0].Mine; got.Revision != 0 {
		t.Errorf("the other side is told %+v", got)
	}
	if n := len(w.out.mine); n != 2 || w.out.mine[1] != want {
		t.Errorf("devices were told %+v", w.out.mine)
	}
	// Nothing else than before: no revision, nobody is told. And it never goes back.
	if got := w.setMine("bob", ab, im.MyChange{Pinned: ptr(true), ClearedBelow: ptr(uint64(1))}); got != want || len(w.out.mine) != 2 {
		t.Errorf("without a change: %+v, told %d times", got, len(w.out.mine))
	}
	cleared := w.setMine("bob", ab, im.MyChange{Pinned: ptr(false), Draft: ptr(""), MutedUntil: &time.Time{}, Unread: ptr(false)})
	if cleared != (im.MyState{Conversation: ab, Revision: 3, ClearedBelow: 2}) {
		t.Errorf("taken back: %+v", cleared)
	}
}

func TestMyStateRefused(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "one")
	for name, tt := range map[string]struct {
		c      im.ConversationID
		change im.MyChange
		code   im.Code
	}{
		"nothing to change":       {ab, im.MyChange{}, im.CodeInvalidArgument},
		"a long draft":            {ab, im.MyChange{Draft: ptr(strings.Repeat("x", im.MaxDraft+1))}, im.CodeTooLarge},
		"cleared beyond the end":  {ab, im.MyChange{ClearedBelow: ptr(uint64(3))}, im.CodeInvalidArgument},
		"somebody else's":         {im.DM("carol", "dave"), im.MyChange{Pinned: ptr(true)}, im.CodeNotFound},
		"a group they are not in": {im.Group("g"), im.MyChange{Pinned: ptr(true)}, im.CodeNotFound},
	} {
		_, err := w.SetMyState(t.Context(), im.Actor{User: "bob"}, tt.c, tt.change)
		if im.CodeOf(err) != tt.code || tt.code == im.CodeInvalidArgument && im.Public(err).Field == "" {
			t.Errorf("%s: %v, want %s", name, err, tt.code)
		}
	}
	if len(w.out.mine) > 0 {
		t.Errorf("told %+v", w.out.mine)
	}
	w.setMine("bob", ab, im.MyChange{Draft: ptr(strings.Repeat("x", im.MaxDraft)), ClearedBelow: ptr(uint64(2))})
}

// A draft for a user who does not exist would be a conversation in the list for ever. For
// who does exist there may be one, also of who may not write to them; and who was deleted
// since leaves no draft that cannot be taken away.
func TestMyStateOfNobody(t *testing.T) {
	w := newWorld(t)
	w.members.add("alice", im.Membership{Conversation: im.DM("alice", "ghost"), First: 1}) // whoever the other one is
	set := func(draft string) error {
		_, err := w.SetMyState(t.Context(), im.Actor{User: "alice"}, im.DM("alice", "ghost"), im.MyChange{Draft: &draft})
		return err
	}
	answer := func(err error) { w.members.setOnMaySend(func(im.UserID) error { return err }) }
	answer(im.Errorf(im.CodeNotFound, "no such user"))
	wantCode(t, set("hello?"), im.CodeNotFound)
	answer(im.Errorf(im.CodeUnavailable, "the store is away"))
	wantCode(t, set("hello?"), im.CodeUnavailable)
	if len(w.out.mine) > 0 {
		t.Errorf("told %+v", w.out.mine)
	}
	answer(im.Errorf(im.CodeNotContact, "no"))
	if err := set("hello?"); err != nil {
		t.Error(err)
	}
	answer(im.Errorf(im.CodeNotFound, "no such user"))
	if err := set(""); err != nil {
		t.Errorf("a draft for who was deleted since stays: %v", err)
	}
}

// A folder is a name in the user's own state: told to their devices at once and by a sync,
// of two the last one, and nobody else's; setting something else leaves it.
func TestFolder(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "one")
	at := w.sync("bob", im.SyncQuery{})
	for i, name := range []string{"Work", "Home"} {
		if got := w.setMine("bob", ab, im.MyChange{Folder: &name}); got.Folder != name || got.Revision != uint64(i+1) {
			t.Fatalf("%+v", got)
		}
	}
	w.setMine("bob", ab, im.MyChange{Pinned: ptr(true)})
	want := im.MyState{Conversation: ab, Revision: 3, Pinned: true, Folder: "Home"}
	for name, q := range map[string]im.SyncQuery{"resume": {Position: at.Position, Timeline: at.Timeline}, "cold": {}} {
		if got := w.sync("bob", q).Conversations; len(got) != 1 || got[0].Mine != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := w.sync("alice", im.SyncQuery{}).Conversations[0].Mine; got != (im.MyState{Conversation: ab}) {
		t.Errorf("the other side is told %+v", got)
	}
	if n := len(w.out.mine); n != 3 || w.out.mine[0].Folder != "Work" || w.out.mine[2] != want {
		t.Errorf("devices were told %+v", w.out.mine)
	}
	// The same folder is no change; none is one.
	if got := w.setMine("bob", ab, im.MyChange{Folder: ptr("Home")}); got != want || len(w.out.mine) != 3 {
		t.Errorf("the same: %+v, told %d times", got, len(w.out.mine))
	}
	if got := w.setMine("bob", ab, im.MyChange{Folder: ptr("")}); got.Folder != "" || got.Revision != 4 || len(w.out.mine) != 4 {
		t.Errorf("taken out: %+v, told %d times", got, len(w.out.mine))
	}
}

// It is answered, and told, when it is durable and not before.
func TestMyStateWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustSend("alice", ab, "one")
		w.journal.unwritten = true
		done := make(chan error, 1)
		go func() {
			_, err := w.SetMyState(t.Context(), im.Actor{User: "bob"}, ab, im.MyChange{Pinned: ptr(true)})
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("answered before it was durable: %v", err)
		default:
		}
		w.journal.write()
		if err := <-done; err != nil || len(w.out.mine) != 1 {
			t.Errorf("%v, told %d times", err, len(w.out.mine))
		}
		// In good time, or "later": nobody is told of it.
		if _, err := w.SetMyState(t.Context(), im.Actor{User: "bob"}, ab, im.MyChange{Pinned: ptr(false)}); im.CodeOf(err) != im.CodeUnavailable || len(w.out.mine) != 1 {
			t.Errorf("%v, told %d times", err, len(w.out.mine))
		}
		w.Close()
	})
}

// Of many changes at once none is lost: each is made of what the one before left, and
// gets a revision of its own, the last one of which is kept.
func TestMyStateOfManyDevices(t *testing.T) {
	const many = 40
	w := newWorld(t)
	for range many {
		w.mustSend("alice", ab, "x")
	}
	w.journal.onEveryMarks = func() { time.Sleep(time.Millisecond) } // all others come meanwhile
	var all sync.WaitGroup
	seen := make([]atomic.Bool, many+1)
	for n := range many {
		change := im.MyChange{ClearedBelow: ptr(uint64(n) + 2)}
		switch n % 3 {
		case 0:
			change = im.MyChange{Draft: ptr(strings.Repeat("d", n+1))}
		case 1:
			change = im.MyChange{MutedUntil: ptr(time.UnixMilli(int64(n) + 1).UTC())}
		}
		all.Go(func() {
			switch s, err := w.SetMyState(t.Context(), im.Actor{User: "bob"}, ab, change); {
			case err != nil:
				t.Error(err)
			case s.Revision == 0 || s.Revision > many || seen[s.Revision].Swap(true) && change.ClearedBelow == nil:
				t.Errorf("revision %d once more", s.Revision)
			}
		})
	}
	all.Wait()
	w.journal.onEveryMarks = nil
	got := w.sync("bob", im.SyncQuery{}).Conversations[0].Mine
	if got.Draft == "" || got.MutedUntil.IsZero() || got.ClearedBelow != many {
		t.Errorf("%+v", got)
	}
	if !seen[got.Revision].Load() || got.Revision < many && seen[got.Revision+1].Load() {
		t.Errorf("revision %d is kept, which is not the last", got.Revision)
	}
}

// A sync that waits for the marks it tells leaves alone what was set meanwhile.
func TestToldMarksRestoreNothing(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "one")
	w.setMine("bob", ab, im.MyChange{Draft: ptr("old")})
	w.journal.onRead = func() { // between reading the marks and waiting for them
		w.setMine("bob", ab, im.MyChange{Draft: ptr("new")})
	}
	w.sync("bob", im.SyncQuery{})
	if w.journal.onRead != nil {
		t.Fatal("nothing was read")
	}
	if got := w.sync("bob", im.SyncQuery{}).Conversations[0].Mine; got.Draft != "new" {
		t.Errorf("%+v", got)
	}
}
