package postgres_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// Processes that start together on an empty database migrate it once; one from
// the future is refused.
func TestOpenTogether(t *testing.T) {
	u := pgtest.Database(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			d, err := postgres.Open(t.Context(), u, postgres.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	pgtest.Exec(t, u, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE); UPDATE directory_compatible SET least = 99999")
	_, err := postgres.Open(t.Context(), u, postgres.Options{})
	if err == nil || !strings.Contains(err.Error(), "newer version") || !strings.Contains(err.Error(), "99999") {
		t.Errorf("a newer schema was answered with %v", err)
	}
}

// Lists are in the order of the ids' bytes where the database sorts as people do.
func TestOrderOfBytes(t *testing.T) {
	base := pgtest.Database(t)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/") + "_icu"
	pgtest.Exec(t, base, "CREATE DATABASE "+name+" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'")
	t.Cleanup(func() { pgtest.Exec(t, base, "DROP DATABASE "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	d := open(t, u.String())
	want := []im.UserID{"-", "A", "Z", "_", "a", "aB", "ab", "z"}
	at := time.UnixMilli(1)
	if err := d.CreateUser(t.Context(), someone("me")); err != nil {
		t.Fatal(err)
	}
	for _, id := range want {
		if err := d.CreateUser(t.Context(), someone(string(id))); err != nil {
			t.Fatal(err)
		}
		if _, err := d.UpdateContacts(t.Context(), "me", id, func(a, _ *im.Contact) ([]im.Promise, error) {
			a.State = im.ContactFriend
			return nil, nil
		}); err != nil {
			t.Fatal(err)
		}
		p := im.Promise{ID: im.NewMessageID(at, [10]byte{byte(len(id)), id[0]}), Conversation: im.Group("g" + string(id)), Sender: "me", Event: im.Event{Type: im.EventGroupCreated, Users: want, Text: "g"}, SetRoster: 1}
		p.ID[15] = id[len(id)-1]
		if _, err := d.CreateGroup(t.Context(), im.GroupInfo{Conversation: p.Conversation, Name: "g", Owner: "me"}, "", p); err != nil {
			t.Fatal(err)
		}
		if err := d.Apply(t.Context(), p, 1); err != nil {
			t.Fatal(err)
		}
	}
	page := func(what string, next func(after im.UserID) ([]im.UserID, error)) {
		t.Helper()
		var got []im.UserID
		for after := im.UserID(""); ; {
			ids, err := next(after)
			if err != nil {
				t.Fatal(err)
			}
			if len(ids) == 0 {
				break
			}
			got = append(got, ids...)
			after = ids[len(ids)-1]
		}
		if got = slices.DeleteFunc(got, func(u im.UserID) bool { return u == "me" }); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	page("users", func(after im.UserID) (ids []im.UserID, err error) {
		users, err := d.ListUsers(t.Context(), im.AccountQuery{After: after, Limit: 3})
		for _, x := range users {
			ids = append(ids, x.ID)
		}
		return ids, err
	})
	page("contacts", func(after im.UserID) (ids []im.UserID, err error) {
		list, err := d.Contacts(t.Context(), "me", after, time.Time{}, 3)
		for _, x := range list {
			ids = append(ids, x.User)
		}
		return ids, err
	})
	page("members", func(after im.UserID) (ids []im.UserID, err error) {
		list, _, err := d.MembersPage(t.Context(), im.Group("gA"), im.MemberQuery{Role: im.RoleMember, After: im.MemberPlace{Role: im.RoleMember, Joined: at, User: after}, Limit: 3})
		for _, x := range list {
			ids = append(ids, x.User)
		}
		return ids, err
	})
	list, _, err := d.Memberships(t.Context(), "ab")
	if err != nil || !slices.IsSortedFunc(list, func(a, b im.Membership) int { return strings.Compare(string(a.Conversation), string(b.Conversation)) }) || len(list) != len(want) {
		t.Errorf("memberships %v, %v", list, err)
	}
}

// processes are several directories over one database, used in turn.
type processes struct {
	*testing.T
	dbs []*directory.DB
	ids atomic.Uint64
}

func several(t *testing.T, n int) *processes {
	u := pgtest.Database(t)
	p := &processes{T: t}
	for range n {
		p.dbs = append(p.dbs, open(t, u))
	}
	return p
}

func (p *processes) id() (id im.MessageID) {
	n := p.ids.Add(1)
	return im.NewMessageID(time.UnixMilli(1_700_000_000_000), [10]byte{0, 0, 0, 0, byte(n >> 16), byte(n >> 8), byte(n)})
}

func (p *processes) ok(err error) {
	p.Helper()
	if err != nil {
		p.Error(err)
	}
}

// Many make the same group, and change it, through several processes: every
// revision is made once, and the roster is what came of them one by one.
func TestGroupsBySeveral(t *testing.T) {
	p := several(t, 2)
	ctx := t.Context()
	const users, rounds = 6, 8
	c := im.Group("abc")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			d := p.dbs[i%2]
			own := im.Group(fmt.Sprintf("own%d", i))
			promise := im.Promise{ID: p.id(), Conversation: own, Sender: "owner", Event: im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"owner"}, Text: "g"}, SetRoster: 1}
			made, err := d.CreateGroup(ctx, im.GroupInfo{Conversation: own, Name: "g", Owner: "owner"}, "once", promise)
			p.ok(err)
			pending, err := d.PendingOf(ctx, made)
			p.ok(err)
			for _, x := range pending {
				p.ok(d.Apply(ctx, x, 1))
			}
		})
	}
	all.Wait()
	first := im.Promise{ID: p.id(), Conversation: c, Sender: "owner", Event: im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"owner"}, Text: "g"}, SetRoster: 1}
	_, err := p.dbs[0].CreateGroup(ctx, im.GroupInfo{Conversation: c, Name: "g", Owner: "owner"}, "another", first)
	p.ok(err)
	p.ok(p.dbs[1].Apply(ctx, first, 1))
	var changes atomic.Uint64
	for u := range users {
		all.Go(func() {
			user := im.UserID(fmt.Sprint("u", u))
			for i := range rounds {
				d := p.dbs[(u+i)%2]
				for done := false; !done; {
					g, members, err := d.Group(ctx, c, []im.UserID{user})
					p.ok(err)
					e := im.Event{Type: im.EventMemberAdded, Users: []im.UserID{user}, Role: im.RoleMember}
					if len(members) > 0 {
						e = im.Event{Type: im.EventMemberLeft, Users: []im.UserID{user}}
					}
					mine := im.Promise{ID: p.id(), Conversation: c, Sender: user, Event: e, IfRoster: g.Rev, SetRoster: g.Rev + 1}
					done, err = d.PromiseRoster(ctx, mine)
					p.ok(err)
					if done {
						changes.Add(1)
					}
					// Whoever finds a promise applies it, in both processes at once.
					pending, err := d.PendingOf(ctx, c)
					p.ok(err)
					for _, x := range pending {
						var both sync.WaitGroup
						for _, d := range p.dbs {
							both.Go(func() { p.ok(d.Apply(ctx, x, x.SetRoster)) })
						}
						both.Wait()
					}
				}
			}
		})
	}
	all.Wait()
	for _, d := range p.dbs {
		g, members, err := d.Group(ctx, c, []im.UserID{"owner", "u0", "u1"})
		p.ok(err)
		if g.Rev != 1+users*rounds || changes.Load() != users*rounds || g.Members != 1 || len(members) != 1 {
			t.Errorf("revision %d after %d changes, %d members %v", g.Rev, changes.Load(), g.Members, members)
		}
		m, found, err := d.Membership(ctx, "u3", c)
		if err != nil || !found || m.First == 0 || m.Until < m.First || m.Title != "g" {
			t.Errorf("the place of one who left: %+v %v %v", m, found, err)
		}
	}
	groups, err := p.dbs[0].GroupRevisions(ctx, "", 100)
	if err != nil || len(groups) != 2 {
		t.Errorf("a creation that was repeated made %d groups, %v", len(groups)-1, err)
	}
}

