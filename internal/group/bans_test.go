package group_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// banned are the users in the list of bans.
func (w *world) banned(c im.ConversationID) (users []im.UserID) {
	w.t.Helper()
	list, _, err := w.ListBans(w.t.Context(), actor("o"), c, 0, "")
	w.ok(err)
	for _, b := range list {
		users = append(users, b.User)
	}
	return users
}

// TestBan: who is banned is out, and stays out, until they are not banned any more.
func TestBan(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m", "x", "y")
	w.ask(im.GroupsNobody, "y")
	c := w.create("o", "m", "y")
	until := w.now.Add(time.Hour)
	ban := func(u im.UserID, reason string, until time.Time) {
		t.Helper()
		w.ok(w.Ban(t.Context(), actor("o"), c, u, reason, until))
	}
	ban("m", "noise", until)
	ban("x", "", time.Time{})
	ban("y", "", time.Time{})
	entries := w.journal.Entries(c)
	for i, want := range []im.Event{
		{Type: im.EventMemberRemoved, Users: []im.UserID{"m"}, Text: "noise", Until: until, Banned: true},
		{Type: im.EventMemberBanned, Users: []im.UserID{"x"}},
		{Type: im.EventMemberBanned, Users: []im.UserID{"y"}},
	} {
		got := entries[i+1].Event
		if got.Type != want.Type || !slices.Equal(got.Users, want.Users) || got.Text != want.Text || !got.Until.Equal(want.Until) || got.Banned != want.Banned {
			t.Fatalf("entry %d: %+v, want %+v", i+2, got, want)
		}
	}
	ban("x", "", time.Time{}) // as it is
	if n := len(w.journal.Entries(c)); n != len(entries) {
		t.Fatalf("the same again made %d entries", n-len(entries))
	}
	_, err := w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeNotFound)
	_, err = w.Accept(t.Context(), actor("y"), c)
	w.wantCode(err, im.CodeNotFound) // the invitation is over
	add := func(want ...im.UserID) {
		t.Helper()
		added, invited, err := w.Add(t.Context(), actor("o"), c, []im.UserID{"m", "x", "y"})
		w.ok(err)
		if !slices.Equal(added, want) || len(invited) != 0 {
			t.Fatalf("added %v, invited %v", added, invited)
		}
		w.agrees(c)
	}
	add()
	if got := w.banned(c); !slices.Equal(got, []im.UserID{"m", "x", "y"}) {
		t.Fatalf("banned %v", got)
	}
	w.restart()
	add()
	w.now = until
	add("m")
	w.ok(w.Unban(t.Context(), actor("o"), c, "x"))
	w.wantCode(w.Unban(t.Context(), actor("o"), c, "x"), im.CodeNotFound)
	w.wantCode(w.Unban(t.Context(), actor("o"), c, "m"), im.CodeNotFound)
	add("x")
	if got := w.banned(c); !slices.Equal(got, []im.UserID{"y"}) {
		t.Fatalf("banned %v", got)
	}
	for _, err := range []error{
		w.Ban(t.Context(), actor("o"), c, "bad id!", "", time.Time{}), w.Ban(t.Context(), actor("o"), c, "m", "", w.now),
		w.Ban(t.Context(), actor("o"), c, "m", "a\x00", time.Time{}),
	} {
		w.wantCode(err, im.CodeInvalidArgument)
	}
	w.wantCode(w.Ban(t.Context(), actor("o"), c, "m", strings.Repeat("x", group.MaxReason+1), time.Time{}), im.CodeTooLarge)
	w.wantCode(w.Ban(t.Context(), actor("o"), c, "o", "", time.Time{}), im.CodePermissionDenied)
	w.agrees(c)
}

// TestBanAfterInvitation: an invitation that the directory kept lets nobody in who is
// banned.
func TestBanAfterInvitation(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "x")
	w.ask(im.GroupsNobody, "x")
	c := w.create("o")
	w.ok(w.Ban(t.Context(), actor("o"), c, "x", "", time.Time{}))
	now := w.now
	notice := im.Promise{ID: im.NewMessageID(now, [10]byte{1}), Conversation: "me:x", Sender: "o", Event: im.Event{Type: im.EventGroupInvited}}
	_, err := w.store.Invite(t.Context(), []im.Invitation{{User: "x", Conversation: c, Inviter: "o", Created: now, Expires: now.Add(time.Hour)}}, []im.Promise{notice})
	w.ok(err)
	_, err = w.Accept(t.Context(), actor("x"), c)
	w.wantCode(err, im.CodePermissionDenied)
	w.agrees(c)
}

// TestJoinAndBanRace: whoever is added and banned at once is out in the end.
func TestJoinAndBanRace(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "x")
	services := []*group.Service{w.Service, w.another(group.Options{Shared: true})}
	for range 10 {
		c := w.create("o", "a")
		w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := services[0].Ban(t.Context(), actor("o"), c, "x", "", time.Time{}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, _, err := services[1].Add(t.Context(), actor("a"), c, []im.UserID{"x"}); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if got := w.members(c); !slices.Equal(got, []im.UserID{"a", "o"}) {
			t.Fatalf("members %v", got)
		}
		if got := w.banned(c); !slices.Equal(got, []im.UserID{"x"}) {
			t.Fatalf("banned %v", got)
		}
		w.agrees(c)
	}
}
