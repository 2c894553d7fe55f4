package messaging

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// readersOf is who has read a message, and to whom else it came.
func (w *world) readersOf(u im.UserID, c im.ConversationID, seq uint64) string {
	w.t.Helper()
	read, received, err := w.Readers(w.t.Context(), im.Actor{User: u}, c, seq)
	if err != nil {
		return string(im.CodeOf(err))
	}
	return fmt.Sprint(read, received)
}

// Who has read a message of a group is told to its members: by the marks, but not of its
// author, of who joined later, and of who hides it from whom.
func TestReaders(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	for u, since := range map[im.UserID]uint64{"alice": 1, "bob": 1, "carol": 1, "dan": 1, "late": 3} {
		w.members.rows[u] = append(w.members.rows[u], im.Membership{Conversation: g, First: 1})
		w.members.readers = append(w.members.readers, im.Reader{User: u, Since: since})
	}
	slices.SortFunc(w.members.readers, func(a, b im.Reader) int { return cmp.Compare(a.User, b.User) })
	w.members.rows["gone"] = []im.Membership{{Conversation: g, First: 1, Until: 2}}
	seq := w.say("alice", g, "who is there?")
	w.say("alice", g, "anybody?")
	w.say("alice", g, "hello?")
	want := func(what string, u im.UserID, want string) {
		t.Helper()
		if got := w.readersOf(u, g, seq); got != want {
			t.Errorf("%s: %s is told %s, want %s", what, u, got, want)
		}
	}
	want("at once", "alice", "[] []")
	mark := func(u im.UserID, received, read uint64) {
		t.Helper()
		if err := w.Mark(t.Context(), im.Actor{User: u}, g, received, read); err != nil {
			t.Fatal(err)
		}
	}
	mark("bob", 0, seq)
	mark("carol", seq+1, 0)
	mark("late", 0, seq+2)
	want("then", "alice", "[bob] [carol]")
	want("to who has read it", "bob", "[bob] [carol]")
	mark("dan", 0, seq+2)
	w.members.hides = map[im.UserID]bool{"bob": true}
	want("when bob hides it", "alice", "[dan] [bob carol]")
	want("to who hides it", "bob", "[bob] [carol dan]")
	want("to who came later", "late", "[dan] [bob carol]")
	want("to who left", "gone", "not_found")
	want("to a stranger", "mallory", "not_found")
	if got := w.readersOf("alice", g, 99); got != "not_found" {
		t.Errorf("of what is not there: %s", got)
	}
	w.members.noReads = fmt.Errorf("the directory is away")
	if got := w.readersOf("alice", g, seq); got == "[bob dan] [carol]" {
		t.Error("who has read it is told although nobody knows who hides it")
	}
}

// A large group does not tell who has read a message.
func TestReadersOfALargeGroup(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	for i := range im.MaxReaders {
		w.members.readers = append(w.members.readers, im.Reader{User: im.UserID(fmt.Sprintf("u%03d", i)), Since: 1})
	}
	w.members.rows["alice"] = append(w.members.rows["alice"], im.Membership{Conversation: g, First: 1})
	seq := w.say("alice", g, "one")
	if got := w.readersOf("alice", g, seq); got != "[] []" {
		t.Errorf("200 members: %s", got)
	}
	w.members.readers = append(w.members.readers, im.Reader{User: "x", Since: 1})
	if got := w.readersOf("alice", g, seq); got != "too_large" {
		t.Errorf("201 members: %s", got)
	}
}