// Promises of many writers get places of their own, in the order of the
// decisions about a pair, and none is taken for another's.
func TestPromisesBySeveral(t *testing.T) {
	p := several(t, 2)
	ctx := t.Context()
	const pairs, rounds = 6, 10
	for i := range 2 * pairs {
		p.ok(p.dbs[0].CreateUser(ctx, someone(fmt.Sprint("u", i))))
	}
	var all sync.WaitGroup
	for i := range pairs {
		a, b := im.UserID(fmt.Sprint("u", 2*i)), im.UserID(fmt.Sprint("u", 2*i+1))
		for k, pair := range [][2]im.UserID{{a, b}, {b, a}} {
			all.Go(func() {
				for r := range rounds {
					_, err := p.dbs[(k+r)%2].UpdateContacts(ctx, pair[0], pair[1], func(mine, theirs *im.Contact) ([]im.Promise, error) {
						mine.State, theirs.State = im.ContactFriend, im.ContactFriend
						n := len(mine.Remark)
						mine.Remark += "x"
						theirs.Remark = mine.Remark
						// Everybody's feed at once is one's own; all write to u0's.
						return []im.Promise{
							{ID: p.id(), Conversation: im.Me(a), Sender: pair[0], Event: im.Event{Type: im.EventContactRequested, Text: fmt.Sprint(n)}},
							{ID: p.id(), Conversation: im.Me("everybody"), Sender: pair[0], Event: im.Event{Type: im.EventContactAccepted}},
						}, nil
					})
					p.ok(err)
				}
			})
		}
	}
	all.Wait()
	for i := range pairs {
		of, err := p.dbs[1].PendingOf(ctx, im.Me(im.UserID(fmt.Sprint("u", 2*i))))
		p.ok(err)
		for n, x := range of {
			if x.Event.Text != fmt.Sprint(n) {
				t.Fatalf("promise %d of a pair is the one of decision %s", n, x.Event.Text)
			}
		}
		if len(of) != 2*rounds {
			t.Errorf("%d promises, want %d", len(of), 2*rounds)
		}
	}
	got := 0
	for after := int64(0); ; {
		page, last, err := p.dbs[0].Pending(ctx, after, 7)
		p.ok(err)
		if len(page) == 0 {
			break
		}
		if last <= after {
			t.Fatal("places repeat")
		}
		got, after = got+len(page), last
	}
	if got != pairs*2*rounds*2 {
		t.Errorf("%d promises, want %d", got, pairs*2*rounds*2)
	}
}

