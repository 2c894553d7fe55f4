package group_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// link makes a group open, or has it let in who asks, and makes a link.
func (w *world) link(c im.ConversationID, mode im.JoinMode, until time.Time, uses int) string {
	w.t.Helper()
	w.update("o", c, im.GroupChange{Join: mode})
	l, err := w.CreateLink(w.t.Context(), actor("o"), c, until, uses, false)
	w.ok(err)
	return l.Code
}

func (w *world) joins(u im.UserID, code string) im.Code {
	w.t.Helper()
	_, err := w.Join(w.t.Context(), actor(u), code)
	return im.CodeOf(err)
}

// uses of each of the group's links.
func (w *world) uses(c im.ConversationID) (of []int) {
	w.t.Helper()
	all, _, err := w.ListLinks(w.t.Context(), actor("o"), c, 0, "")
	w.ok(err)
	for _, l := range all {
		of = append(of, l.Uses)
	}
	return of
}

// TestLink: who has a link joins, as often as it may be used, until it is over; its
// code cannot be guessed.
func TestLink(t *testing.T) {
	w := newWorld(t, group.Options{MaxMembers: 4}, "o", "a", "b", "x", "y")
	c := w.create("o")
	_, err := w.CreateLink(t.Context(), actor("o"), c, time.Time{}, 0, false)
	w.wantCode(err, im.CodePermissionDenied) // by invitation only
	until := w.now.Add(time.Hour)
	code := w.link(c, im.JoinOpen, until, 2)
	if other := w.link(c, im.JoinOpen, time.Time{}, 0); !regexp.MustCompile(group.LinkPattern).MatchString(code) || other == code {
		t.Fatalf("codes %q and %q", code, other)
	}
	l, err := w.Look(t.Context(), actor("x"), code)
	w.ok(err)
	if l.Group.Name != "friends" || l.Group.Members != 1 || l.Group.Settings.Join != im.JoinOpen {
		t.Fatalf("a look shows %+v", l.Group)
	}
	known := l.Group.Name
	if l, err = w.Look(t.Context(), im.Actor{}, code); err != nil || l.Group.Name != known {
		t.Fatalf("who has not said who they are sees %q: %v", l.Group.Name, err)
	}
	_, err = w.Look(t.Context(), im.Actor{Role: im.ServerOwner}, code)
	w.wantCode(err, im.CodePermissionDenied)
	g, err := w.Join(t.Context(), actor("a"), code)
	w.ok(err)
	if g.Role != im.RoleMember || g.Members != 2 {
		t.Fatalf("joined %+v", g)
	}
	entries := w.journal.Entries(c)
	last := entries[len(entries)-1]
	if last.Event.Type != im.EventMemberAdded || last.Sender != "a" || !slices.Equal(last.Event.Users, []im.UserID{"a"}) {
		t.Fatalf("the entry says %+v", last)
	}
	for u, want := range map[im.UserID]im.Code{"a": "", "o": ""} { // members use nothing up
		if got := w.joins(u, code); got != want {
			t.Fatalf("%s: %q", u, got)
		}
	}
	if got := w.joins("b", code); got != "" {
		t.Fatal(got)
	}
	if got := w.joins("b", code); got != "" { // again, by a link that is used up
		t.Fatal(got)
	}
	if got := w.joins("x", code); got != im.CodeNotFound {
		t.Fatalf("a third one by a link for two: %q", got)
	}
	_, err = w.Look(t.Context(), actor("x"), code)
	w.wantCode(err, im.CodeNotFound)
	if got := w.uses(c); !slices.Contains(got, 2) || len(got) != 2 {
		t.Fatalf("uses %v", got)
	}
	w.now = until
	if got := w.uses(c); !slices.Equal(got, []int{0}) {
		t.Fatalf("when one is over: %v", got)
	}
	w.agrees(c)
}

