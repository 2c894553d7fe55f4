package group_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox"
	"github.com/skein-im/skein/internal/outbox/outboxtest"
)

func TestLife(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "b", "c")
	g, err := w.Create(t.Context(), actor("o"), "friends", []im.UserID{"a", "b", "a", "o"}, "r1")
	w.ok(err)
	c := g.Conversation
	if c.Kind() != im.KindGroup || len(c) < len("grp:")+16 {
		t.Fatalf("conversation %q", c)
	}
	want := group.Group{Conversation: c, Name: "friends", Owner: "o", Members: 3, Created: w.now, Role: im.RoleOwner, Rev: 1, Settings: im.NewGroupSettings()}
	if !reflect.DeepEqual(g, want) {
		t.Fatalf("created %+v", g)
	}
	e := w.journal.Entries(c)[0]
	if e.Event.Type != im.EventGroupCreated || e.Sender != "o" || e.Event.Text != "friends" || !slices.Equal(e.Event.Users, []im.UserID{"o", "a", "b"}) {
		t.Fatalf("entry %+v", e)
	}
	added, _, err := w.Add(t.Context(), actor("o"), c, []im.UserID{"c", "a"})
	if err != nil || !slices.Equal(added, []im.UserID{"c"}) {
		t.Fatal(added, err)
	}
	w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
	removed, err := w.Remove(t.Context(), actor("a"), c, []im.UserID{"b", "ghost"})
	if err != nil || !slices.Equal(removed, []im.UserID{"b"}) {
		t.Fatal(removed, err)
	}
	w.ok(w.Transfer(t.Context(), actor("o"), c, "c"))
	w.ok(w.Leave(t.Context(), actor("o"), c))
	g, err = w.Rename(t.Context(), actor("a"), c, "朋友")
	w.ok(err)
	want = group.Group{Conversation: c, Name: "朋友", Owner: "c", Members: 2, Created: w.now, Role: im.RoleAdmin, Rev: 7, Settings: im.NewGroupSettings()}
	if !reflect.DeepEqual(g, want) {
		t.Fatalf("in the end %+v", g)
	}
	list, next, err := w.List(t.Context(), actor("c"), c, im.RoleNone, "", 0, "")
	if err != nil || next != "" || !reflect.DeepEqual(list, []group.Member{
		{User: "c", Role: im.RoleOwner, Joined: w.now}, {User: "a", Role: im.RoleAdmin, Joined: w.now},
	}) {
		t.Fatal(list, next, err)
	}
	w.agrees(c)
}

// What is so already makes no entry.
func TestNothingToDoMakesNoEntry(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a")
	c := w.create("o", "a")
	_, err := w.Rename(t.Context(), actor("o"), c, "friends")
	w.ok(err)
	_, _, err = w.Add(t.Context(), actor("o"), c, []im.UserID{"a", "o", "ghost"})
	w.ok(err)
	w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleMember))
	w.ok(w.Mute(t.Context(), actor("o"), c, "a", time.Time{}))
	w.ok(w.Mute(t.Context(), actor("o"), c, "a", w.now.Add(-time.Hour)))
	if n := len(w.journal.Entries(c)); n != 1 {
		t.Fatalf("%d entries", n)
	}
}

