package directorytest

import (
	"fmt"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// Members by the beginning of a nickname, display name or username: in the order of the
// list, in pages of any size, whether few have such a name or so many that the members
// are looked at one after the other.
func groupSearch(p *people) {
	const c = im.ConversationID("grp:g")
	p.named("1", "anna", "Zoe")
	p.named("2", "", "Anna Meyer")
	p.named("3", "bob", "ÄNNE")
	p.named("4", "", "Bob")
	p.named("5", "", "100% _sure_")
	p.named("6", "annika", "Anni") // no member
	p.group(c, "g", "4", "1", "2", "3", "5")
	rev := uint64(1)
	change := func(t im.EventType, u im.UserID, text string, role im.Role) {
		p.change(c, "4", rev, rev+1, im.Event{Type: t, Users: []im.UserID{u}, Text: text, Role: role})
		rev++
	}
	change(im.EventRoleChanged, "3", "", im.RoleAdmin)
	change(im.EventMemberNicknamed, "5", "ANNE the sure", 0)
	named := func(prefix string, role im.Role, looks, limit int) string {
		var got []string
		q := im.MemberQuery{Prefix: prefix, Role: role, Limit: limit, Looks: looks}
		for pages := 0; ; pages++ {
			page, looked, err := p.db.MembersPage(p.ctx, c, q)
			p.ok(err)
			for _, m := range page {
				got = append(got, string(m.User))
				q.After = m.Place()
			}
			switch {
			case len(page) < limit && looked.Role == im.RoleNone:
				return strings.Join(got, " ")
			case len(page) < limit:
				q.After = looked
			case pages > 20:
				return "it goes on for ever"
			}
		}
	}
	check := func(what, prefix string, role im.Role, want string) {
		for _, looks := range []int{1, 2, 3, 100} {
			for _, limit := range []int{1, 2, 10} {
				equal(p, fmt.Sprintf("%s: %q, %d looks, pages of %d", what, prefix, looks, limit), named(prefix, role, looks, limit), want)
			}
		}
	}
	for prefix, want := range map[string]string{
		"ann": "1 2 5", "ANN": "1 2 5", "\uff41nn": "1 2 5", "anna": "1 2", "anna m": "2", "ä": "3", "bob": "4 3", "zo": "1",
		"100%": "5", "%": "", "_": "", "anni": "", "nn": "", "": "4 3 1 2 5", "  ": "4 3 1 2 5",
	} {
		check("all", prefix, im.RoleNone, want)
	}
	check("admins", "bob", im.RoleAdmin, "3")
	check("members", "ann", im.RoleMember, "1 2 5")
	name := "Cake"
	_, err := p.db.UpdateUser(p.ctx, "2", im.ProfileChange{DisplayName: &name})
	p.ok(err)
	check("another display name", "ann", im.RoleNone, "1 5")
	check("another display name", "cake", im.RoleNone, "2")
	change(im.EventMemberNicknamed, "5", "", 0)
	check("the nickname is gone", "ann", im.RoleNone, "1")
	change(im.EventMemberNicknamed, "1", "Tea", 0)
	check("a nickname", "tea", im.RoleNone, "1")
	change(im.EventMemberRemoved, "1", "", 0)
	check("a former member", "tea", im.RoleNone, "")
	change(im.EventMemberAdded, "1", "", im.RoleMember)
	check("came back", "tea", im.RoleNone, "")
	check("came back", "ann", im.RoleNone, "1")
}
