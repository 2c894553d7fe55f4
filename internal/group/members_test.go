package group_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// nickname is what the directory says that a member is called.
func (w *world) nickname(c im.ConversationID, u im.UserID) string {
	w.t.Helper()
	_, members, err := w.store.Group(w.t.Context(), c, []im.UserID{u})
	if err != nil || len(members) != 1 {
		w.t.Fatal(members, err)
	}
	return members[0].Nickname
}

func TestNickname(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "a2", "m", "x")
	c := w.create("o", "a", "a2", "m")
	for _, u := range []im.UserID{"a", "a2"} {
		w.ok(w.SetRole(t.Context(), actor("o"), c, u, im.RoleAdmin))
	}
	set := func(by, user im.UserID, nickname string) im.Code {
		return im.CodeOf(w.Nickname(t.Context(), actor(by), c, user, nickname))
	}
	for _, x := range []struct {
		by, user im.UserID
		nickname string
		want     im.Code
	}{
		{"m", "", "朋友 ☕", ""}, {"m", "m", "Tea", ""}, {"a", "m", "Cake", ""}, {"o", "a", "Boss", ""}, {"a", "a", "", ""},
		{"m", "a", "x", im.CodePermissionDenied}, {"a", "a2", "x", im.CodePermissionDenied}, {"a", "o", "x", im.CodePermissionDenied},
		{"a", "x", "x", im.CodeNotFound}, {"x", "", "x", im.CodeNotFound}, {"x", "m", "x", im.CodeNotFound},
		{"o", "no user!", "x", im.CodeInvalidArgument}, {"m", "", " ", im.CodeInvalidArgument}, {"m", "", "T\u200bea", im.CodeInvalidArgument}, {"m", "", "\u202eaeT", im.CodeInvalidArgument}, {"m", "", "a\nb", im.CodeInvalidArgument}, {"m", "", "\xff", im.CodeInvalidArgument},
		{"m", "", strings.Repeat("ü", 65), im.CodeTooLarge}, {"m", "", strings.Repeat("ü", 64), ""}, {"m", "", "Tea", ""},
	} {
		rev := w.rev(c)
		if got := set(x.by, x.user, x.nickname); got != x.want {
			t.Errorf("%s calls %q %q: %q, want %q", x.by, x.user, x.nickname, got, x.want)
		}
		if done := w.rev(c) != rev; done != (x.want == "") && x.nickname != "" {
			t.Errorf("%s calls %q %q: an entry %v", x.by, x.user, x.nickname, done)
		}
	}
	if got := w.nickname(c, "m"); got != "Tea" {
		t.Fatalf("m is called %q", got)
	}
	entries := w.journal.Entries(c)
	if e := entries[len(entries)-1].Event; e.Type != im.EventMemberNicknamed || !slices.Equal(e.Users, []im.UserID{"m"}) || e.Text != "Tea" {
		t.Errorf("the entry says %+v", e)
	}
	rev := w.rev(c)
	if set("m", "", "Tea") != "" || w.rev(c) != rev {
		t.Error("what changes nothing makes an entry")
	}
	w.ok(w.Mute(t.Context(), actor("o"), c, "m", w.now.Add(time.Minute)))
	if got := set("m", "", "Spam"); got != im.CodeMuted {
		t.Errorf("who is muted: %q", got)
	}
	w.ok(w.Mute(t.Context(), actor("o"), c, "a", w.now.Add(time.Minute)))
	for user, want := range map[im.UserID]im.Code{"": im.CodeMuted, "a": im.CodeMuted, "m": im.CodeMuted, "a2": im.CodePermissionDenied, "x": im.CodeMuted} {
		if got := set("a", user, "Spam"); got != want {
			t.Errorf("a muted admin calls %q something: %q, want %q", user, got, want)
		}
	}
	w.now = w.now.Add(time.Minute)
	if got := set("a", "m", "Cake") + set("a", "", "Pie"); got != "" {
		t.Errorf("an admin who is muted no more: %q", got)
	}
	_, err := w.Remove(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	_, _, err = w.Add(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	if got := w.nickname(c, "m"); got != "" {
		t.Errorf("m comes back as %q", got)
	}
	w.agrees(c)
}

// A list of members: by role, then as they joined; of one role; by pages of any size.
func TestListByRole(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "b", "c", "d", "e")
	c := w.create("o", "d")
	for _, u := range []im.UserID{"c", "e", "b", "a"} {
		w.now = w.now.Add(time.Second)
		_, _, err := w.Add(t.Context(), actor("o"), c, []im.UserID{u})
		w.ok(err)
	}
	for _, u := range []im.UserID{"a", "e"} {
		w.ok(w.SetRole(t.Context(), actor("o"), c, u, im.RoleAdmin))
	}
	for role, want := range map[im.Role][]im.UserID{
		im.RoleNone: {"o", "e", "a", "d", "c", "b"}, im.RoleOwner: {"o"}, im.RoleAdmin: {"e", "a"}, im.RoleMember: {"d", "c", "b"},
	} {
		for limit := 1; limit < 8; limit++ {
			var got []im.UserID
			for cursor, more := "", true; more; more = cursor != "" {
				page, next, err := w.List(t.Context(), actor("b"), c, role, "", limit, cursor)
				w.ok(err)
				if len(page) > limit {
					t.Fatalf("a page of %d", len(page))
				}
				for _, m := range page {
					got = append(got, m.User)
				}
				cursor = next
				if len(got) > len(want) { // it goes on for ever
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("role %d, pages of %d: %v, want %v", role, limit, got, want)
			}
		}
	}
	for _, cursor := range []string{"b", "0.1.b", "4.1.b", "1..b", "1.-1.b", "1.1.", "1.1.b c", "1.1", "11.1.b", "1.9999999999999999.b"} {
		if _, _, err := w.List(t.Context(), actor("o"), c, im.RoleNone, "", 0, cursor); im.CodeOf(err) != im.CodeInvalidArgument {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	for query, want := range map[string]im.Code{"a\x00": im.CodeInvalidArgument, "\xff": im.CodeInvalidArgument, strings.Repeat("ä", 65): im.CodeTooLarge, strings.Repeat("ä", 64): ""} {
		if _, _, err := w.List(t.Context(), actor("o"), c, im.RoleNone, query, 0, ""); im.CodeOf(err) != want || err != nil && im.Public(err).Field != "query" {
			t.Errorf("query %q: %v", query, err)
		}
	}
	if _, _, err := w.List(t.Context(), actor("o"), c, 4, "", 0, ""); im.CodeOf(err) != im.CodeInvalidArgument {
		t.Errorf("role 4: %v", err)
	}
}

// Of a group where more members have such a name than are looked at in one go all are
// found, each once, by pages some of which are short; of one where few have it a page
// holds them all. Nicknames count, and so do display names.
func TestFindMembers(t *testing.T) {
	users := []im.UserID{"o"}
	for i := range 2500 {
		users = append(users, im.UserID(fmt.Sprintf("u%04d", i)))
	}
	var others []im.UserID // so many that each member's name is looked at
	for i := range 2100 {
		others = append(others, im.UserID(fmt.Sprintf("x%04d", i)))
	}
	w := newWorld(t, group.Options{}, slices.Concat(users, others)...) // each is called as their id
	c := w.create("o")
	for part := range slices.Chunk(users[1:], group.MaxUsers) {
		_, _, err := w.Add(t.Context(), actor("o"), c, part)
		w.ok(err)
	}
	w.ok(w.Nickname(t.Context(), actor("o"), c, "u2321", "Cake"))
	find := func(query string, limit int) (got []im.UserID, pages int) {
		for cursor, more := "", true; more; more = cursor != "" {
			page, next, err := w.List(t.Context(), actor("u0001"), c, im.RoleNone, query, limit, cursor)
			w.ok(err)
			for _, m := range page {
				got = append(got, m.User)
			}
			if pages++; pages > 100 {
				t.Fatal("it goes on for ever")
			}
			cursor = next
		}
		return got, pages
	}
	if got, _ := find("U", 900); !slices.Equal(got, users[1:]) {
		t.Errorf("%d of those whose names begin with u", len(got))
	}
	if got, pages := find("u23", 200); !slices.Equal(got, users[2301:2401]) || pages != 1 {
		t.Errorf("%d pages: %v", pages, got)
	}
	if got, pages := find("cake", 1); !slices.Equal(got, []im.UserID{"u2321"}) || pages != 1 {
		t.Errorf("%d pages: %v", pages, got)
	}
	w.ok(w.Nickname(t.Context(), actor("o"), c, "u2450", "X-ray"))
	if got, pages := find("x", 10); !slices.Equal(got, []im.UserID{"u2450"}) || pages != 2 {
		t.Errorf("%d pages: %v", pages, got)
	}
	if got, pages := find("nobody", 0); got != nil || pages != 1 {
		t.Errorf("%d pages: %v", pages, got)
	}
}