func TestBadArguments(t *testing.T) {
	w := newWorld(t, group.Options{MaxMembers: 5}, "o", "a", "b", "c", "d", "e")
	c := w.create("o", "a")
	create := func(name string, request string, members ...im.UserID) error {
		_, err := w.Create(t.Context(), actor("o"), name, members, request)
		return err
	}
	add := func(users ...im.UserID) error {
		_, _, err := w.Add(t.Context(), actor("o"), c, users)
		return err
	}
	list := func(limit int, cursor string) error {
		_, _, err := w.List(t.Context(), actor("o"), c, im.RoleNone, "", limit, cursor)
		return err
	}
	get := func(c im.ConversationID) error {
		_, err := w.Get(t.Context(), actor("o"), c)
		return err
	}
	_, dmSend := w.MaySend(t.Context(), "a", im.DM("a", "o"))
	_, noneSend := w.MaySend(t.Context(), "a", "grp:none")
	for _, x := range []struct {
		name string
		err  error
		code im.Code
	}{
		{"no name", create("", ""), im.CodeInvalidArgument},
		{"a blank name", create(" \u3000", ""), im.CodeInvalidArgument},
		{"a long name", create(strings.Repeat("群", 65), ""), im.CodeTooLarge},
		{"the longest name", create(strings.Repeat("群", 64), ""), ""},
		{"a broken name", create("\xff", ""), im.CodeInvalidArgument},
		{"a name with a control character", create("a\nb", ""), im.CodeInvalidArgument},
		{"a bad request id", create("x", "a b"), im.CodeInvalidArgument},
		{"a bad member", create("x", "", "a.b"), im.CodeInvalidArgument},
		{"too many to begin with", create("x", "", "a", "b", "c", "d", "e"), im.CodeTooLarge},
		{"too many added", add("b", "c", "d", "e"), im.CodeTooLarge},
		{"just as many", add("b", "c", "d"), ""},
		{"too many in a call", add(make([]im.UserID, 1001)...), im.CodeTooLarge},
		{"an empty user", add(""), im.CodeInvalidArgument},
		{"role owner", w.SetRole(t.Context(), actor("o"), c, "a", im.RoleOwner), im.CodeInvalidArgument},
		{"role none", w.SetRole(t.Context(), actor("o"), c, "a", im.RoleNone), im.CodeInvalidArgument},
		{"role of a bad user", w.SetRole(t.Context(), actor("o"), c, "", im.RoleAdmin), im.CodeInvalidArgument},
		{"limit", list(1001, ""), im.CodeInvalidArgument},
		{"negative limit", list(-1, ""), im.CodeInvalidArgument},
		{"cursor", list(1, "'"), im.CodeInvalidArgument},
		{"no such group", get("grp:none"), im.CodeNotFound},
		{"not a group", get(im.DM("a", "o")), im.CodeNotFound},
		{"send to no group", noneSend, im.CodeNotFound},
		{"send to a dm", dmSend, im.CodeNotFound},
	} {
		if got := im.CodeOf(x.err); got != x.code {
			t.Errorf("%s: %v, want %q", x.name, x.err, x.code)
		}
	}
}

// Who does not exist or has blocked the actor is left out, and nobody is told why.
func TestBlockedAreSkipped(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "blocks", "blocked")
	w.block("blocks", "o")
	w.block("o", "blocked")
	g, err := w.Create(t.Context(), actor("o"), "x", []im.UserID{"blocks", "ghost", "a"}, "")
	w.ok(err)
	added, _, err := w.Add(t.Context(), actor("o"), g.Conversation, []im.UserID{"blocks", "ghost", "blocked"})
	if err != nil || !slices.Equal(added, []im.UserID{"blocked"}) {
		t.Fatal(added, err)
	}
	if got := w.members(g.Conversation); !slices.Equal(got, []im.UserID{"a", "blocked", "o"}) {
		t.Fatal(got)
	}
}

func TestThousandsInOneCall(t *testing.T) {
	var users []im.UserID
	for i := range 1000 {
		users = append(users, im.UserID(fmt.Sprintf("u%03d", i)))
	}
	w := newWorld(t, group.Options{}, "o")
	w.store.everyone = true
	c := w.create("o")
	added, _, err := w.Add(t.Context(), actor("o"), c, users)
	if err != nil || !slices.Equal(added, users) {
		t.Fatal(len(added), err)
	}
	whole := w.create("o", users...)
	removed, err := w.Remove(t.Context(), actor("o"), c, users[:700])
	if err != nil || !slices.Equal(removed, users[:700]) {
		t.Fatal(len(removed), err)
	}
	for c, want := range map[im.ConversationID][]int{c: {1, 500, 500, 500, 200}, whole: {1001}} {
		var got []int
		for _, e := range w.journal.Entries(c) {
			got = append(got, len(e.Event.Users))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("users of the entries: %v, want %v", got, want)
		}
		w.agrees(c)
	}
	var listed []im.UserID
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := w.List(t.Context(), actor("o"), whole, im.RoleNone, "", 333, cursor)
		w.ok(err)
		for _, m := range page {
			listed = append(listed, m.User)
		}
		cursor = next
	}
	if !slices.Equal(listed, append([]im.UserID{"o"}, users...)) {
		t.Fatalf("%d listed", len(listed))
	}
}

