package group_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// ask has users want to be asked before they are added.
func (w *world) ask(policy im.GroupPolicy, users ...im.UserID) {
	w.t.Helper()
	for _, u := range users {
		if _, err := w.store.UpdateUser(w.t.Context(), u, im.ProfileChange{Groups: policy}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// told are the events in a user's feed.
func (w *world) told(u im.UserID) (types []im.EventType) {
	for _, p := range w.journal.Entries(im.Me(u)) {
		types = append(types, p.Event.Type)
	}
	return types
}

func (w *world) invitations(u im.UserID) (of []im.ConversationID) {
	w.t.Helper()
	list, next, err := w.Invitations(w.t.Context(), actor(u), 0, "")
	w.ok(err)
	if next != "" {
		w.t.Fatalf("another page after %d", len(list))
	}
	for _, inv := range list {
		of = append(of, inv.Conversation)
	}
	return of
}

// TestInvited: who wants to be asked is no member until they accept, is told once,
// and not at all where they blocked who asks.
func TestInvited(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "free", "asked", "contact", "blocks")
	w.ask(im.GroupsNobody, "asked", "blocks")
	w.ask(im.GroupsContacts, "contact")
	w.block("blocks", "o")
	if _, err := w.store.UpdateContacts(t.Context(), "contact", "o", func(mine, theirs *im.Contact) ([]im.Promise, error) {
		mine.State, theirs.State = im.ContactFriend, im.ContactFriend
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	g, invited, err := w.CreateNew(t.Context(), actor("o"), group.NewGroup{Name: "tea", Members: []im.UserID{"free", "asked", "contact", "blocks"}})
	w.ok(err)
	c := g.Conversation
	if want := []im.UserID{"contact", "free", "o"}; !slices.Equal(w.members(c), want) || !slices.Equal(invited, []im.UserID{"asked"}) {
		t.Fatalf("members %v, invited %v", w.members(c), invited)
	}
	added, again, err := w.Add(t.Context(), actor("o"), c, []im.UserID{"asked", "blocks"})
	w.ok(err)
	if len(added)+len(again) != 0 {
		t.Fatalf("added %v, invited %v", added, again)
	}
	if got := w.told("asked"); !slices.Equal(got, []im.EventType{im.EventGroupInvited}) || len(w.told("blocks")) != 0 {
		t.Fatalf("told %v, and who blocks %v", got, w.told("blocks"))
	}
	_, err = w.Get(t.Context(), actor("asked"), c)
	w.wantCode(err, im.CodeNotFound)
	list, _, err := w.Invitations(t.Context(), actor("asked"), 0, "")
	w.ok(err)
	if len(list) != 1 || list[0].Group.Name != "tea" || list[0].Group.Members != 3 || list[0].Inviter != "o" || !list[0].Expires.Equal(w.now.Add(group.InvitationTime)) {
		t.Fatalf("got %+v", list)
	}
	read := w.store.rosters.Load()
	for range 2 { // the second time as a repeat
		got, err := w.Accept(t.Context(), actor("asked"), c)
		w.ok(err)
		if got.Role != im.RoleMember || got.Members != 4 {
			t.Fatalf("got %+v", got)
		}
	}
	if n := w.store.rosters.Load() - read; n != 0 {
		t.Fatalf("to join read all members %d times", n)
	}
	if left := w.invitations("asked"); left != nil {
		t.Fatalf("left %v", left)
	}
	w.agrees(c)
}

// TestInvitationEnds: refused, over, or given by somebody who lost the power to, an
// invitation lets nobody in.
func TestInvitationEnds(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "x")
	w.ask(im.GroupsNobody, "x")
	invite := func() im.ConversationID {
		t.Helper()
		c := w.create("o", "a")
		w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
		_, invited, err := w.Add(t.Context(), actor("a"), c, []im.UserID{"x"})
		w.ok(err)
		if len(invited) != 1 {
			t.Fatal("not invited")
		}
		return c
	}
	accept := func(c im.ConversationID, code im.Code) {
		t.Helper()
		_, err := w.Accept(t.Context(), actor("x"), c)
		w.wantCode(err, code)
		w.agrees(c)
	}
	refused := invite()
	w.ok(w.Refuse(t.Context(), actor("x"), refused))
	w.wantCode(w.Refuse(t.Context(), actor("x"), refused), im.CodeNotFound)
	accept(refused, im.CodeNotFound)
	if got, want := w.told("x"), []im.EventType{im.EventGroupInvited, im.EventGroupInvitationRefused}; !slices.Equal(got, want) {
		t.Fatalf("told %v", got)
	}
	if len(w.told("a")) != 0 {
		t.Fatal("who invited was told")
	}
	demoted := invite()
	w.ok(w.SetRole(t.Context(), actor("o"), demoted, "a", im.RoleMember))
	accept(demoted, im.CodePermissionDenied)
	w.update("o", demoted, im.GroupChange{Add: im.GroupPowerAll})
	accept(demoted, "")
	gone := invite()
	_, err := w.Remove(t.Context(), actor("o"), gone, []im.UserID{"a"})
	w.ok(err)
	accept(gone, im.CodePermissionDenied)
	over := invite()
	w.now = w.now.Add(group.InvitationTime)
	accept(over, im.CodeNotFound)
	if left := w.invitations("x"); left != nil {
		t.Fatalf("left %v", left)
	}
	_, err = w.Accept(t.Context(), actor("x"), "grp:none")
	w.wantCode(err, im.CodeNotFound)
	_, err = w.Accept(t.Context(), im.Actor{Role: im.ServerOwner}, over)
	w.wantCode(err, im.CodePermissionDenied)
	again, invited, err := w.Add(t.Context(), actor("a"), over, []im.UserID{"x"})
	w.ok(err)
	if len(again) != 0 || len(invited) != 1 {
		t.Fatal("who was invited long ago is not invited again")
	}
}

// TestAcceptRaces: of many who accept one invitation at once one is the member, also
// beside an owner who lets everybody be added.
func TestAcceptRaces(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "x")
	w.ask(im.GroupsNobody, "x")
	c := w.create("o", "x")
	services := []*group.Service{w.Service, w.another(group.Options{Shared: true})}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := services[i%2].Accept(t.Context(), actor("x"), c); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(w.journal.Entries(c)); n != 2 {
		t.Fatalf("%d entries", n)
	}
	w.agrees(c)
}

// TestGroupsOfAUser: who is in as many groups as they may be can neither be added
// nor make, nor join another one; who leaves one can.
func TestGroupsOfAUser(t *testing.T) {
	w := newWorld(t, group.Options{MaxGroups: 3}, "o", "p", "x")
	var cs []im.ConversationID
	for range 3 {
		cs = append(cs, w.create("o", "x"))
	}
	_, err := w.Create(t.Context(), actor("o"), "one more", nil, "")
	w.wantCode(err, im.CodeTooLarge)
	c := w.create("p", "x", "o")
	if got := w.members(c); !slices.Equal(got, []im.UserID{"p"}) {
		t.Fatalf("members %v", got)
	}
	w.ok(w.Leave(t.Context(), actor("x"), cs[0]))
	added, _, err := w.Add(t.Context(), actor("p"), c, []im.UserID{"x", "o"})
	w.ok(err)
	if !slices.Equal(added, []im.UserID{"x"}) {
		t.Fatalf("added %v", added)
	}
	w.ok(w.Leave(t.Context(), actor("x"), c))
	w.ask(im.GroupsNobody, "x")
	_, invited, err := w.Add(t.Context(), actor("p"), c, []im.UserID{"x"})
	w.ok(err)
	if len(invited) != 1 {
		t.Fatal("not invited")
	}
	w.create("x")
	_, err = w.Accept(t.Context(), actor("x"), c)
	w.wantCode(err, im.CodeTooLarge)
	w.agrees(c)
}

// TestStrangers: however many strangers add somebody, so many a day do it; the others
// ask. Contacts and an administrator's key add as before.
func TestStrangers(t *testing.T) {
	w := newWorld(t, group.Options{StrangersPerDay: 3}, "v", "friend", "s1", "s2", "s3")
	_, err := w.store.UpdateContacts(t.Context(), "v", "friend", func(mine, theirs *im.Contact) ([]im.Promise, error) {
		mine.State, theirs.State = im.ContactFriend, im.ContactFriend
		return nil, nil
	})
	w.ok(err)
	groups := map[im.UserID]im.ConversationID{}
	for _, u := range []im.UserID{"friend", "s1", "s2", "s3"} {
		groups[u] = w.create(u)
	}
	adds := func(by im.UserID, c im.ConversationID) string {
		t.Helper()
		added, invited, err := w.Add(t.Context(), actor(by), c, []im.UserID{"v"})
		w.ok(err)
		return fmt.Sprint(len(added), len(invited))
	}
	for i, by := range []im.UserID{"s1", "s2", "s3"} {
		if got := adds(by, w.create(by)); got != "1 0" {
			t.Errorf("stranger %d: %s", i, got)
		}
	}
	if got := adds("s1", groups["s1"]); got != "0 1" {
		t.Errorf("a stranger more: %s", got)
	}
	made, invited, err := w.CreateNew(t.Context(), actor("s2"), group.NewGroup{Name: "more", Members: []im.UserID{"v"}})
	if err != nil || made.Members != 1 || len(invited) != 1 {
		t.Errorf("a new group of a stranger: %d members, invited %v, %v", made.Members, invited, err)
	}
	made, _, err = w.CreateNew(t.Context(), actor("s2"), group.NewGroup{Name: "more", Members: []im.UserID{"v"}, Unasked: true})
	if err != nil || made.Members != 2 {
		t.Errorf("by an administrator's key: %d members, %v", made.Members, err)
	}
	if got := adds("friend", groups["friend"]); got != "1 0" {
		t.Errorf("a contact: %s", got)
	}
	w.now = w.now.Add(8 * time.Hour)
	if got := adds("s3", groups["s3"]); got != "1 0" {
		t.Errorf("a stranger, 8 hours later: %s", got)
	}
}

// TestInvitationsOfStrangers: as many strangers as may add somebody in a day may invite
// them; further ones are told nothing, and nobody's feed grows. Contacts invite as before.
func TestInvitationsOfStrangers(t *testing.T) {
	w := newWorld(t, group.Options{StrangersPerDay: 2}, "v", "friend", "s")
	_, err := w.store.UpdateContacts(t.Context(), "v", "friend", func(mine, theirs *im.Contact) ([]im.Promise, error) {
		mine.State, theirs.State = im.ContactFriend, im.ContactFriend
		return nil, nil
	})
	w.ok(err)
	ways := map[string]int{}
	for range 8 {
		made, invited, err := w.CreateNew(t.Context(), actor("s"), group.NewGroup{Name: "win", Members: []im.UserID{"v"}})
		w.ok(err)
		ways[fmt.Sprint(made.Members, len(invited))]++
	}
	if ways["2 0"] != 2 || ways["1 1"] != 2 || ways["1 0"] != 4 {
		t.Errorf("members and invited: %v", ways)
	}
	w.ask(im.GroupsNobody, "v")
	made, invited, err := w.CreateNew(t.Context(), actor("friend"), group.NewGroup{Name: "friends", Members: []im.UserID{"v"}})
	if err != nil || made.Members != 1 || len(invited) != 1 {
		t.Errorf("a contact: %d members, invited %v, %v", made.Members, invited, err)
	}
	w.now = w.now.Add(12 * time.Hour)
	_, invited, err = w.CreateNew(t.Context(), actor("s"), group.NewGroup{Name: "win", Members: []im.UserID{"v"}})
	if err != nil || len(invited) != 1 {
		t.Errorf("12 hours later: invited %v, %v", invited, err)
	}
}

// TestGroupsMadePerDay: somebody makes so many groups in a day; a repeat, and one that an
// administrator makes for them, counts nothing.
func TestGroupsMadePerDay(t *testing.T) {
	w := newWorld(t, group.Options{MadePerDay: 3}, "o", "p")
	makes := func(by im.UserID, n group.NewGroup) error {
		n.Name = "group"
		_, _, err := w.CreateNew(t.Context(), actor(by), n)
		return err
	}
	for i := range 3 {
		request := fmt.Sprint("r", i)
		w.ok(makes("o", group.NewGroup{RequestID: request}))
		w.ok(makes("o", group.NewGroup{RequestID: request}))
	}
	w.ok(makes("o", group.NewGroup{Unasked: true}))
	err := makes("o", group.NewGroup{})
	w.wantCode(err, im.CodeRateLimited)
	if wait := im.Public(err).RetryAfter; wait < 8*time.Hour || wait > 8*time.Hour+time.Second {
		t.Errorf("wait %s", wait)
	}
	w.ok(makes("p", group.NewGroup{}))
	w.SetLimits(group.Limits{MaxMembers: 10, MaxGroups: 100, AddsPerHour: 10, StrangersPerDay: 10, MadePerDay: -1})
	w.ok(makes("o", group.NewGroup{}))
}

// TestAddsPerHour: who adds more than they may in an hour waits, whether they add,
// invite or make groups; others do not wait for them.
func TestAddsPerHour(t *testing.T) {
	w := newWorld(t, group.Options{AddsPerHour: 6}, "o", "p")
	var users []im.UserID
	for i := range 9 {
		users = append(users, im.UserID(fmt.Sprint("u", i)))
	}
	w.users(users...)
	w.ask(im.GroupsNobody, users[:4]...)
	c := w.create("o", users[0], users[1], users[4])
	_, _, err := w.Add(t.Context(), actor("o"), c, users[:8]) // two are invited already
	w.wantCode(err, im.CodeRateLimited)
	wait := im.Public(err).RetryAfter
	if wait <= 0 || wait > time.Hour {
		t.Fatalf("wait %s", wait)
	}
	other := w.create("p", users[4])
	w.now = w.now.Add(wait)
	added, _, err := w.Add(t.Context(), actor("o"), c, users[2:6])
	w.ok(err)
	if !slices.Equal(added, users[5:6]) {
		t.Fatalf("added %v", added)
	}
	_, err = w.Create(t.Context(), actor("o"), "more", users, "")
	w.wantCode(err, im.CodeRateLimited)
	w.now = w.now.Add(time.Hour)
	if _, err = w.Create(t.Context(), actor("o"), "more than the whole", users, ""); err != nil {
		t.Fatal(err)
	}
	_, err = w.Create(t.Context(), actor("o"), "more", users[:1], "")
	w.wantCode(err, im.CodeRateLimited)
	w.agrees(c)
	w.agrees(other)
}
