package directorytest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// A profile is kept as it is set, field by field; what would be too much is refused
// whole.
func profile(p *people) {
	p.users("a", "b")
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		change im.ProfileChange
		want   string
	}{
		{im.ProfileChange{Picture: text("https://x.org/a.png"), Extra: map[string]string{"team": "blue", "desk": "4"}}, "{https://x.org/a.png  map[desk:4 team:blue]}"},
		{im.ProfileChange{About: text("Hi\n\u4e2d"), Extra: map[string]string{"team": "", "none": ""}}, "{https://x.org/a.png Hi\n\u4e2d map[desk:4]}"},
		{im.ProfileChange{Picture: text(""), DM: im.DMNobody}, "{ Hi\n\u4e2d map[desk:4]}"},
		{im.ProfileChange{About: text(""), Extra: map[string]string{"desk": ""}}, "{  map[]}"},
	} {
		u, err := p.db.UpdateUser(p.ctx, "a", c.change)
		p.ok(err)
		equal(p, "changed", fmt.Sprint(u.Profile), c.want)
		got, err := p.db.Users(p.ctx, []im.UserID{"a"})
		p.ok(err)
		equal(p, "read", fmt.Sprint(got[0].Profile), c.want)
		equal(p, "name", got[0].DisplayName, "a")
	}
	_, err := p.db.UpdateUser(p.ctx, "a", im.ProfileChange{About: text("new"), Extra: map[string]string{"k": strings.Repeat("x", im.MaxProfileExtra)}})
	equal(p, "too much", im.CodeOf(err), im.CodeTooLarge)
	_, err = p.db.UpdateUser(p.ctx, "a", im.ProfileChange{Extra: map[string]string{"k": strings.Repeat("x", im.MaxProfileExtra-2)}})
	p.ok(err)
	_, err = p.db.UpdateUser(p.ctx, "a", im.ProfileChange{Extra: map[string]string{"l": "1"}})
	equal(p, "too much by and by", im.CodeOf(err), im.CodeTooLarge)
	_, err = p.db.UpdateUser(p.ctx, "a", im.ProfileChange{Extra: map[string]string{"k": ""}})
	p.ok(err)
	got, err := p.db.Users(p.ctx, []im.UserID{"a", "b"})
	p.ok(err)
	for _, u := range got {
		equal(p, "profile of "+string(u.ID), fmt.Sprint(u.Profile), "{  map[]}")
	}
}

// picturesOfPeople: an upload of one's own that shows oneself or a group stays, and is
// everybody's to fetch, until another one does, or the account is deleted.
func picturesOfPeople(p *people) {
	p.users("a", "b")
	c := im.ConversationID("grp:g")
	p.group(c, "g", "a")
	for _, id := range []string{"one", "two"} {
		p.readyAs("image/png", id, "a", 1, "hash of "+id)
	}
	p.ready("words", "a", 1, "w")
	user := func(u im.UserID, picture string) {
		p.Helper()
		_, err := p.db.UpdateUser(p.ctx, u, im.ProfileChange{Picture: &picture})
		p.ok(err)
	}
	rev := uint64(0)
	group := func(by im.UserID, picture string) {
		p.Helper()
		rev++
		p.change(c, by, rev, rev+1, im.Event{Type: im.EventGroupChanged, Group: &im.GroupChange{Picture: &picture}})
	}
	want := func(shown, thrownAway string) {
		p.Helper()
		var s []string
		for _, id := range []string{"one", "two", "words"} {
			yes, err := p.db.ShowsSomebody(p.ctx, id)
			p.ok(err)
			if yes {
				s = append(s, id)
			}
		}
		equal(p, "shown", strings.Join(s, " "), shown)
		due, err := p.db.DueUploads(p.ctx, at, 9)
		p.ok(err)
		equal(p, "thrown away", strings.Join(due, " "), thrownAway)
	}
	want("", "")
	user("a", "one")
	want("one", "")
	user("b", "two") // of another one's
	user("a", "words")
	want("", "one") // no picture
	user("a", "one")
	user("a", "one")
	group("a", "one")
	want("one", "")
	user("a", "two")
	want("one two", "")
	group("a", "https://example.org/p.png")
	want("two", "one")
	group("b", "two")
	user("a", "")
	want("", "one two")
	user("a", "two")
	want("two", "one")
	_, _, err := p.db.BeginErasure(p.ctx, im.ErasureOrder{User: "a", At: at})
	p.ok(err)
	want("", "one two")
}