func TestMute(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	w.ok(w.Mute(t.Context(), actor("o"), c, "m", w.now.Add(time.Minute)))
	rev, err := w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeMuted)
	if rev != 2 {
		t.Fatalf("revision %d", rev)
	}
	w.ok(w.MayRecall(t.Context(), "m", c, "m"))
	w.now = w.now.Add(time.Minute)
	_, err = w.MaySend(t.Context(), "m", c)
	w.ok(err)
	w.ok(w.Mute(t.Context(), actor("o"), c, "m", w.now.Add(time.Hour)))
	_, err = w.MaySend(t.Context(), "m", c)
	w.wantCode(err, im.CodeMuted)
	w.ok(w.Mute(t.Context(), actor("o"), c, "m", time.Time{}))
	_, err = w.MaySend(t.Context(), "m", c)
	w.ok(err)
	w.agrees(c)
}

// Who is added again sees from there.
func TestAddedAgain(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "m")
	c := w.create("o", "m")
	w.ok(w.Leave(t.Context(), actor("m"), c))
	_, _, err := w.Add(t.Context(), actor("o"), c, []im.UserID{"m"})
	w.ok(err)
	place, _, err := w.store.Membership(t.Context(), "m", c)
	w.ok(err)
	if place.First != 3 || place.Until != 0 {
		t.Fatalf("%+v", place)
	}
	w.agrees(c)
}

func TestCreateTwiceAtOnce(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "p")
	services := []*group.Service{w.Service, w.another(group.Options{})}
	got := make([]group.Group, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			var err error
			got[i], err = services[i%2].Create(t.Context(), actor("o"), "x", []im.UserID{"a"}, "same")
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, g := range got {
		if !reflect.DeepEqual(g, got[0]) {
			t.Fatalf("two groups: %+v, %+v", g, got[0])
		}
	}
	if n := len(w.journal.Entries(got[0].Conversation)); n != 1 {
		t.Fatalf("%d entries", n)
	}
	other, err := w.Create(t.Context(), actor("p"), "x", nil, "same")
	w.ok(err)
	if other.Conversation == got[0].Conversation {
		t.Fatal("another owner got the same group")
	}
}

// changes are all kinds of roster changes, for the tests of crashes.
var changes = []struct {
	name string
	do   func(ctx context.Context, s *group.Service, c im.ConversationID) error
}{
	{"rename", func(ctx context.Context, s *group.Service, c im.ConversationID) error {
		_, err := s.Rename(ctx, actor("o"), c, "other")
		return err
	}},
	{"add", func(ctx context.Context, s *group.Service, c im.ConversationID) error {
		_, _, err := s.Add(ctx, actor("o"), c, []im.UserID{"x", "y"})
		return err
	}},
	{"remove", func(ctx context.Context, s *group.Service, c im.ConversationID) error {
		_, err := s.Remove(ctx, actor("o"), c, []im.UserID{"a", "b"})
		return err
	}},
	{"leave", func(ctx context.Context, s *group.Service, c im.ConversationID) error {
		return s.Leave(ctx, actor("a"), c)
	}},
	{"role", func(ctx context.Context, s *group.Service, c im.ConversationID) error {
		return s.SetRole(ctx, actor("o"), c, "a", im.RoleAdmin)
	}},
	{"transfer", func(ctx context.Context, s *group.Service, c im.ConversationID) error {
		return s.Transfer(ctx, actor("o"), c, "a")
	}},
	{"mute", func(ctx context.Context, s *group.Service, c im.ConversationID) error {
		return s.Mute(ctx, actor("o"), c, "a", time.UnixMilli(1_900_000_000_000))
	}},
}

var steps = []outboxtest.Step{outboxtest.Promised, outboxtest.Appended, outboxtest.Applied}

// A crash after any step of any change: the caller hears `unknown`, the restart
// finishes the change, once.
func TestCrashAndRestart(t *testing.T) {
	shared := newWorld(t, group.Options{}, "o", "a", "b", "x", "y")
	for _, change := range changes {
		for _, step := range steps {
			t.Run(fmt.Sprintf("%s/%d", change.name, step), func(t *testing.T) {
				w := *shared
				w.t = t
				c := w.create("o", "a", "b")
				w.journal.Stop = func(s outboxtest.Step, _ im.Promise) bool { return s == step }
				w.wantCode(change.do(t.Context(), w.Service, c), im.CodeUnknown)
				w.restart()
				if n := len(w.journal.Entries(c)); n != 2 {
					t.Fatalf("%d entries", n)
				}
				w.agrees(c)
				rev, err := w.MaySend(t.Context(), "o", c)
				w.ok(err)
				if rev != 2 {
					t.Fatalf("MaySend decides on revision %d", rev)
				}
			})
		}
	}
}

