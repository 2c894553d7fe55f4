package app

import (
	"testing"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

// A user's conversation with themselves is theirs alone, whatever their policy is and
// whoever their contacts are; it is in their list once they wrote there, and in nobody
// else's.
func TestSaved(t *testing.T) {
	cfg := settings(t.TempDir())
	cfg.Accounts.DMPolicy = "contacts"
	a, err := Open(t.Context(), cfg, Options{})
	ok(t, err)
	defer func() { ok(t, a.close()) }()
	as := func(u im.UserID) im.Actor { return im.Actor{User: u} }
	for _, u := range []im.UserID{"alice", "bob"} {
		_, err := a.accounts.Mint(t.Context(), account.Minting{User: u})
		ok(t, err)
	}
	notes := im.Saved("alice")
	empty, err := a.logic.Pull(t.Context(), as("alice"), im.PullQuery{Conversation: notes})
	if ok(t, err); empty.Head != 0 {
		t.Errorf("before anything was written: %+v", empty)
	}
	for n := range byte(3) {
		a.say(t, "alice", notes, n+1)
	}
	r, err := a.logic.Sync(t.Context(), as("alice"), im.SyncQuery{})
	ok(t, err)
	if len(r.Conversations) != 1 || r.Conversations[0].Conversation != notes || r.Conversations[0].Head.Seq != 3 || r.Conversations[0].Unread != 0 || r.Conversations[0].PeerRead != 0 {
		t.Errorf("the list has %+v", r.Conversations)
	}
	r, err = a.logic.Sync(t.Context(), as("bob"), im.SyncQuery{})
	if ok(t, err); len(r.Conversations) != 0 {
		t.Errorf("another one's list has %+v", r.Conversations)
	}
	m := &members{directory: a.directory, groups: a.members.groups, contacts: a.members.contacts}
	for _, u := range []im.UserID{"bob", "", "ali"} {
		_, err := a.logic.Pull(t.Context(), as(u), im.PullQuery{Conversation: notes})
		if im.CodeOf(err) != im.CodeNotFound {
			t.Errorf("%q reads it: %v", u, err)
		}
		if _, err := m.MaySend(t.Context(), u, notes, im.EntryMessage); im.CodeOf(err) != im.CodeNotFound {
			t.Errorf("%q writes in it: %v", u, err)
		}
		if _, known, err := m.MaySendNow(u, notes, im.EntryMessage); known || err != nil {
			t.Errorf("%q is said to: %t, %v", u, known, err)
		}
	}
}
