package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// all are the members of a roster, one by one.
func (r *roster) all(users []im.UserID) map[im.UserID]cachedMember {
	all := map[im.UserID]cachedMember{}
	for _, u := range users {
		if m := r.member(u); m.role != im.RoleNone {
			all[u] = m
		}
	}
	return all
}

// What was taken on from a roster that was replaced meanwhile is not kept.
func TestReplaceOnlyThatOne(t *testing.T) {
	r := newRosters(100)
	first, other, next := &roster{rev: 1}, &roster{rev: 1}, &roster{rev: 2}
	r.seed("grp:g", first)
	r.replace("grp:g", other, next)
	if r.peek("grp:g") != first {
		t.Error("replaced another one")
	}
	r.replace("grp:g", first, next)
	if r.peek("grp:g") != next {
		t.Error("not replaced")
	}
	r.replace("grp:g", next, nil)
	if r.peek("grp:g") != nil || r.of.Used() != 0 {
		t.Errorf("not taken out, cost %d", r.of.Used())
	}
}

// A large roster that is taken on change by change is what a map that is
// changed is; those of earlier revisions stay as they were, and what is not in
// the base stays a small part.
func TestLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var users []im.UserID
	for i := range 3000 {
		users = append(users, im.UserID(fmt.Sprint("u", i)))
	}
	want := map[im.UserID]cachedMember{"u0": {first: 1, role: im.RoleOwner}}
	now := (&roster{}).with(im.Promise{Sender: "u0", SetRoster: 1, Event: im.Event{Type: im.EventGroupCreated, Users: users[:1]}}, 1)
	type past struct {
		roster *roster
		was    map[im.UserID]cachedMember
	}
	var pasts []past
	for seq := uint64(2); seq < 300; seq++ {
		some := make([]im.UserID, 1+r.IntN(60))
		for i := range some {
			some[i] = users[1+r.IntN(len(users)-1)]
		}
		e := im.Event{Type: im.EventMemberAdded, Users: some}
		change := func(m *cachedMember) {}
		switch r.IntN(6) {
		case 0:
			e.Type, change = im.EventMemberRemoved, func(m *cachedMember) { *m = cachedMember{} }
		case 1:
			e, change = im.Event{Type: im.EventRoleChanged, Users: some[:1], Role: im.RoleAdmin}, func(m *cachedMember) { m.role = im.RoleAdmin }
		case 2:
			e, change = im.Event{Type: im.EventMemberMuted, Users: some[:1], Until: time.UnixMilli(int64(seq))}, func(m *cachedMember) { m.mutedUntil = int64(seq) }
		}
		for _, u := range e.Users {
			m, in := want[u]
			switch {
			case in:
				change(&m)
			case e.Type == im.EventMemberAdded:
				m = cachedMember{first: seq, role: im.RoleMember}
			}
			if want[u] = m; m.role == im.RoleNone {
				delete(want, u)
			}
		}
		pasts = append(pasts, past{now, now.all(users)})
		now = now.with(im.Promise{Sender: "u0", IfRoster: now.rev, SetRoster: now.rev + 1, Event: e}, seq)
		if got := now.all(users); !maps.Equal(got, want) || now.rev != seq {
			t.Fatalf("after %+v: %d members at %d, want %d", e, len(got), now.rev, len(want))
		}
		for u, m := range now.base {
			if m.role == im.RoleNone {
				t.Fatalf("%s left and takes room", u)
			}
		}
		if len(now.over) > len(now.base)/64+64 {
			t.Fatalf("%d of %d are not in the base", len(now.over), len(now.base))
		}
	}
	if len(want) < 500 {
		t.Fatalf("%d members are no test", len(want))
	}
	for _, p := range pasts {
		if got := p.roster.all(users); !maps.Equal(got, p.was) {
			t.Fatalf("the roster at %d was changed afterwards", p.roster.rev)
		}
	}
	if now.with(im.Promise{Event: im.Event{Type: im.EventGroupRestored}}, 300) != nil {
		t.Error("took on a change that it does not know")
	}
}