// An operation that finds the promise of one that crashed finishes it first.
func TestNextOperationFinishesCrashedOne(t *testing.T) {
	for _, step := range steps {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			w := newWorld(t, group.Options{}, "o", "a", "b")
			c := w.create("o", "a", "b")
			w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
			w.journal.Stop = func(s outboxtest.Step, _ im.Promise) bool { return s == step }
			_, err := w.Remove(t.Context(), actor("o"), c, []im.UserID{"a"})
			w.wantCode(err, im.CodeUnknown)
			w.journal.Stop = nil
			// The admin whose removal is promised does not get in before it.
			_, err = w.Rename(t.Context(), actor("a"), c, "mine")
			w.wantCode(err, im.CodeNotFound)
			_, err = w.Rename(t.Context(), actor("o"), c, "ours")
			w.ok(err)
			w.agrees(c)
		})
	}
}

// While a promise cannot be driven, others are told to come again, and nothing
// of theirs happens.
func TestStuckPromise(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a")
	c := w.create("o", "a")
	w.journal.Stop = func(outboxtest.Step, im.Promise) bool { return true }
	_, err := w.Rename(t.Context(), actor("o"), c, "one")
	w.wantCode(err, im.CodeUnknown)
	_, err = w.Rename(t.Context(), actor("o"), c, "two")
	w.wantCode(err, im.CodeConflict)
	w.restart()
	g, err := w.Get(t.Context(), actor("o"), c)
	w.ok(err)
	if g.Name != "one" {
		t.Fatalf("name %q", g.Name)
	}
	w.agrees(c)
}

func TestCreateCrash(t *testing.T) {
	for _, step := range steps {
		for _, replay := range []bool{false, true} {
			t.Run(fmt.Sprint(step, replay), func(t *testing.T) {
				w := newWorld(t, group.Options{}, "o", "a")
				w.journal.Stop = func(s outboxtest.Step, _ im.Promise) bool { return s == step }
				_, err := w.Create(t.Context(), actor("o"), "x", []im.UserID{"a"}, "r")
				w.wantCode(err, im.CodeUnknown)
				w.journal.Stop = nil
				if replay {
					w.restart()
				}
				g, err := w.Create(t.Context(), actor("o"), "x", []im.UserID{"a"}, "r")
				w.ok(err)
				if g.Members != 2 || g.Rev != 1 || len(w.journal.Entries(g.Conversation)) != 1 {
					t.Fatalf("%+v", g)
				}
				w.agrees(g.Conversation)
			})
		}
	}
}

// The caller goes away after the promise: the change is finished all the same.
func TestCallerGoesAway(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a")
	c := w.create("o", "a")
	ctx, cancel := context.WithCancel(t.Context())
	w.store.promised = cancel
	w.ok(w.SetRole(ctx, actor("o"), c, "a", im.RoleAdmin))
	w.agrees(c)
	if err := w.Leave(ctx, actor("a"), c); err == nil {
		t.Fatal("a cancelled call began something")
	}
	w.agrees(c)
}

// Two admins cannot remove each other, also not at the same time.
func TestAdminsRemoveEachOther(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "b")
	c := w.create("o", "a", "b")
	w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
	w.ok(w.SetRole(t.Context(), actor("o"), c, "b", im.RoleAdmin))
	var wg sync.WaitGroup
	for _, pair := range [][2]im.UserID{{"a", "b"}, {"b", "a"}} {
		wg.Go(func() {
			if _, err := w.Remove(t.Context(), actor(pair[0]), c, []im.UserID{pair[1]}); im.CodeOf(err) != im.CodePermissionDenied {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.agrees(c)
}

// An admin removes a member while the owner removes the admin: done before the
// admin's own removal, or not at all.
func TestRemovalsRace(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a", "b")
	services := []*group.Service{w.Service, w.another(group.Options{})}
	for range 20 {
		c := w.create("o", "a", "b")
		w.ok(w.SetRole(t.Context(), actor("o"), c, "a", im.RoleAdmin))
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = services[0].Remove(t.Context(), actor("o"), c, []im.UserID{"a"}) })
		wg.Go(func() { _, errs[1] = services[1].Remove(t.Context(), actor("a"), c, []im.UserID{"b"}) })
		wg.Wait()
		w.ok(errs[0])
		if code := im.CodeOf(errs[1]); code != "" && code != im.CodeNotFound {
			t.Fatal(errs[1])
		}
		if in := slices.Contains(w.members(c), "b"); in != (errs[1] != nil) {
			t.Fatalf("b is in: %v, the answer was %v", in, errs[1])
		}
		w.agrees(c)
	}
}

// An owner hands the group over while the heir leaves: never a group whose owner
// is no member.
func TestTransferRacesLeave(t *testing.T) {
	w := newWorld(t, group.Options{}, "o", "a")
	services := []*group.Service{w.Service, w.another(group.Options{})}
	for range 20 {
		c := w.create("o", "a")
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { errs[0] = services[0].Transfer(t.Context(), actor("o"), c, "a") })
		wg.Go(func() { errs[1] = services[1].Leave(t.Context(), actor("a"), c) })
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("transfer: %v, leave: %v", errs[0], errs[1])
		}
		g, _, err := w.store.Group(t.Context(), c, nil)
		w.ok(err)
		if !slices.Contains(w.members(c), g.Owner) {
			t.Fatalf("the owner %s is no member", g.Owner)
		}
		w.agrees(c)
	}
}