// TestLinkStaysTheGroups: a link of somebody who is no admin any more, or has left, lets
// in as before, until an admin, whoever, revokes it.
func TestLinkStaysTheGroups(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "x", "y", "z")
	c := w.create("o", "a")
	w.link(c, im.JoinOpen, time.Time{}, 0)
	w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
	l, err := w.CreateLink(t.Context(), actor("a"), c, time.Time{}, 0, false)
	w.ok(err)
	w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleMember))
	if got := w.joins("x", l.Code); got != "" {
		t.Errorf("by a link of a former admin: %q", got)
	}
	w.wantCode(w.RevokeLink(t.Context(), actor("a"), c, l.Code), im.CodePermissionDenied)
	w.ok(w.Leave(t.Context(), actor("a"), c))
	if got := w.joins("y", l.Code); got != "" {
		t.Errorf("by a link of who left: %q", got)
	}
	w.ok(w.RevokeLink(t.Context(), actor("o"), c, l.Code))
	if got := w.joins("z", l.Code); got != im.CodeNotFound {
		t.Errorf("by a link that the owner revoked: %q", got)
	}
}

// TestLinkIsOver: a link lets nobody in, and shows nothing, from its end on.
func TestLinkIsOver(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "x")
	until := w.now.Add(time.Hour)
	code := w.link(w.create("o"), im.JoinOpen, until, 0)
	_, err := w.Look(t.Context(), actor("x"), code)
	w.ok(err)
	w.now = until
	_, err = w.Look(t.Context(), actor("x"), code)
	w.wantCode(err, im.CodeNotFound)
	if got := w.joins("x", code); got != im.CodeNotFound {
		t.Fatal(got)
	}
}

// TestLinkRefused: whom a link does not let in, and who may not make, see or end one.
func TestLinkRefused(t *testing.T) {
	w := newWorld(t, group.Options{MaxMembers: 2, MaxGroups: 2}, "o", "m", "banned", "full", "x")
	c := w.create("o")
	code := w.link(c, im.JoinOpen, time.Time{}, 0)
	w.ok(w.Ban(t.Context(), actor("o"), c, "banned", "", time.Time{}))
	for range 2 {
		w.create("full")
	}
	for _, tt := range []struct {
		u    im.UserID
		code string
		want im.Code
	}{
		{"banned", code, im.CodePermissionDenied}, {"full", code, im.CodeTooLarge}, {"m", code, ""}, {"x", code, im.CodeTooLarge},
		{"x", strings.Repeat("a", 26), im.CodeNotFound}, {"x", "", im.CodeInvalidArgument}, {"x", code + "a", im.CodeInvalidArgument}, {"", code, im.CodePermissionDenied},
	} {
		if got := w.joins(tt.u, tt.code); got != tt.want {
			t.Errorf("%s by %q: %q, want %q", tt.u, tt.code, got, tt.want)
		}
	}
	_, err := w.Look(t.Context(), actor("banned"), code)
	w.wantCode(err, im.CodePermissionDenied)
	w.wantCode(w.RevokeLink(t.Context(), actor("m"), c, code), im.CodePermissionDenied)
	w.wantCode(w.RevokeLink(t.Context(), actor("x"), c, code), im.CodeNotFound)
	w.wantCode(w.RevokeLink(t.Context(), actor("full"), w.create("o"), code), im.CodeNotFound)
	for until, want := range map[time.Time]im.Code{w.now: im.CodeInvalidArgument, w.now.Add(time.Second): ""} {
		_, err = w.CreateLink(t.Context(), actor("o"), c, until, 0, false)
		w.wantCode(err, want)
	}
	_, err = w.CreateLink(t.Context(), actor("o"), c, time.Time{}, group.MaxLinkUses+1, false)
	w.wantCode(err, im.CodeInvalidArgument)
	_, _, err = w.ListLinks(t.Context(), actor("o"), c, 0, "no code")
	w.wantCode(err, im.CodeInvalidArgument)

	w.ok(w.Leave(t.Context(), actor("m"), c))
	w.update("o", c, im.GroupChange{Join: im.JoinApproval})
	if got := w.joins("x", code); got != im.CodePermissionDenied {
		t.Errorf("where admins let in: %q", got)
	}
	w.update("o", c, im.GroupChange{Join: im.JoinInvitation})
	if got := w.joins("x", code); got != im.CodeNotFound {
		t.Errorf("by invitation only: %q", got)
	}
	_, err = w.Request(t.Context(), actor("x"), code, "")
	w.wantCode(err, im.CodeNotFound)
	w.update("o", c, im.GroupChange{Join: im.JoinOpen})
	w.ok(w.RevokeLink(t.Context(), actor("o"), c, code))
	w.wantCode(w.RevokeLink(t.Context(), actor("o"), c, code), im.CodeNotFound)
	if got := w.joins("x", code); got != im.CodeNotFound {
		t.Errorf("revoked: %q", got)
	}
	w.agrees(c)
}

