package directorytest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// history is what should be where, told by the changes alone.
type history struct {
	*people
	random *rand.Rand
	users  []im.UserID
	groups map[im.ConversationID]*pastGroup
	places map[im.UserID]map[im.ConversationID]im.Membership
}

type pastGroup struct {
	name     string
	rev, seq uint64
}

// Whoever asks after a change finds it, whatever was asked before: lists that
// are kept in memory follow every kind of change.
func placesFollowChanges(p *people) {
	h := &history{people: p, random: rand.New(rand.NewPCG(1, 2)), groups: map[im.ConversationID]*pastGroup{}, places: map[im.UserID]map[im.ConversationID]im.Membership{}}
	for i := range 8 {
		u := im.UserID(fmt.Sprintf("u%d", i))
		h.users = append(h.users, u)
		h.places[u] = map[im.ConversationID]im.Membership{}
	}
	for range 400 {
		what := h.step()
		for u := range h.places {
			if h.random.IntN(3) > 0 { // others are asked later, with several changes between
				h.agrees(what, u)
			}
		}
	}
	for u := range h.places {
		h.agrees("the end", u)
	}
}

func (h *history) agrees(what string, u im.UserID) {
	h.Helper()
	byID := func(a, b im.Membership) int {
		return strings.Compare(string(a.Conversation), string(b.Conversation))
	}
	want := slices.SortedFunc(maps.Values(h.places[u]), byID)
	got, _, err := h.db.Memberships(h.ctx, u)
	h.ok(err)
	equal(h.people, "memberships of "+string(u)+" after "+what, got, want)
	for c := range h.groups {
		m, found, err := h.db.Membership(h.ctx, u, c)
		h.ok(err)
		place, there := h.places[u][c]
		if found != there || !reflect.DeepEqual(m, place) {
			h.Fatalf("%s in %s after %s: %+v, want %+v", u, c, what, m, place)
		}
	}
}

// some are a few users, with or without a place in c now.
func (h *history) some(c im.ConversationID, in bool) (us []im.UserID) {
	for _, u := range h.users {
		m, there := h.places[u][c]
		if (there && m.Until == 0) == in && h.random.IntN(2) == 0 {
			us = append(us, u)
		}
	}
	return us
}

// step makes a change and tells which.
func (h *history) step() string {
	h.Helper()
	n := h.random.IntN(12)
	if n == 0 || len(h.groups) == 0 {
		return h.create()
	}
	if n == 1 {
		a, b := h.users[h.random.IntN(4)], h.users[4+h.random.IntN(4)]
		c := im.DM(a, b)
		h.ok(h.db.OpenDM(h.ctx, c))
		for _, u := range []im.UserID{a, b} {
			h.places[u][c] = im.Membership{Conversation: c, First: 1}
		}
		return "a dm"
	}
	all := slices.Sorted(maps.Keys(h.groups))
	c := all[h.random.IntN(len(all))]
	if n == 2 {
		return h.restore(c)
	}
	return h.roster(c, n)
}

func (h *history) create() string {
	h.Helper()
	c := im.Group(fmt.Sprint(len(h.groups)))
	name := fmt.Sprint("name ", len(h.groups))
	members := append([]im.UserID{h.users[h.random.IntN(len(h.users))]}, h.some(c, false)...)
	h.group(c, name, members...)
	h.groups[c] = &pastGroup{name: name, rev: 1, seq: 1}
	for _, u := range members {
		h.places[u][c] = im.Membership{Conversation: c, First: 1, Title: name}
	}
	return "a new group"
}

