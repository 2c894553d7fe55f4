package group_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

func ptr[T any](v T) *T { return &v }

// update changes settings as somebody.
func (w *world) update(by im.UserID, c im.ConversationID, change im.GroupChange) group.Group {
	w.t.Helper()
	g, err := w.Update(w.t.Context(), actor(by), c, &change)
	w.ok(err)
	return g
}

// TestUpdate: what changed is one entry that says it, and nothing is none.
func TestUpdate(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "m")
	c := w.create("o", "a", "m")
	w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
	change := im.GroupChange{
		Picture: ptr("https://example.org/p.png"), Description: ptr("tea\nand talk"), Announcement: ptr("at five"),
		Extra: map[string]string{"shop": "7", "colour": "red"}, Add: im.GroupPowerAll, Post: im.GroupPowerAdmins, MentionAll: im.GroupPowerAll, Pin: im.GroupPowerAll,
		Join: im.JoinOpen, History: im.HistoryAll, MutedAll: ptr(true), SlowMode: ptr(uint32(30)),
	}
	want := im.GroupSettings{
		Picture: "https://example.org/p.png", Description: "tea\nand talk", Announcement: "at five", Extra: map[string]string{"shop": "7", "colour": "red"},
		GroupSwitches: im.GroupSwitches{Add: im.GroupPowerAll, Post: im.GroupPowerAdmins, MentionAll: im.GroupPowerAll, Pin: im.GroupPowerAll, Join: im.JoinOpen, History: im.HistoryAll, MutedAll: true, SlowMode: 30},
	}
	if g := w.update("a", c, change); !reflect.DeepEqual(g.Settings, want) {
		t.Fatalf("got %+v, want %+v", g.Settings, want)
	}
	before := len(w.journal.Entries(c))
	w.update("o", c, change)
	w.update("o", c, im.GroupChange{})
	if after := len(w.journal.Entries(c)); after != before {
		t.Fatalf("what changed nothing made %d entries", after-before)
	}
	g := w.update("o", c, im.GroupChange{Extra: map[string]string{"shop": "", "none": "", "size": "9"}, Picture: ptr(""), MutedAll: ptr(false), SlowMode: ptr(uint32(30))})
	if want := map[string]string{"colour": "red", "size": "9"}; !reflect.DeepEqual(g.Settings.Extra, want) || g.Settings.Picture != "" {
		t.Fatalf("got %+v", g.Settings)
	}
	entries := w.journal.Entries(c)
	told := entries[len(entries)-1].Event
	if want := (im.Event{Type: im.EventGroupChanged, Group: &im.GroupChange{Extra: map[string]string{"shop": "", "size": "9"}, Picture: ptr(""), MutedAll: ptr(false)}}); !reflect.DeepEqual(told, want) {
		t.Fatalf("the entry tells %+v, want %+v", told.Group, want.Group)
	}
	w.agrees(c)
	w.restart()
	w.agrees(c)
}