// TestLastUse: of many who use a link at once, on two nodes, as many come as it is
// for; and none after a ban, or after it was revoked.
func TestLastUse(t *testing.T) {
	users := []im.UserID{"o", "a"}
	for i := range 6 {
		users = append(users, im.UserID(fmt.Sprintf("u%d", i)))
	}
	w := newWorld(t, group.Options{}, users...)
	services := []*group.Service{w.another(group.Options{Shared: true}), w.another(group.Options{Shared: true})}
	for round := range 5 {
		c := w.create("o", "a")
		w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
		code := w.link(c, im.JoinOpen, time.Time{}, 2)
		var wg sync.WaitGroup
		for i, u := range users[2:] {
			wg.Go(func() {
				if _, err := services[i%2].Join(t.Context(), actor(u), code); err != nil && im.CodeOf(err) != im.CodeNotFound && (u != "u0" || im.CodeOf(err) != im.CodePermissionDenied) {
					t.Errorf("%s: %v", u, err)
				}
			})
		}
		if round%2 == 1 {
			wg.Go(func() { w.ok(services[1].RevokeLink(t.Context(), actor("a"), c, code)) })
			wg.Go(func() { w.ok(services[0].Ban(t.Context(), actor("a"), c, "u0", "", time.Time{})) })
		}
		wg.Wait()
		members := w.members(c)
		if round%2 == 0 && len(members) != 4 || len(members) > 4 || round%2 == 1 && slices.Contains(members, "u0") {
			t.Fatalf("round %d: members %v", round, members)
		}
		w.agrees(c)
	}
}

// TestRequest: who asks comes in when an admin says so, is told when one says no, and
// may take it back; admins hear of all of it.
func TestRequest(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "m", "x", "y", "z")
	c := w.create("o", "a", "m")
	w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
	code := w.link(c, im.JoinApproval, time.Time{}, 3)
	ask := func(u im.UserID, want im.Code) {
		t.Helper()
		_, err := w.Request(t.Context(), actor(u), code, "please")
		w.wantCode(err, want)
	}
	for _, u := range []im.UserID{"x", "y", "z", "z"} {
		ask(u, "")
	}
	ask("m", im.CodeAlreadyExists)
	_, err := w.Request(t.Context(), actor("x"), code, strings.Repeat("x", group.MaxRequestText+1))
	w.wantCode(err, im.CodeTooLarge)
	list, next, err := w.ListRequests(t.Context(), actor("a"), c, 2, "")
	w.ok(err)
	if len(list) != 2 || next != "y" || list[0].User != "x" || list[0].Text != "please" || !list[0].Expires.Equal(w.now.Add(group.RequestTime)) {
		t.Fatalf("%+v, then %q", list, next)
	}
	requested, refused, withdrawn := im.EventJoinRequested, im.EventJoinRefused, im.EventJoinWithdrawn
	wantTold := func(u im.UserID, want ...im.EventType) {
		t.Helper()
		if got := w.told(u); !slices.Equal(got, want) {
			t.Fatalf("%s was told %v, want %v", u, got, want)
		}
	}
	wantTold("o", requested, requested, requested)
	wantTold("m")
	if p := w.journal.Entries("me:a")[0]; p.Sender != "x" || p.Event.Text != "please" || p.Event.Conversation != c || !slices.Equal(p.Event.Users, []im.UserID{"x"}) {
		t.Fatalf("an admin was told %+v", p)
	}

	w.wantCode(w.Approve(t.Context(), actor("m"), c, "x"), im.CodePermissionDenied)
	w.wantCode(w.Approve(t.Context(), actor("x"), c, "x"), im.CodeNotFound)
	w.wantCode(w.Approve(t.Context(), actor("a"), c, "nobody"), im.CodeNotFound)
	w.ok(w.Approve(t.Context(), actor("a"), c, "x"))
	w.ok(w.Approve(t.Context(), actor("o"), c, "x")) // twice is once
	w.ok(w.RefuseRequest(t.Context(), actor("a"), c, "y"))
	w.wantCode(w.RefuseRequest(t.Context(), actor("o"), c, "y"), im.CodeNotFound)
	w.wantCode(w.Approve(t.Context(), actor("o"), c, "y"), im.CodeNotFound)
	w.ok(w.Withdraw(t.Context(), actor("z"), c))
	w.wantCode(w.Withdraw(t.Context(), actor("z"), c), im.CodeNotFound)
	wantTold("x", requested)
	wantTold("y", requested, refused)
	wantTold("z", requested, withdrawn)
	wantTold("a", requested, requested, requested, refused, withdrawn)
	ask("y", im.CodeNotFound) // three asked by a link for three
	if got := w.members(c); !slices.Equal(got, []im.UserID{"a", "m", "o", "x"}) {
		t.Fatalf("members %v", got)
	}
	w.agrees(c)
}

