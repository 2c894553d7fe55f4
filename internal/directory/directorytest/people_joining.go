package directorytest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// code makes a link's code of a letter.
func code(letter string) string { return strings.Repeat(letter, 26) }

func (p *people) link(c im.ConversationID, letter string, uses int, expires time.Time) {
	p.Helper()
	p.ok(p.db.CreateLink(p.ctx, im.InviteLink{Code: code(letter), Conversation: c, Creator: "o", Created: at, Expires: expires, MaxUses: uses}, 100))
}

// comes promises and applies somebody's joining, and returns the code of the refusal.
func (p *people) comes(c im.ConversationID, user im.UserID, rev uint64, by im.JoinBy, now time.Time) im.Code {
	p.Helper()
	pr := p.promise(c, user, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{user}})
	pr.IfRoster, pr.SetRoster = rev, rev+1
	accepted, err := p.db.PromiseJoin(p.ctx, pr, by, now)
	if err != nil {
		return im.CodeOf(err)
	}
	if !accepted {
		return "stale"
	}
	p.ok(p.db.Apply(p.ctx, pr, rev+1))
	return ""
}

func (p *people) codes(c im.ConversationID, now time.Time, after string, limit int) (of string) {
	p.Helper()
	all, err := p.db.LinksPage(p.ctx, c, now, after, limit)
	p.ok(err)
	for _, l := range all {
		of += fmt.Sprintf("%s%d ", l.Code[:1], l.Uses)
	}
	return strings.TrimSpace(of)
}

// links: each use is counted with the promise of who comes, and no more than may be.
func links(p *people) {
	p.users("o", "x", "y", "z")
	c := im.ConversationID("grp:g")
	p.group(c, "the name", "o")
	later := at.Add(time.Hour)
	p.link(c, "b", 1, time.Time{})
	p.link(c, "a", 0, later)
	equal(p, "all", p.codes(c, at, "", 9), "a0 b0")
	equal(p, "the first", p.codes(c, at, "", 1), "a0")
	equal(p, "the rest", p.codes(c, at, code("a"), 9), "b0")
	equal(p, "not over", p.codes(c, later, "", 9), "b0")
	l, found, err := p.db.Link(p.ctx, code("a"))
	p.ok(err)
	equal(p, "a link", [6]any{found, l.Conversation, l.Creator, l.Expires.Equal(later), l.Group.Name, l.Group.Members}, [6]any{true, c, im.UserID("o"), true, "the name", 1})
	_, found, err = p.db.Link(p.ctx, code("c"))
	p.ok(err)
	equal(p, "found", found, false)

	equal(p, "at another revision", p.comes(c, "x", 7, im.JoinBy{Link: code("b")}, at), im.Code("stale"))
	equal(p, "counted by it", p.codes(c, at, "", 9), "a0 b0")
	equal(p, "x comes", p.comes(c, "x", 1, im.JoinBy{Link: code("b")}, at), im.Code(""))
	equal(p, "y comes too late", p.comes(c, "y", 2, im.JoinBy{Link: code("b")}, at), im.CodeNotFound)
	equal(p, "nothing is promised", len(p.pending()), 0)
	equal(p, "y comes", p.comes(c, "y", 2, im.JoinBy{Link: code("a")}, at), im.Code(""))
	equal(p, "z when it is over", p.comes(c, "z", 3, im.JoinBy{Link: code("a")}, later), im.CodeNotFound)
	equal(p, "uses", p.codes(c, at, "", 9), "a1 b1")

	// What does not hold any more makes room.
	p.ok(p.db.CreateLink(p.ctx, im.InviteLink{Code: code("d"), Conversation: c, Creator: "o", Created: at}, 2))
	equal(p, "room", p.codes(c, at, "", 9), "a1 d0")
	err = p.db.CreateLink(p.ctx, im.InviteLink{Code: code("e"), Conversation: c, Creator: "o", Created: at}, 2)
	equal(p, "one too many", im.CodeOf(err), im.CodeTooLarge)
	err = p.db.CreateLink(p.ctx, im.InviteLink{Code: code("e"), Conversation: "grp:none", Creator: "o", Created: at}, 2)
	equal(p, "of no group", im.CodeOf(err), im.CodeNotFound)

	for i, want := range []bool{false, true, false} {
		done, err := p.db.RemoveLink(p.ctx, [...]im.ConversationID{"grp:h", c, c}[i], code("a"))
		p.ok(err)
		equal(p, fmt.Sprint("removed ", i), done, want)
	}
	equal(p, "z by a removed one", p.comes(c, "z", 3, im.JoinBy{Link: code("a")}, at), im.CodeNotFound)
}

