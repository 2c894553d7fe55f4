package im_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func TestConversationIDs(t *testing.T) {
	long := strings.Repeat("x", im.MaxID)
	for s, want := range map[string]im.ConversationKind{
		"dm:a:b": im.KindDM, "dm:" + long + ":y": im.KindDM, "dm:A:a": im.KindDM, "grp:g": im.KindGroup, "me:a_-Z9": im.KindMe,
		"": im.KindInvalid, "dm:b:a": im.KindInvalid, "dm:a:a": im.KindDM, "dm:a": im.KindInvalid, "dm:a:b:c": im.KindInvalid,
		"dm::b": im.KindInvalid, "grp:": im.KindInvalid, "grp:a:b": im.KindInvalid, "grp:a.b": im.KindInvalid, "grp:*": im.KindInvalid,
		"grp:>": im.KindInvalid, "me:é": im.KindInvalid, "me:a b": im.KindInvalid, "me:" + long + "x": im.KindInvalid,
		"DM:a:b": im.KindInvalid, "grp:a\x00": im.KindInvalid, "grp:a\n": im.KindInvalid,
	} {
		if got := im.ConversationID(s).Kind(); got != want {
			t.Errorf("%q: kind %d, want %d", s, got, want)
		}
		if _, err := im.ParseConversationID(s); (err == nil) != (want != im.KindInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if c := im.DM("b", "a"); c != "dm:a:b" || c != im.DM("a", "b") {
		t.Error(c)
	}
	if p, ok := im.DM("a", "b").Peer("b"); p != "a" || !ok {
		t.Error(p, ok)
	}
	for _, c := range []im.ConversationID{im.DM("a", "b"), im.Group("c"), im.Me("c"), "junk"} {
		if p, ok := c.Peer("c"); ok {
			t.Errorf("c is in %s with %s", c, p)
		}
	}
}

// Parsing accepts exactly what the constructors make.
func TestIDsRoundTrip(t *testing.T) {
	id := rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := im.UserID(id.Draw(t, "a")), im.UserID(id.Draw(t, "b"))
		if a == b {
			return
		}
		c := im.DM(a, b)
		if _, err := im.ParseConversationID(string(c)); err != nil || len(c) > im.MaxConversationID {
			t.Fatal(c, err)
		}
		x, y, ok := c.DMMembers()
		if !ok || x > y || im.DM(x, y) != c {
			t.Fatal(x, y, ok)
		}
		if u, ok := im.Me(a).MeUser(); !ok || u != a {
			t.Fatal(u, ok)
		}
	})
}

func TestMessageIDs(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_123)
	id := im.NewMessageID(now, [10]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255})
	if !id.Time().Equal(now) || id.String() != "018bcfe5-687b-7fff-bfff-ffffffffffff" {
		t.Error(id, id.Time())
	}
	if got, err := im.ParseMessageID(id[:]); err != nil || got != id {
		t.Error(got, err)
	}
	v4, variant := id, id
	v4[6], variant[8] = 0x4f, 0xff
	for name, b := range map[string][]byte{"short": id[:15], "long": append(id[:], 0), "nil": nil, "version 4": v4[:], "variant": variant[:], "zero": make([]byte, 16)} {
		if _, err := im.ParseMessageID(b); im.CodeOf(err) != im.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Server and SDK compute the same digest.
func TestHeadHashIsTheProtocols(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, seq := rapid.StringMatching(`dm:[a-z]{1,64}:[a-z]{1,64}`).Draw(t, "c"), rapid.Uint64().Draw(t, "seq")
		if a, b := im.HeadHash(im.ConversationID(c), seq), wire.HeadHash(c, seq); a != b {
			t.Fatalf("%s %d: %x and %x", c, seq, a, b)
		}
	})
	if h := im.HeadHash("dm:a:b", 18446744073709551615); h != 0x89c08574e9d127ba {
		t.Errorf("the digest changed: %#x", h)
	}
}