// Logins, exchanges of tokens, ends and signs of life through several processes.
func TestSessionsBySeveral(t *testing.T) {
	p := several(t, 2)
	ctx := t.Context()
	hash := func(s string) (h im.TokenHash) { copy(h[:], s); return h }
	user := someone("u1")
	user.PasswordHash = "p0"
	p.ok(p.dbs[0].CreateUser(ctx, user))
	var all sync.WaitGroup
	var rotated, opened, changed atomic.Int64
	for w := range 6 {
		all.Go(func() {
			for i := range 6 {
				d := p.dbs[(w+i)%2]
				s := fmt.Sprintf("s%d-%d", w, i)
				err := d.OpenSession(ctx, im.SessionOpening{
					Session: im.Session{ID: im.SessionID(s), User: "u1"}, Expires: time.UnixMilli(1e9), IfPasswordHash: "p0",
					Tokens: []im.Token{{Hash: hash("r" + s), Kind: im.TokenRefresh, Expires: time.UnixMilli(1e9)}},
				})
				if im.CodeOf(err) == im.CodeConflict {
					continue // the password was changed
				}
				p.ok(err)
				opened.Add(1)
				var both sync.WaitGroup
				for k, d := range p.dbs { // one of two exchanges wins
					both.Go(func() {
						err := d.RotateTokens(ctx, im.TokenRotation{Session: im.SessionID(s), Old: hash("r" + s), At: time.UnixMilli(5), Nonce: []byte("n"), Expires: time.UnixMilli(1e9),
							Tokens: []im.Token{{Hash: hash(fmt.Sprint("r", s, "/", k)), Kind: im.TokenRefresh, Parent: hash("r" + s)}}})
						switch im.CodeOf(err) {
						case "":
							rotated.Add(1)
						case im.CodeConflict, im.CodeNotFound: // lost, or ended by the change of the password
						default:
							t.Error(err)
						}
					})
					both.Go(func() {
						p.ok(d.SessionsSeen(ctx, []im.SessionSeen{
							{Session: im.SessionID(fmt.Sprintf("s%d-0", (w+1)%6)), At: time.UnixMilli(int64(i))}, {Session: im.SessionID(s), At: time.UnixMilli(int64(i))},
							{Session: im.SessionID(fmt.Sprintf("s%d-0", w)), At: time.UnixMilli(int64(i))}}))
					})
				}
				both.Wait()
				if i == 3 && w < 2 {
					_, err := d.ChangePassword(ctx, "u1", "p0", "p1", "", time.UnixMilli(7))
					if err == nil {
						changed.Add(1)
					} else if im.CodeOf(err) != im.CodeConflict {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if changed.Load() != 1 {
		t.Errorf("the password was changed %d times", changed.Load())
	}
	if rotated.Load() > opened.Load() {
		t.Errorf("%d exchanges of %d tokens", rotated.Load(), opened.Load())
	}
	// No session that was opened with the old password outlives it.
	left, err := p.dbs[1].Sessions(ctx, "u1", time.UnixMilli(1))
	if err != nil || len(left) != 0 {
		t.Errorf("sessions %v, %v", left, err)
	}
}