// roster makes one of the changes that are entries.
func (h *history) roster(c im.ConversationID, n int) string {
	h.Helper()
	g := h.groups[c]
	next := g.seq + 1 + h.random.Uint64N(3) // messages between
	tell := func(by im.UserID, e im.Event) {
		h.Helper()
		h.change(c, by, g.rev, next, e)
		g.rev, g.seq = g.rev+1, next
	}
	ins, outs := h.some(c, true), h.some(c, false)
	switch {
	case n < 5 && len(outs) > 0:
		tell("by", im.Event{Type: im.EventMemberAdded, Users: outs, Role: im.RoleMember})
		for _, u := range outs {
			h.places[u][c] = im.Membership{Conversation: c, First: g.seq, Title: g.name, Earlier: pastOf(h.places[u][c])}
		}
		return "an addition"
	case n < 8 && len(ins) > 0:
		e := im.Event{Type: im.EventMemberRemoved, Users: ins}
		if n == 5 {
			ins = ins[:1]
			e = im.Event{Type: im.EventMemberLeft, Users: ins}
		}
		tell("by", e)
		for _, u := range ins {
			m := h.places[u][c]
			m.Until = g.seq
			h.places[u][c] = m
		}
		return "a removal"
	case n == 8 && len(ins) > 0:
		tell("by", im.Event{Type: im.EventRoleChanged, Users: ins[:1], Role: im.RoleAdmin})
		return "a role"
	}
	name := fmt.Sprint("renamed ", g.rev)
	before := h.promise(c, "by", im.Event{Type: im.EventGroupRenamed, Text: name})
	before.IfRoster, before.SetRoster = g.rev, g.rev+1
	accepted, err := h.db.PromiseRoster(h.ctx, before)
	h.ok(err)
	equal(h.people, "accepted", accepted, true)
	h.ok(h.db.Apply(h.ctx, before, next))
	g.rev, g.seq, g.name = g.rev+1, next, name
	if n == 9 { // and once more, and the first again, as a replay does that comes late
		g.name = "newer " + name
		tell("by", im.Event{Type: im.EventGroupRenamed, Text: g.name})
		h.ok(h.db.Apply(h.ctx, before, next))
	}
	for _, u := range h.users {
		if m, there := h.places[u][c]; there && m.Until == 0 {
			m.Title = g.name
			h.places[u][c] = m
		}
	}
	return "a new name"
}

// pastOf are the windows of somebody who is added again.
func pastOf(m im.Membership) []im.Window {
	if m.First == 0 {
		return nil
	}
	past := append(slices.Clone(m.Earlier), im.Window{First: m.First, Until: m.Until})
	if n := len(past); n > 1 && past[n-2].Until+1 == m.First { // nothing lies between
		past[n-2].Until = m.Until
		past = past[:n-1]
	}
	return past
}

// restore bounds a group to what is left of its journal.
func (h *history) restore(c im.ConversationID) string {
	h.Helper()
	g := h.groups[c]
	seq := 1 + h.random.Uint64N(g.seq)
	h.ok(h.db.RestoreGroup(h.ctx, c, g.rev, seq))
	for _, u := range h.users {
		m, there := h.places[u][c]
		var left []im.Window
		for _, w := range m.Earlier {
			if w.First < seq {
				left = append(left, im.Window{First: w.First, Until: min(w.Until, seq-1)})
			}
		}
		m.Earlier = left
		switch n := len(left); {
		case !there:
			continue
		case m.Until != 0 && m.First >= seq && n > 0:
			m.First, m.Until, m.Earlier = left[n-1].First, left[n-1].Until, left[:n-1]
			if n == 1 {
				m.Earlier = nil
			}
		case m.Until == 0:
			m.First = min(m.First, seq)
		case m.First >= seq:
			delete(h.places[u], c)
			continue
		default:
			m.Until = min(m.Until, seq-1)
		}
		h.places[u][c] = m
	}
	return "a restore"
}

// Lists that are read while they change are as they were before or after, and
// once the change has returned, as they are after it.
func placesReadWhileTheyChange(p *people) {
	p.group("grp:g", "g", "o")
	const rounds = 60
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := p.db.Memberships(p.ctx, "m"); err != nil {
					p.Error(err)
					return
				}
			}
		})
	}
	for i := range uint64(rounds) {
		e := im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"m"}, Role: im.RoleMember}
		want := im.Membership{Conversation: "grp:g", First: i + 2, Title: "g"}
		if i%2 == 1 {
			e = im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"m"}}
			want.First, want.Until = i+1, i+2
		}
		if want.First > 2 { // what lies side by side is one window
			want.Earlier = []im.Window{{First: 2, Until: want.First - 1}}
		}
		p.change("grp:g", "o", i+1, i+2, e)
		got, _, err := p.db.Memberships(p.ctx, "m")
		p.ok(err)
		equal(p, "after the change", got, []im.Membership{want})
	}
	close(stop)
	wg.Wait()
}
