package directorytest

import (
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Who sees somebody's presence: policy by policy, for a stranger, a contact, who was
// asked, and either side of a block.
func mayWatch(p *people) {
	p.users("me")
	var all []im.UserID
	want := ""
	for _, policy := range []im.PresencePolicy{0, im.PresenceContacts, im.PresenceEveryone, im.PresenceNobody} {
		for _, who := range []string{"stranger", "contact", "asked", "blockedme", "blockedbyme"} {
			u := im.UserID(fmt.Sprint(who, policy))
			all = append(all, u)
			p.users(u)
			_, err := p.db.UpdateUser(p.ctx, u, im.ProfileChange{Presence: policy})
			p.ok(err)
			mine, theirs := im.Contact{User: u, State: im.ContactFriend}, im.Contact{User: "me", State: im.ContactFriend}
			sees := policy != im.PresenceNobody
			switch who {
			case "stranger":
				sees = policy == im.PresenceEveryone
			case "asked":
				mine.State, theirs.State = im.ContactAsked, im.ContactAsksMe
				sees = policy == im.PresenceEveryone
			case "blockedme":
				theirs.Blocked, sees = true, false
			case "blockedbyme":
				mine.Blocked, sees = true, false
			}
			if who != "stranger" {
				p.pair(mine, theirs)
			}
			if sees {
				want += string(u) + " "
			}
		}
	}
	may, err := p.db.MayWatch(p.ctx, "me", append(all, "ghost", "me"))
	p.ok(err)
	is := map[im.UserID]bool{}
	for _, w := range may {
		is[w.User] = true
		equal(p, "seen of "+string(w.User), w.Seen.IsZero(), true)
	}
	got := ""
	for _, u := range all {
		if is[u] {
			got += string(u) + " "
		}
	}
	equal(p, "whom I may watch", got, want)
	equal(p, "nobody else", len(may), len(is))
}

// Neither sees how far the other has read where one hides it, or blocked the other.
func readsHidden(p *people) {
	p.users("me", "shows", "hides", "blocks", "blocked")
	yes, no := true, false
	_, err := p.db.UpdateUser(p.ctx, "hides", im.ProfileChange{HideReads: &yes})
	p.ok(err)
	p.pair(im.Contact{User: "blocks", State: im.ContactFriend}, im.Contact{User: "me", State: im.ContactFriend, Blocked: true})
	p.pair(im.Contact{User: "blocked", State: im.ContactFriend, Blocked: true}, im.Contact{User: "me", State: im.ContactFriend})
	all := []im.UserID{"shows", "hides", "blocks", "blocked"}
	hidden := func() string {
		got, err := p.db.ReadsHidden(p.ctx, "me", all)
		p.ok(err)
		is := map[im.UserID]bool{}
		for _, u := range got {
			is[u] = true
		}
		s := ""
		for _, u := range all {
			if is[u] {
				s += string(u) + " "
			}
			back, err := p.db.ReadsHidden(p.ctx, u, []im.UserID{"me"})
			p.ok(err)
			equal(p, "the other way, "+string(u), len(back) == 1, is[u])
		}
		return s
	}
	equal(p, "hidden", hidden(), "hides blocks blocked ")
	_, err = p.db.UpdateUser(p.ctx, "me", im.ProfileChange{HideReads: &yes})
	p.ok(err)
	equal(p, "when I hide mine", hidden(), "shows hides blocks blocked ")
	u, err := p.db.UpdateUser(p.ctx, "me", im.ProfileChange{HideReads: &no})
	p.ok(err)
	equal(p, "and show them again", u.HideReads, false)
	equal(p, "hidden", hidden(), "hides blocks blocked ")
}

// The latest time counts, whatever comes when; of who does not exist nothing is kept.
func lastSeen(p *people) {
	p.users("me", "a", "b")
	for _, u := range []im.UserID{"a", "b"} {
		p.pair(im.Contact{User: u, State: im.ContactFriend}, im.Contact{User: "me", State: im.ContactFriend})
	}
	for _, n := range []int{2, 1, 3, 3, 1} {
		p.ok(p.db.NoteSeen(p.ctx, []im.Watched{{User: "ghost", Seen: at}, {User: "a", Seen: at.Add(time.Duration(n) * time.Second)}}))
	}
	p.ok(p.db.NoteSeen(p.ctx, nil))
	may, err := p.db.MayWatch(p.ctx, "me", []im.UserID{"a", "b", "ghost"})
	p.ok(err)
	got := map[im.UserID]int64{}
	for _, w := range may {
		got[w.User] = -1
		if !w.Seen.IsZero() {
			got[w.User] = w.Seen.Sub(at).Milliseconds()
		}
	}
	equal(p, "seen", got, map[im.UserID]int64{"a": 3000, "b": -1})
}