// Many add at the same time, through two processes: everyone is in, once.
func TestConcurrentAdds(t *testing.T) {
	var users []im.UserID
	for i := range 24 {
		users = append(users, im.UserID(fmt.Sprintf("u%02d", i)))
	}
	w := newWorld(t, group.Options{}, append(slices.Clone(users), "o")...)
	c := w.create("o")
	services := []*group.Service{w.Service, w.another(group.Options{})}
	var mu sync.Mutex
	var added []im.UserID
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			// Each adds its own two and two of its neighbour's.
			mine := []im.UserID{users[2*i], users[2*i+1], users[(2*i+2)%24], users[(2*i+3)%24]}
			for tries := 1; ; tries++ {
				got, _, err := services[i%2].Add(t.Context(), actor("o"), c, mine)
				mu.Lock()
				added = append(added, got...)
				mu.Unlock()
				if im.CodeOf(err) == im.CodeConflict && tries < 100 {
					continue
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	wg.Wait()
	slices.Sort(added)
	if !slices.Equal(added, users) {
		t.Fatalf("added %v", added)
	}
	w.agrees(c)
}

// Anybody does anything, through two processes, and drives stop at random: the
// directory is always what the journal tells, and nobody acts beyond their power.
func TestRandomHistories(t *testing.T) {
	users := []im.UserID{"a", "b", "c", "d", "e", "f"}
	shared := newWorld(t, group.Options{MaxMembers: 5}, users...)
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := *shared
			w.t = t
			r := rand.New(rand.NewPCG(seed, 1))
			c := w.create("a", "b", "c")
			services := []*group.Service{w.Service, w.another(group.Options{MaxMembers: 5})}
			for range 60 {
				step := outboxtest.Step(r.IntN(12)) // most are no step
				w.journal.Stop = func(s outboxtest.Step, _ im.Promise) bool { return s == step }
				s, by, u := services[r.IntN(2)], actor(users[r.IntN(6)]), users[r.IntN(6)]
				if g, _, err := w.store.Group(t.Context(), c, nil); err == nil && r.IntN(2) == 0 {
					by = actor(g.Owner) // the others are refused most of the time
				}
				var err error
				switch r.IntN(7) {
				case 0:
					_, err = s.Rename(t.Context(), by, c, fmt.Sprint(r.IntN(100)))
				case 1, 2:
					_, _, err = s.Add(t.Context(), by, c, []im.UserID{u, users[r.IntN(6)]})
				case 3:
					_, err = s.Remove(t.Context(), by, c, []im.UserID{u})
				case 4:
					err = s.SetRole(t.Context(), by, c, u, im.Role(1+r.IntN(2)))
				case 5:
					err = s.Mute(t.Context(), by, c, u, w.now.Add(time.Duration(r.IntN(2))*time.Hour))
				case 6:
					if err = s.Leave(t.Context(), by, c); r.IntN(3) == 0 {
						err = s.Transfer(t.Context(), by, c, u)
					}
				}
				if im.CodeOf(err) == im.CodeInternal {
					t.Fatal(err)
				}
				w.journal.Stop = nil
				if r.IntN(4) == 0 {
					_, err := outbox.New(w.store, w.journal, outbox.Options{}).Replay(t.Context())
					w.ok(err)
					w.agrees(c)
				}
			}
			w.restart()
			w.agrees(c)
			if n := len(w.journal.Entries(c)); n < 10 {
				t.Fatalf("only %d entries: the history is no test", n)
			}
		})
	}
}
