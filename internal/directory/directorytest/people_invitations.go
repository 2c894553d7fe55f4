package directorytest

import (
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// invitations: each is kept once with its notice, until it is answered, over, or its
// user a member.
func invitations(p *people) {
	p.users("o", "x", "y")
	later := at.Add(time.Hour)
	for _, c := range []im.ConversationID{"grp:a", "grp:b", "grp:c"} {
		p.group(c, "name of "+string(c), "o")
	}
	invite := func(now time.Time, u im.UserID, cs ...im.ConversationID) (made int) {
		p.Helper()
		var all []im.Invitation
		var notices []im.Promise
		for _, c := range cs {
			all = append(all, im.Invitation{User: u, Conversation: c, Inviter: "o", Created: now, Expires: now.Add(time.Hour)})
			notices = append(notices, p.promise(im.Me(u), "o", im.Event{Type: im.EventGroupInvited, Users: []im.UserID{u}, Conversation: c}))
		}
		got, err := p.db.Invite(p.ctx, all, notices)
		p.ok(err)
		return len(got)
	}
	open := func(u im.UserID, now time.Time) (of []im.ConversationID) {
		p.Helper()
		list, err := p.db.Invitations(p.ctx, u, now, "", 10)
		p.ok(err)
		for _, inv := range list {
			equal(p, "the group's name", inv.Group.Name, "name of "+string(inv.Conversation))
			of = append(of, inv.Conversation)
		}
		return of
	}
	equal(p, "made", invite(at, "x", "grp:b", "grp:a"), 2)
	equal(p, "made again", invite(at, "x", "grp:a", "grp:c"), 1)
	equal(p, "of nobody", invite(at, "ghost", "grp:a"), 0)
	equal(p, "of a member", invite(at, "o", "grp:a"), 0)
	equal(p, "promises", len(p.pending()), 3)
	equal(p, "open", open("x", at), []im.ConversationID{"grp:a", "grp:b", "grp:c"})
	second, err := p.db.Invitations(p.ctx, "x", at, "grp:a", 1)
	p.ok(err)
	equal(p, "the second page", second[0].Conversation, "grp:b")
	inv, found, err := p.db.Invitation(p.ctx, "x", "grp:a", at)
	p.ok(err)
	equal(p, "one", fmt.Sprint(found, " ", inv.Inviter, " ", inv.Expires.Equal(later), " ", inv.Group.Members), "true o true 1")
	equal(p, "open when they are over", open("x", later), nil)
	_, found, err = p.db.Invitation(p.ctx, "x", "grp:a", later)
	p.ok(err)
	equal(p, "one that is over", found, false)

	notice := p.promise("me:x", "x", im.Event{Type: im.EventGroupInvitationRefused})
	for _, want := range []bool{true, false} {
		done, err := p.db.Uninvite(p.ctx, "x", "grp:b", at, notice)
		p.ok(err)
		equal(p, "refused", done, want)
	}
	p.change("grp:c", "o", 1, 2, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"x", "y"}})
	equal(p, "left", open("x", at), []im.ConversationID{"grp:a"})
	p.change("grp:c", "o", 2, 3, im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"x"}})
	equal(p, "left when they left", open("x", at), []im.ConversationID{"grp:a"})
	equal(p, "made when the first is over", invite(later, "x", "grp:a"), 1)
}

// invitationsAreBounded: who has very many open ones gets no more.
func invitationsAreBounded(p *people) {
	p.users("o", "x")
	made := 0
	for i := range 230 {
		c := im.Group(fmt.Sprint(i))
		inv := im.Invitation{User: "x", Conversation: c, Inviter: "o", Created: at, Expires: at.Add(time.Hour)}
		got, err := p.db.Invite(p.ctx, []im.Invitation{inv}, []im.Promise{p.promise("me:x", "o", im.Event{Type: im.EventGroupInvited, Conversation: c})})
		p.ok(err)
		made += len(got)
	}
	equal(p, "made", made, 200)
}