// tell has all news told and says who was told of whom, and how often it looked.
func (p *people) tell(limit int) (told string, pages int) {
	p.Helper()
	var s []string
	for after := im.UserID(""); ; pages++ {
		changed, ps, err := p.db.TellProfile(p.ctx, after, limit, func(owner, changed im.UserID) im.Promise {
			return p.promise(im.Me(owner), changed, im.Event{Type: im.EventContactProfile, Users: []im.UserID{changed}})
		})
		p.ok(err)
		if changed == "" && after == "" {
			return strings.Join(s, " "), pages
		}
		after = changed
		for _, x := range ps {
			owner, _ := x.Conversation.MeUser()
			s = append(s, string(owner+"<"+x.Sender))
		}
	}
}

// Contacts are told, page by page, each once for a change; who blocked, or is blocked,
// is not; a change in between is told to all once more; settings are told to nobody.
func profileNews(p *people) {
	p.users("me", "a", "b", "c", "d", "e", "f")
	friend := func(u im.UserID) im.Contact { return im.Contact{User: u, State: im.ContactFriend} }
	for _, u := range []im.UserID{"a", "b", "c", "d"} {
		p.pair(friend(u), friend("me"))
	}
	p.pair(im.Contact{User: "a", State: im.ContactFriend}, im.Contact{User: "me", State: im.ContactFriend, Blocked: true})
	p.pair(im.Contact{User: "b", State: im.ContactFriend, Blocked: true}, friend("me")) // me blocked b
	p.pair(im.Contact{User: "e", State: im.ContactAsked, Asked: at}, im.Contact{User: "me", State: im.ContactAsksMe, Asked: at})
	p.pair(friend("a"), im.Contact{User: "f", State: im.ContactFriend})
	change := func(u im.UserID, about string) {
		_, err := p.db.UpdateUser(p.ctx, u, im.ProfileChange{About: &about})
		p.ok(err)
	}
	before := p.revisions("a", "b", "c", "d", "e")
	change("me", "1")
	change("me", "1")
	change("me", "2")
	told, _ := p.tell(2)
	equal(p, "told", told, "c<me d<me c<me d<me") // once more: it changed again before it was told
	equal(p, "revisions", p.revisions("a", "b", "c", "d", "e"), []uint64{before[0], before[1], before[2] + 2, before[3] + 2, before[4]})
	equal(p, "waiting", len(p.pending()), 4)
	since, err := p.db.ContactsSince(p.ctx, "c", before[2], 10)
	p.ok(err)
	equal(p, "c's changes", fmt.Sprint(len(since), " ", since[0].User, " ", since[0].State), "1 me 1")
	told, pages := p.tell(2)
	equal(p, "again", told+fmt.Sprint(pages), "0")

	change("me", "3")
	change("a", "x")
	told, _ = p.tell(2)
	equal(p, "in turns", told, "f<a c<me d<me")
	_, err = p.db.UpdateUser(p.ctx, "me", im.ProfileChange{DM: im.DMEveryone})
	p.ok(err)
	told, _ = p.tell(2)
	equal(p, "of a setting", told, "")
}

func (p *people) revisions(us ...im.UserID) (all []uint64) {
	p.Helper()
	for _, u := range us {
		r, _, err := p.db.ContactRevision(p.ctx, u)
		p.ok(err)
		all = append(all, r)
	}
	return all
}

// Two nodes tell of the same change: each contact is told once.
func profileNewsRaced(p *people) {
	var ids []im.UserID
	for i := range 40 {
		ids = append(ids, im.UserID(fmt.Sprintf("u%02d", i)))
	}
	p.users(append(ids, "me")...)
	for _, u := range ids {
		p.pair(im.Contact{User: u, State: im.ContactFriend}, im.Contact{User: "me", State: im.ContactFriend})
	}
	name := "another"
	_, err := p.db.UpdateUser(p.ctx, "me", im.ProfileChange{DisplayName: &name})
	p.ok(err)
	var mu sync.Mutex
	told := map[im.ConversationID]int{}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for after := im.UserID(""); ; {
				changed, ps, err := p.db.TellProfile(p.ctx, after, 3, func(owner, changed im.UserID) im.Promise {
					mu.Lock()
					defer mu.Unlock()
					return p.promise(im.Me(owner), changed, im.Event{Type: im.EventContactProfile, Users: []im.UserID{changed}})
				})
				if err != nil {
					p.Error(err)
					return
				}
				if changed == "" && after == "" {
					return
				}
				after = changed
				mu.Lock()
				for _, x := range ps {
					told[x.Conversation]++
				}
				mu.Unlock()
			}
		})
	}
	both.Wait()
	for _, u := range ids {
		equal(p, "told "+string(u), told[im.Me(u)], 1)
	}
}