func TestAuthorize(t *testing.T) {
	const no = im.CodePermissionDenied
	for _, tc := range []struct {
		actor  im.Role
		action im.GroupAction
		target im.Role
		want   im.Code
	}{
		{im.RoleNone, im.GroupRead, im.RoleNone, im.CodeNotFound},
		{im.RoleMember, im.GroupSend, im.RoleNone, ""},
		{im.RoleMember, im.GroupAdd, im.RoleNone, no},
		{im.RoleAdmin, im.GroupAdd, im.RoleNone, ""},
		{im.RoleAdmin, im.GroupRemove, im.RoleMember, ""},
		{im.RoleAdmin, im.GroupRemove, im.RoleAdmin, no},
		{im.RoleAdmin, im.GroupRemove, im.RoleOwner, no},
		{im.RoleOwner, im.GroupRemove, im.RoleAdmin, ""},
		{im.RoleAdmin, im.GroupSetRole, im.RoleMember, no},
		{im.RoleOwner, im.GroupSetRole, im.RoleMember, ""},
		{im.RoleOwner, im.GroupAction(200), im.RoleNone, no}, // unknown: denied
	} {
		if got := im.CodeOf(im.Authorize(tc.actor, tc.action, tc.target)); got != tc.want {
			t.Errorf("role %d, action %d, target %d: %q, want %q", tc.actor, tc.action, tc.target, got, tc.want)
		}
	}
}

// The switches of a group decide who adds, writes, pins and mentions all, nothing else.
func TestAuthorizeSwitches(t *testing.T) {
	all := im.GroupSwitches{Add: im.GroupPowerAll, Post: im.GroupPowerAll, MentionAll: im.GroupPowerAll, Pin: im.GroupPowerAll}
	admins := im.GroupSwitches{Add: im.GroupPowerAdmins, Post: im.GroupPowerAdmins, MentionAll: im.GroupPowerAdmins, Pin: im.GroupPowerAdmins}
	muted := all
	muted.MutedAll = true
	for action := range im.GroupPin + 1 {
		if action == im.GroupReact {
			continue // has no switch of its own
		}
		for actor := im.RoleNone; actor <= im.RoleOwner; actor++ {
			for _, target := range []im.Role{im.RoleNone, im.RoleMember, im.RoleOwner} {
				wantAll, wantAdmins := im.CodeOf(im.Authorize(actor, action, target)), im.CodeOf(im.Authorize(actor, action, target))
				wantMuted := wantAll
				if switched := action == im.GroupAdd || action == im.GroupSend || action == im.GroupMentionAll || action == im.GroupPin; switched && actor != im.RoleNone {
					wantAll, wantAdmins, wantMuted = "", "", ""
					if actor == im.RoleMember {
						wantAdmins = im.CodePermissionDenied
					}
					if actor == im.RoleMember && (action == im.GroupSend || action == im.GroupPin) {
						wantMuted = im.CodeMuted
					}
				}
				for name, c := range map[string]struct {
					switches im.GroupSwitches
					want     im.Code
				}{"all": {all, wantAll}, "admins": {admins, wantAdmins}, "muted": {muted, wantMuted}} {
					if got := im.CodeOf(c.switches.Authorize(actor, action, target)); got != c.want {
						t.Errorf("%s: role %d, action %d, target %d: %q, want %q", name, actor, action, target, got, c.want)
					}
				}
			}
		}
	}
}

func TestErrorsTellUsersTheirPartOnly(t *testing.T) {
	cause := errors.New("disk /dev/sda1 on fire")
	e := im.Wrap(cause, im.CodeUnavailable, "try later")
	if !errors.Is(e, cause) || im.CodeOf(fmt.Errorf("send: %w", e)) != im.CodeUnavailable {
		t.Error("the chain is broken")
	}
	if p := im.Public(cause); p.Code != im.CodeInternal || strings.Contains(p.Message, "fire") {
		t.Errorf("a user would read %q", p.Message)
	}
	if p := im.Public(fmt.Errorf("send: %w", e)); p.Message != "try later" {
		t.Error(p.Message)
	}
	if im.CodeOf(nil) != "" {
		t.Error("nil has a code")
	}
	for _, row := range im.Codes() {
		if row.Code.Info() != row || row.Number < 4000 || row.Number > 4999 || row.HTTP < 400 {
			t.Errorf("%+v", row)
		}
		if w := wire.Code(row.Code).Info(); w.Number != row.Number || string(w.Action) != string(row.Action) {
			t.Errorf("server and clients differ on %s", row.Code)
		}
	}
	if i := im.Code("from the future").Info(); i.Action != im.ActionReconnect {
		t.Error(i)
	}
}