// TestBadSettings: each refusal names the field, and changes nothing.
func TestBadSettings(t *testing.T) {
	w := newWorld(t, group.Options{}, "o")
	c := w.create("o")
	w.update("o", c, im.GroupChange{Extra: map[string]string{"a": strings.Repeat("x", 4000)}})
	many := map[string]string{}
	for _, k := range "abcdefghijklmnopq" {
		many[string(k)+"1"] = "x"
	}
	rev := w.rev(c)
	for field, change := range map[string]im.GroupChange{
		"picture":          {Picture: ptr("http://example.org/p.png")},
		"description":      {Description: ptr(strings.Repeat("ä", group.MaxDescription+1))},
		"announcement":     {Announcement: ptr("a\x00b")},
		"extra":            {Extra: map[string]string{"Shop": "x"}},
		"whoMayAdd":        {Add: 3},
		"whoMayPost":       {Post: 9},
		"whoMayMentionAll": {MentionAll: 3},
		"whoMayPin":        {Pin: 3},
		"join":             {Join: 4},
		"history":          {History: 3},
		"slowModeS":        {SlowMode: ptr(uint32(group.MaxSlowMode + 1))},
	} {
		_, err := w.Update(t.Context(), actor("o"), c, &change)
		if e := im.Public(err); err == nil || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for name, change := range map[string]im.GroupChange{
		"a picture that is too long":   {Picture: ptr("https://example.org/" + strings.Repeat("p", group.MaxPicture))},
		"a picture with a password":    {Picture: ptr("https://u:p@example.org/p.png")},
		"a picture of no host":         {Picture: ptr("https:///p.png")},
		"a picture with a space":       {Picture: ptr("https://example.org/a b.png")},
		"a picture that breaks off":    {Picture: ptr("https://example.org/%4")},
		"a picture that is not ASCII":  {Picture: ptr("https://exämple.org/p.png")},
		"too many fields":              {Extra: many},
		"too much beside what is kept": {Extra: map[string]string{"b": strings.Repeat("x", 95)}},
	} {
		if _, err := w.Update(t.Context(), actor("o"), c, &change); im.ForNow(err) || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.rev(c) != rev {
		t.Fatal("what was refused was done")
	}
	w.update("o", c, im.GroupChange{Picture: ptr("https://example.org:8443/a%20b.png?size=[64]#x")})
	w.update("o", c, im.GroupChange{Extra: map[string]string{"b": strings.Repeat("x", 94)}, Picture: ptr("01H5-upload_id"), Description: ptr(strings.Repeat("ä", group.MaxDescription))})
}

// TestSwitches: what the switches of a group let whom do, at once and after a
// restart.
func TestSwitches(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "m", "s", "n")
	c := w.create("o", "a", "m")
	w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
	may := func(want map[im.UserID]im.Code) {
		t.Helper()
		for restarted := range 2 {
			for u, code := range want {
				_, err := w.MaySend(t.Context(), u, c)
				w.wantCode(err, code)
			}
			w.agrees(c)
			if restarted == 0 { // and no more: the next change meets a roster in RAM
				w.restart()
			}
		}
	}
	all := map[im.UserID]im.Code{"o": "", "a": "", "m": "", "s": im.CodeNotFound}
	may(all)
	w.update("o", c, im.GroupChange{Post: im.GroupPowerAdmins})
	may(map[im.UserID]im.Code{"o": "", "a": "", "m": im.CodePermissionDenied, "s": im.CodeNotFound})
	w.update("o", c, im.GroupChange{Post: im.GroupPowerAll, MutedAll: ptr(true)})
	may(map[im.UserID]im.Code{"o": "", "a": "", "m": im.CodeMuted, "s": im.CodeNotFound})
	w.update("a", c, im.GroupChange{MutedAll: ptr(false)})
	may(all)

	_, _, err := w.Add(t.Context(), actor("m"), c, []im.UserID{"n"})
	w.wantCode(err, im.CodePermissionDenied)
	w.update("o", c, im.GroupChange{Add: im.GroupPowerAll})
	_, _, err = w.Add(t.Context(), actor("s"), c, []im.UserID{"n"})
	w.wantCode(err, im.CodeNotFound)
	got, _, err := w.Add(t.Context(), actor("m"), c, []im.UserID{"n"})
	w.ok(err)
	if !reflect.DeepEqual(got, []im.UserID{"n"}) {
		t.Fatalf("added %v", got)
	}
	w.agrees(c)
}

// TestSwitchMovesTheRoster: a message that was allowed before all were muted is
// refused by the journal, for it was decided on an older revision.
func TestSwitchMovesTheRoster(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	before, err := w.MaySend(t.Context(), "m", c)
	w.ok(err)
	w.update("o", c, im.GroupChange{MutedAll: ptr(true)})
	if after := w.journal.Roster(c); after == before {
		t.Fatalf("the roster is at revision %d, as before", after)
	}
}

// TestSlowMode: a member's messages are so far apart, a resend is none, and admins
// are exempt.
func TestSlowMode(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m", "n")
	c, other := w.create("o", "m", "n"), w.create("o", "m")
	w.update("o", c, im.GroupChange{SlowMode: ptr(uint32(30))})
	w.update("o", other, im.GroupChange{SlowMode: ptr(uint32(10))})
	write := func(u im.UserID, c im.ConversationID, id byte) time.Duration {
		t.Helper()
		_, err := w.MaySend(t.Context(), u, c) // so that the roster is in RAM
		w.ok(err)
		err = w.MayWriteYet(u, c, im.MessageID{id})
		if err == nil {
			return 0
		}
		w.wantCode(err, im.CodeSlowMode)
		if !im.ForNow(err) {
			t.Fatal("it is refused for good")
		}
		return im.Public(err).RetryAfter
	}
	want := func(what string, got, want time.Duration) {
		t.Helper()
		if got != want {
			t.Fatalf("%s: wait %s, want %s", what, got, want)
		}
	}
	want("the first", write("m", c, 1), 0)
	want("the second", write("m", c, 2), 30*time.Second)
	want("the first again", write("m", c, 1), 0)
	want("another member", write("n", c, 3), 0)
	want("another group", write("m", other, 4), 0)
	want("the owner", write("o", c, 5)+write("o", c, 6), 0)
	w.now = w.now.Add(29 * time.Second)
	want("too early", write("m", c, 2), time.Second)
	w.now = w.now.Add(time.Second)
	want("in time", write("m", c, 2), 0)
	want("both again", write("m", c, 1)+write("m", c, 2), 0)
	want("the third", write("m", c, 7), 30*time.Second)
	w.now = w.now.Add(-time.Hour)
	want("a clock that was set back", write("m", c, 7), 30*time.Second)
	w.update("o", c, im.GroupChange{SlowMode: ptr(uint32(0))})
	want("without slow mode", write("m", c, 7), 0)
}

// TestHistoryForNewMembers: who comes while the group shows what was before may
// read it all, and nothing of it is unread; who came before, or comes later, not.
func TestHistoryForNewMembers(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "b", "c", "d")
	c := w.create("o", "a")
	place := func(u im.UserID) im.Membership {
		t.Helper()
		m, found, err := w.store.Membership(t.Context(), u, c)
		w.ok(err)
		if !found {
			t.Fatalf("%s has no place", u)
		}
		m.Conversation, m.Title = "", ""
		return m
	}
	want := func(u im.UserID, want im.Membership) {
		t.Helper()
		if got := place(u); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %+v, want %+v", u, got, want)
		}
		w.agrees(c)
	}
	add := func(users ...im.UserID) {
		t.Helper()
		_, _, err := w.Add(t.Context(), actor("o"), c, users)
		w.ok(err)
	}
	w.ok(w.Leave(t.Context(), actor("a"), c)) // 2
	add("b")                                  // 3
	w.update("o", c, im.GroupChange{History: im.HistoryAll})
	want("b", im.Membership{First: 3})
	add("a", "c") // 5, and a was here until 2
	all := im.Membership{First: 5, Earlier: []im.Window{{First: 1, Until: 4}}, ReadTo: 4}
	want("a", all)
	want("c", all)
	w.update("o", c, im.GroupChange{History: im.HistoryFromJoining}) // 6
	w.ok(w.Leave(t.Context(), actor("c"), c))                        // 7
	add("c", "d")                                                    // 8
	want("d", im.Membership{First: 8})
	want("c", im.Membership{First: 8, Earlier: []im.Window{{First: 1, Until: 7}}, ReadTo: 4})
}