// linkRaced: a link for three is used three times, whoever asks at once.
func linkRaced(p *people) {
	p.users("o", "x")
	p.group("grp:a", "a", "o")
	p.link("grp:a", "a", 3, time.Time{})
	var joined atomic.Int32
	var wg sync.WaitGroup
	requests := make([]im.JoinRequest, 12)
	for i := range requests {
		u := im.UserID(fmt.Sprintf("u%d", i))
		p.users(u)
		requests[i] = im.JoinRequest{Conversation: "grp:a", User: u, Created: at, Expires: at.Add(time.Hour)}
	}
	for _, r := range requests {
		wg.Go(func() {
			switch made, err := p.db.RequestJoin(p.ctx, r, code("a"), 500, 50, nil); {
			case made:
				joined.Add(1)
			case im.CodeOf(err) != im.CodeNotFound:
				p.Errorf("made %v, %v", made, err)
			}
		})
	}
	wg.Wait()
	equal(p, "used", joined.Load(), 3)
	equal(p, "counted", p.codes("grp:a", at, "", 9), "a3")
}

// requests: open until they are over, ended or answered; each once.
func requests(p *people) {
	p.users("o", "x", "y", "z")
	c := im.ConversationID("grp:g")
	p.group(c, "g", "o")
	p.group("grp:h", "h", "o")
	p.link(c, "a", 0, time.Time{})
	p.link("grp:h", "h", 0, time.Time{})
	later := at.Add(time.Hour)
	ask := func(c im.ConversationID, u im.UserID, letter string, ofGroup, ofUser int) string {
		p.Helper()
		notice := p.promise(im.Me(u), u, im.Event{Type: im.EventJoinRequested})
		made, err := p.db.RequestJoin(p.ctx, im.JoinRequest{Conversation: c, User: u, Text: "hi", Created: at, Expires: later}, code(letter), ofGroup, ofUser, []im.Promise{notice})
		if err != nil {
			return string(im.CodeOf(err))
		}
		return fmt.Sprint(made)
	}
	open := func(now time.Time, after im.UserID, limit int) (of []im.UserID) {
		p.Helper()
		all, err := p.db.RequestsPage(p.ctx, c, now, after, limit)
		p.ok(err)
		for _, r := range all {
			equal(p, "the text", r.Text, "hi")
			of = append(of, r.User)
		}
		return of
	}
	equal(p, "x", ask(c, "x", "a", 2, 2), "true")
	equal(p, "x again", ask(c, "x", "a", 2, 2), "false")
	equal(p, "by another group's link", ask(c, "y", "h", 2, 2), "not_found")
	equal(p, "y", ask(c, "y", "a", 2, 2), "true")
	equal(p, "z", ask(c, "z", "a", 2, 2), "too_large")
	equal(p, "x elsewhere", ask("grp:h", "x", "h", 2, 1), "too_large")
	equal(p, "promises", len(p.pending()), 2)
	equal(p, "uses", p.codes(c, at, "", 9), "a2")
	equal(p, "open", open(at, "", 9), []im.UserID{"x", "y"})
	equal(p, "the first", open(at, "", 1), []im.UserID{"x"})
	equal(p, "the rest", open(at, "x", 9), []im.UserID{"y"})
	equal(p, "when they are over", open(later, "", 9), nil)

	equal(p, "who did not ask", p.comes(c, "z", 1, im.JoinBy{Asked: true}, at), im.CodeNotFound)
	equal(p, "too late", p.comes(c, "x", 1, im.JoinBy{Asked: true}, later), im.CodeNotFound)
	equal(p, "x comes", p.comes(c, "x", 1, im.JoinBy{Asked: true}, at), im.Code(""))
	equal(p, "open", open(at, "", 9), []im.UserID{"y"})
	p.ok(p.db.EndRequest(p.ctx, c, "y", at, nil))
	equal(p, "ended again", im.CodeOf(p.db.EndRequest(p.ctx, c, "y", at, nil)), im.CodeNotFound)
	equal(p, "y again", ask(c, "y", "a", 2, 2), "true")
	equal(p, "z", ask(c, "z", "a", 2, 2), "true")
	p.change(c, "o", 2, 3, im.Event{Type: im.EventMemberBanned, Users: []im.UserID{"y"}})
	equal(p, "when one is banned", open(at, "", 9), []im.UserID{"z"})
	p.change(c, "o", 3, 4, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"z"}})
	equal(p, "ended by being added", im.CodeOf(p.db.EndRequest(p.ctx, c, "z", at, nil)), im.CodeNotFound)
}
