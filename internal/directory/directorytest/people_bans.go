package directorytest

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

// bans: each is kept once, as it was said last, until its end.
func bans(p *people) {
	p.users("o", "x", "y")
	c := im.ConversationID("grp:g")
	p.group(c, "g", "o", "x")
	p.group("grp:h", "h", "o")
	later := at.Add(time.Hour)
	users := func(c im.ConversationID, now time.Time) (of []im.UserID) {
		p.Helper()
		list, err := p.db.BansPage(p.ctx, c, now, "", 10)
		p.ok(err)
		some, err := p.db.Banned(p.ctx, c, []im.UserID{"z", "y", "x"}, now)
		p.ok(err)
		equal(p, "asked for by id", len(some), len(list))
		for _, b := range list {
			of = append(of, b.User)
		}
		return of
	}
	p.change(c, "o", 1, 2, im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"x"}, Banned: true, Text: "noise", Until: later})
	p.change(c, "o", 2, 3, im.Event{Type: im.EventMemberBanned, Users: []im.UserID{"y"}})
	equal(p, "banned", users(c, at), []im.UserID{"x", "y"})
	equal(p, "of another group", users("grp:h", at), nil)
	equal(p, "when one is over", users(c, later), []im.UserID{"y"})
	_, roles := p.roster(c)
	equal(p, "the roster", roles, map[im.UserID]im.Role{"o": im.RoleOwner})
	list, err := p.db.BansPage(p.ctx, c, at, "", 1)
	p.ok(err)
	equal(p, "the first", [4]any{list[0].User, list[0].By, list[0].Reason, list[0].Until.Equal(later)}, [4]any{im.UserID("x"), im.UserID("o"), "noise", true})
	list, err = p.db.BansPage(p.ctx, c, at, "x", 9)
	p.ok(err)
	equal(p, "the rest", len(list), 1)
	p.change(c, "o", 3, 4, im.Event{Type: im.EventMemberBanned, Users: []im.UserID{"x"}, Text: "again"})
	equal(p, "banned for ever", users(c, later), []im.UserID{"x", "y"})
	p.change(c, "o", 4, 5, im.Event{Type: im.EventMemberUnbanned, Users: []im.UserID{"x"}})
	equal(p, "not banned", users(c, at), []im.UserID{"y"})
	p.change(c, "o", 5, 6, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"x"}})
	p.change(c, "o", 6, 7, im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"x"}})
	equal(p, "removed without a ban", users(c, at), []im.UserID{"y"})
}