// TestCreateFor: an integrator's group has their id, once.
func TestCreateFor(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "b")
	w.block("b", "o")
	n := group.NewGroup{Conversation: "grp:room-7", Name: "Room 7", Members: []im.UserID{"a", "b", "nobody"}, Settings: &im.GroupChange{Post: im.GroupPowerAdmins, Add: im.GroupPowerAdmins, Description: ptr("seven")}}
	g, err := w.CreateFor(t.Context(), "o", n)
	w.ok(err)
	if g.Conversation != "grp:room-7" || g.Owner != "o" || g.Role != im.RoleNone || g.Members != 2 || g.Settings.Description != "seven" || g.Settings.Post != im.GroupPowerAdmins {
		t.Fatalf("got %+v", g)
	}
	w.agrees(g.Conversation)
	_, err = w.MaySend(t.Context(), "a", g.Conversation)
	w.wantCode(err, im.CodePermissionDenied)
	_, err = w.CreateFor(t.Context(), "o", n)
	w.wantCode(err, im.CodeAlreadyExists)
	_, err = w.CreateFor(t.Context(), "a", n)
	w.wantCode(err, im.CodeAlreadyExists)
	n.Conversation = "grp:room-8"
	_, err = w.CreateFor(t.Context(), "nobody", n)
	w.wantCode(err, im.CodeNotFound)
	n.RequestID = "r"
	for range 2 {
		g, err = w.CreateFor(t.Context(), "o", n)
		w.ok(err)
	}
	n.Settings = &im.GroupChange{Join: 9}
	_, err = w.CreateFor(t.Context(), "o", n)
	if e := im.Public(err); e.Field != "settings.join" {
		t.Fatal(err)
	}
	w.agrees(g.Conversation)
}