// TestRequestIsOver: a request ends with its time, and with a ban.
func TestRequestIsOver(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "x", "y")
	c := w.create("o")
	code := w.link(c, im.JoinApproval, time.Time{}, 0)
	for _, u := range []im.UserID{"x", "y"} {
		_, err := w.Request(t.Context(), actor(u), code, "")
		w.ok(err)
	}
	w.ok(w.Ban(t.Context(), actor("o"), c, "y", "", time.Time{}))
	w.wantCode(w.Approve(t.Context(), actor("o"), c, "y"), im.CodePermissionDenied)
	_, err := w.Request(t.Context(), actor("y"), code, "")
	w.wantCode(err, im.CodePermissionDenied)
	w.ok(w.Unban(t.Context(), actor("o"), c, "y"))
	w.wantCode(w.Approve(t.Context(), actor("o"), c, "y"), im.CodeNotFound)
	w.now = w.now.Add(group.RequestTime)
	w.wantCode(w.Approve(t.Context(), actor("o"), c, "x"), im.CodeNotFound)
	list, _, err := w.ListRequests(t.Context(), actor("o"), c, 0, "")
	w.ok(err)
	if len(list) != 0 {
		t.Fatalf("%+v", list)
	}
	w.agrees(c)
}

// TestApproveRaces: of letting in twice, and of letting in and taking back at once,
// one happens, and who was told that it did is right.
func TestApproveRaces(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "x")
	services := []*group.Service{w.another(group.Options{Shared: true}), w.another(group.Options{Shared: true})}
	for range 8 {
		c := w.create("o", "a")
		w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
		code := w.link(c, im.JoinApproval, time.Time{}, 0)
		_, err := w.Request(t.Context(), actor("x"), code, "")
		w.ok(err)
		var wg sync.WaitGroup
		approved, withdrawn := make([]error, 2), error(nil)
		for i, by := range []im.UserID{"o", "a"} {
			wg.Go(func() { approved[i] = services[i].Approve(t.Context(), actor(by), c, "x") })
		}
		wg.Go(func() { withdrawn = services[0].Withdraw(t.Context(), actor("x"), c) })
		wg.Wait()
		in := slices.Contains(w.members(c), "x")
		for _, err := range approved {
			if in != (err == nil) {
				t.Fatalf("a member: %v; approved: %v", in, approved)
			}
		}
		if in == (withdrawn == nil) {
			t.Fatalf("a member: %v; withdrawn: %v", in, withdrawn)
		}
		added := 0
		for _, p := range w.journal.Entries(c) {
			if p.Event.Type == im.EventMemberAdded {
				added++
			}
		}
		if in && added != 1 {
			t.Fatalf("added %d times", added)
		}
		w.agrees(c)
	}
}
