package app

import (
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

// The story: what a user may read and is pushed is asked of lists and rosters
// in RAM. Whatever changes them, and whoever asked before, the next answer is
// the directory's.
func TestWhatIsInRAMFollowsEveryChange(t *testing.T) {
	cfg := settings(t.TempDir())
	cfg.Accounts.DMPolicy = "everyone"
	a, err := Open(t.Context(), cfg, Options{})
	ok(t, err)
	defer func() { ok(t, a.close()) }()
	as := func(u im.UserID) im.Actor { return im.Actor{User: u} }
	for _, u := range []im.UserID{"alice", "bob", "carol"} {
		_, err := a.accounts.Mint(t.Context(), account.Minting{User: u})
		ok(t, err)
	}
	m := &members{directory: a.directory, groups: a.members.groups}
	// sees checks what carol has: titles of her list, and groups that she is pushed.
	sees := func(what string, titles []string, groups ...im.ConversationID) {
		t.Helper()
		for range 2 { // the second time from RAM, if the first was not
			r, err := a.logic.Sync(t.Context(), as("carol"), im.SyncQuery{})
			ok(t, err)
			var got []string
			for _, c := range r.Conversations {
				kind, _, _ := strings.Cut(string(c.Conversation), ":")
				got = append(got, kind+":"+c.Title)
			}
			same(t, what+": list", got, titles...)
			same(t, what+": groups", groupsOf(t, m, "carol"), texts(groups)...)
		}
	}
	sees("at first", nil)
	g, err := a.members.groups.Create(t.Context(), as("alice"), "one", []im.UserID{"bob"}, "")
	ok(t, err)
	c := g.Conversation
	sees("without her", nil)
	_, _, err = a.members.groups.Add(t.Context(), as("alice"), c, []im.UserID{"carol"})
	ok(t, err)
	sees("added", []string{"grp:one"}, c)
	_, err = a.members.groups.Rename(t.Context(), as("alice"), c, "two")
	ok(t, err)
	sees("renamed", []string{"grp:two"}, c)
	a.say(t, "bob", im.DM("bob", "carol"), 1)
	sees("written to", []string{"dm:", "grp:two"}, c)

	mark := func(seq uint64, code im.Code) {
		t.Helper()
		if err := a.messaging.Mark(t.Context(), as("carol"), c, seq, seq); im.CodeOf(err) != code {
			t.Errorf("mark at %d: %v, want %q", seq, err, code)
		}
	}
	a.say(t, "alice", c, 2)
	mark(4, "")
	_, err = a.members.groups.Remove(t.Context(), as("alice"), c, []im.UserID{"carol"}) // entry 5
	ok(t, err)
	_, err = a.members.groups.Rename(t.Context(), as("alice"), c, "three")
	ok(t, err)
	a.say(t, "alice", c, 3)
	sees("removed", []string{"grp:two", "dm:"})
	mark(5, "")
	mark(6, im.CodeInvalidArgument)
	got, err := a.logic.Pull(t.Context(), as("carol"), im.PullQuery{Conversation: c, Limit: 100})
	ok(t, err)
	if n := len(got.Entries); n != 4 || got.Entries[0].Seq != 2 || got.Head != 5 {
		t.Errorf("reads %d entries to %d", n, got.Head)
	}
	_, _, err = a.members.groups.Add(t.Context(), as("alice"), c, []im.UserID{"carol"}) // entry 8
	ok(t, err)
	sees("added again", []string{"grp:three", "dm:"}, c)
	mark(8, "")

	// All changes were this process's own: no roster was read for them.
	families, err := a.metrics.Gather()
	ok(t, err)
	for _, f := range families {
		if f.GetName() == "skein_group_roster_loads_total" && f.Metric[0].Counter.GetValue() != 0 {
			t.Errorf("%v rosters were read", f.Metric[0].Counter.GetValue())
		}
	}
}

// groupsOf are the groups that a gateway pushes to a user.
func groupsOf(t *testing.T, m *members, u im.UserID) (all []string) {
	t.Helper()
	standing, err := m.standing(t.Context(), u)
	ok(t, err)
	for _, g := range standing.Groups {
		all = append(all, string(g.Conversation))
	}
	return all
}

func texts[T ~string](list []T) []string {
	var all []string
	for _, x := range list {
		all = append(all, string(x))
	}
	return all
}

// say sends message n of a test and waits for its ack.
func (a *App) say(t *testing.T, from im.UserID, c im.ConversationID, n byte) {
	t.Helper()
	done := make(chan error, 1)
	a.logic.Send(t.Context(), im.Actor{User: from}, im.Message{
		Conversation: c, ID: im.NewMessageID(time.Now(), [10]byte{9: n}), Kind: im.EntryMessage, Body: []byte("hello"), Hash: uint64(n),
	}, func(_ im.Ack, err error) { done <- err })
	ok(t, <-done)
}
