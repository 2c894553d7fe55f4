package contact_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox"
	"github.com/skein-im/skein/internal/outbox/outboxtest"
)

var now = time.UnixMilli(1_700_000_000_000)

// world is the service over a real directory and a journal in RAM.
type world struct {
	*contact.Service
	t       *testing.T
	tag     string // ends the user ids of this test in a shared world
	db      *directory.DB
	store   *store
	journal *outboxtest.Journal
	runner  *outbox.Runner
}

// store is the directory, counted and with a hook.
type store struct {
	*directory.DB
	tellHooks
	gates atomic.Int32
	notes atomic.Int32
	// beforeNote, if set, is what happens before somebody is noted to have written.
	beforeNote func()
	afterGate  func()
	// afterUpdate, if set, is what UpdateContacts returns once it is committed.
	afterUpdate func() error
}

func (s *store) UpdateContacts(ctx context.Context, user, peer im.UserID, decide func(mine, theirs *im.Contact) ([]im.Promise, error)) (bool, error) {
	found, err := s.DB.UpdateContacts(ctx, user, peer, decide)
	if err == nil && s.afterUpdate != nil {
		err = s.afterUpdate()
	}
	return found, err
}

func (s *store) Gate(ctx context.Context, from, to im.UserID) (im.DMPolicy, im.Contact, bool, error) {
	s.gates.Add(1)
	policy, side, found, err := s.DB.Gate(ctx, from, to)
	if s.afterGate != nil {
		s.afterGate()
	}
	return policy, side, found, err
}

func (s *store) NoteWrote(ctx context.Context, from, to im.UserID) error {
	s.notes.Add(1)
	if s.beforeNote != nil {
		s.beforeNote()
	}
	return s.DB.NoteWrote(ctx, from, to)
}

func newWorld(t *testing.T, users ...im.UserID) *world {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := &world{db: db, store: &store{DB: db}, journal: &outboxtest.Journal{}}
	w.runner = outbox.New(db, w.journal, outbox.Options{})
	w.Service = contact.New(w.store, w.store, w.runner, contact.Options{Now: func() time.Time { return now }})
	return w.with(t, "", users...)
}

// with returns the world for another test, with users of its own.
func (w *world) with(t *testing.T, tag string, users ...im.UserID) *world {
	t.Helper()
	mine := *w
	mine.t, mine.tag = t, tag
	for _, u := range users {
		err := w.db.CreateUser(t.Context(), im.Credentials{User: im.User{ID: mine.id(u), DisplayName: string(u), DMPolicy: im.DMContacts, Created: now}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return &mine
}

// page is List of all.
func (w *world) page(ctx context.Context, actor im.Actor, limit int, cursor string) ([]contact.Contact, string, error) {
	p, err := w.List(ctx, actor, limit, cursor, 0)
	return p.Contacts, p.Next, err
}

func (w *world) id(u im.UserID) im.UserID { return u + im.UserID(w.tag) }

func actor(u im.UserID) im.Actor { return im.Actor{User: u} }

// do runs `a asks b`, `b accepts a` and so on.
func (w *world) do(line string) error {
	f := strings.Fields(line)
	a, u, ctx := actor(w.id(im.UserID(f[0]))), w.id(im.UserID(f[2])), w.t.Context()
	switch f[1] {
	case "asks":
		_, err := w.Request(ctx, a, u, "hello")
		return err
	case "accepts":
		_, err := w.Accept(ctx, a, u)
		return err
	case "refuses":
		return w.Refuse(ctx, a, u)
	case "removes":
		return w.Remove(ctx, a, u)
	case "blocks":
		return w.Block(ctx, a, u)
	case "unblocks":
		return w.Unblock(ctx, a, u)
	case "remarks":
		return w.SetRemark(ctx, a, u, "boss")
	}
	w.t.Fatalf("what is %q?", line)
	return nil
}

// sees tells what one side has of the other, like `asked "hello" blocked`.
func (w *world) sees(u, peer im.UserID) string {
	w.t.Helper()
	list, _, err := w.page(w.t.Context(), actor(w.id(u)), 0, "")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range list {
		if c.User != w.id(peer) {
			continue
		}
		s := [...]string{1: "friend", 2: "asked", 3: "asks me", 4: "none"}[c.State]
		if c.Message != "" {
			s += " " + c.Message
		}
		if c.Blocked {
			s += " blocked"
		}
		return s
	}
	return "-"
}

// feed tells a user's notices, like `a requested b`.
func (w *world) feed(u im.UserID) string {
	var lines []string
	for _, p := range w.journal.Entries(im.Me(w.id(u))) {
		what := map[im.EventType]string{
			im.EventContactRequested: "requested", im.EventContactAccepted: "accepted",
			im.EventContactRefused: "refused", im.EventContactRemoved: "removed",
			im.EventContactBlocked: "blocked", im.EventContactUnblocked: "unblocked", im.EventContactRemarked: "remarked",
			im.EventContactProfile: "shows", im.EventContactTagged: "tagged", im.EventContactExpired: "expired",
		}[p.Event.Type]
		lines = append(lines, fmt.Sprintf("%s %s %s", p.Sender, what, p.Event.Users[0]))
	}
	return strings.ReplaceAll(strings.Join(lines, ", "), w.tag, "")
}

func wantCode(t *testing.T, err error, code im.Code) {
	t.Helper()
	if got := im.CodeOf(err); got != code {
		t.Fatalf("code %q, want %q (%v)", got, code, err)
	}
}

// stories are what two users do, and what each has and was told in the end.
// Every one is told twice: once as it is, once with every step repeated.
var stories = []struct {
	name         string
	steps        string
	a, b         string // what they see of the other
	feedA, feedB string
}{
	{"asked", "a asks b",
		"asked hello", "asks me hello", "a requested b", "a requested b"},
	{"accepted", "a asks b; b accepts a",
		"friend", "friend", "a requested b, b accepted a", "a requested b, b accepted a"},
	{"both ask", "a asks b; b asks a",
		"friend", "friend", "a requested b, b accepted a", "a requested b, b accepted a"},
	{"refused", "a asks b; b refuses a",
		"-", "-", "a requested b, b refused a", "a requested b, b refused a"},
	{"asked by the one who refused", "a asks b; b refuses a; b asks a",
		"asks me hello", "asked hello", "a requested b, b refused a, b requested a", "a requested b, b refused a, b requested a"},
	{"takes the request back", "a asks b; a removes b",
		"-", "-", "a requested b, a removed b", "a requested b, a removed b"},
	{"removed", "a asks b; b accepts a; b removes a",
		"-", "-", "a requested b, b accepted a, b removed a", "a requested b, b accepted a, b removed a"},
	{"nothing to refuse or remove", "a refuses b; a removes b", "-", "-", "", ""},
	{"only the asked refuses", "a asks b; a refuses b",
		"asked hello", "asks me hello", "a requested b", "a requested b"},
	{"blocked asks: as if pending", "b blocks a; a asks b",
		"asked hello", "none blocked", "a requested b", "b blocked a"},
	{"blocked takes it back", "b blocks a; a asks b; a removes b",
		"-", "none blocked", "a requested b, a removed b", "b blocked a"},
	{"blocked after asking", "a asks b; b blocks a",
		"asked hello", "none blocked", "a requested b", "a requested b, b blocked a"},
	{"asks again when the block is gone", "b blocks a; a asks b; b unblocks a; a asks b",
		"asked hello", "asks me hello", "a requested b", "b blocked a, b unblocked a, a requested b"},
	{"the one who blocked asks when the block is gone", "b blocks a; a asks b; b unblocks a; b asks a",
		"friend", "friend", "a requested b, b accepted a", "b blocked a, b unblocked a, b accepted a"},
	{"blocking a contact keeps it", "a asks b; b accepts a; b blocks a",
		"friend", "friend blocked", "a requested b, b accepted a", "a requested b, b accepted a, b blocked a"},
	{"removed by one who is blocked", "a asks b; b accepts a; b blocks a; a removes b",
		"-", "none blocked", "a requested b, b accepted a, a removed b", "a requested b, b accepted a, b blocked a, a removed b"},
	{"unblocked leaves nothing", "b blocks a; b unblocks a", "-", "-", "", "b blocked a, b unblocked a"},
	{"a remark is one's own", "a asks b; b accepts a; a remarks b",
		"friend", "friend", "a requested b, b accepted a, a remarked b", "a requested b, b accepted a"},
}

func TestStories(t *testing.T) {
	shared := newWorld(t)
	for i, s := range stories {
		for _, times := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s ×%d", s.name, times), func(t *testing.T) {
				w := shared.with(t, fmt.Sprintf("-%d-%d", i, times), "a", "b")
				for _, step := range strings.Split(s.steps, "; ") {
					for range times {
						if err := w.do(step); err != nil {
							t.Fatalf("%s: %v", step, err)
						}
					}
				}
				for _, x := range []struct{ what, got, want string }{
					{"a sees", w.sees("a", "b"), s.a},
					{"b sees", w.sees("b", "a"), s.b},
					{"a was told", w.feed("a"), s.feedA},
					{"b was told", w.feed("b"), s.feedB},
				} {
					if x.got != x.want {
						t.Errorf("%s %q, want %q", x.what, x.got, x.want)
					}
				}
			})
		}
	}
}

// Asking somebody who blocked the asker cannot be told from asking anybody.
func TestBlockIsNotRevealed(t *testing.T) {
	var seen []string
	for _, blocked := range []bool{false, true} {
		w := newWorld(t, "a", "b")
		if blocked {
			if err := w.do("b blocks a"); err != nil {
				t.Fatal(err)
			}
		}
		c, err := w.Request(t.Context(), actor("a"), "b", "hi")
		list, _, _ := w.page(t.Context(), actor("a"), 0, "")
		seen = append(seen, fmt.Sprint(c, err, list, w.feed("a"), w.MaySend(t.Context(), "a", "b")))
	}
	if seen[0] != seen[1] {
		t.Fatalf("differs:\n%s\n%s", seen[0], seen[1])
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, "a", "b")
	ctx := t.Context()
	request := func(a im.Actor, u im.UserID, text string) error {
		_, err := w.Request(ctx, a, u, text)
		return err
	}
	list := func(limit int, cursor string) error {
		_, _, err := w.page(ctx, actor("a"), limit, cursor)
		return err
	}
	_, acceptUnasked := w.Accept(ctx, actor("a"), "b")
	_, _, listAsNobody := w.page(ctx, im.Actor{Role: im.ServerOwner}, 0, "")
	for _, c := range []struct {
		name string
		err  error
		code im.Code
	}{
		{"oneself", request(actor("a"), "a", ""), im.CodePermissionDenied},
		{"nobody", request(actor("a"), "ghost", ""), im.CodeNotFound},
		{"a malformed id", request(actor("a"), "b.c", ""), im.CodeInvalidArgument},
		{"no id", request(actor("a"), "", ""), im.CodeInvalidArgument},
		{"a long message", request(actor("a"), "b", strings.Repeat("好", 201)), im.CodeTooLarge},
		{"a broken message", request(actor("a"), "b", "\xff"), im.CodeInvalidArgument},
		{"the admin key", request(im.Actor{Role: im.ServerOwner}, "b", ""), im.CodePermissionDenied},
		{"the admin key's list", listAsNobody, im.CodePermissionDenied},
		{"accept without a request", acceptUnasked, im.CodeNotFound},
		{"refuse nobody", w.Refuse(ctx, actor("a"), "ghost"), im.CodeNotFound},
		{"remove oneself", w.Remove(ctx, actor("a"), "a"), im.CodePermissionDenied},
		{"block nobody", w.Block(ctx, actor("a"), "ghost"), im.CodeNotFound},
		{"remark on a stranger", w.SetRemark(ctx, actor("a"), "b", "x"), im.CodeNotFound},
		{"a long remark", w.SetRemark(ctx, actor("a"), "b", strings.Repeat("x", 65)), im.CodeTooLarge},
		{"a limit beyond", list(501, ""), im.CodeInvalidArgument},
		{"a negative limit", list(-1, ""), im.CodeInvalidArgument},
		{"a strange cursor", list(1, "a b"), im.CodeInvalidArgument},
		{"the longest message", request(actor("a"), "b", strings.Repeat("好", 200)), ""},
		{"accept one's own request", func() error { _, err := w.Accept(ctx, actor("a"), "b"); return err }(), im.CodeNotFound},
	} {
		if got := im.CodeOf(c.err); got != c.code {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.code)
		}
	}
}

// Whoever blocks has to unblock before asking.
func TestBlockerCannotAsk(t *testing.T) {
	w := newWorld(t, "a", "b")
	if err := w.do("a blocks b"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.do("a asks b"), im.CodePermissionDenied)
}

func TestRemark(t *testing.T) {
	w := newWorld(t, "a", "b")
	remark := func() string {
		list, _, err := w.page(t.Context(), actor("a"), 0, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			return c.Remark
		}
		return "(not in the list)"
	}
	set := func(s string) {
		t.Helper()
		if err := w.SetRemark(t.Context(), actor("a"), "b", s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.do("a asks b"); err != nil {
		t.Fatal(err)
	}
	set("Bee")
	if err := w.do("b accepts a"); err != nil {
		t.Fatal(err)
	}
	if got := remark(); got != "Bee" {
		t.Fatalf("after accepting: %q", got)
	}
	if other, _, _ := w.page(t.Context(), actor("b"), 0, ""); other[0].Remark != "" {
		t.Fatal("the other side sees it")
	}
	set("")
	if got := remark(); got != "" {
		t.Fatalf("removed: %q", got)
	}
	set("Bee")
	for _, step := range []string{"a removes b", "a asks b"} {
		if err := w.do(step); err != nil {
			t.Fatal(err)
		}
	}
	if got := remark(); got != "" {
		t.Fatalf("after removing the contact: %q", got)
	}
}

func TestListPages(t *testing.T) {
	users := []im.UserID{"A", "Z", "a", "b", "z"}
	w := newWorld(t, append(slices.Clone(users), "me")...)
	for _, u := range users {
		if err := w.do("me asks " + string(u)); err != nil {
			t.Fatal(err)
		}
	}
	for limit := range 7 {
		var got []im.UserID
		cursor, pages := "", 0
		for ok := true; ok; ok = cursor != "" {
			page, next, err := w.page(t.Context(), actor("me"), limit, cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page {
				got = append(got, c.User)
			}
			cursor = next
			pages++
		}
		if !slices.Equal(got, users) {
			t.Fatalf("limit %d: %v", limit, got)
		}
		if limit > 0 && pages != (len(users)+limit-1)/limit {
			t.Fatalf("limit %d: %d pages", limit, pages)
		}
	}
}

// SPEC §5.7, with every change obeyed at once.
func TestMaySend(t *testing.T) {
	w := newWorld(t, "a", "b")
	policy := func(u im.UserID, p im.DMPolicy) {
		if _, err := w.db.UpdateUser(t.Context(), u, im.ProfileChange{DM: p}); err != nil {
			t.Fatal(err)
		}
		w.InvalidateUser(t.Context(), u)
	}
	for _, step := range []struct {
		do     string
		ab, ba im.Code
	}{
		{"", im.CodeNotContact, im.CodeNotContact},
		{"a asks b", im.CodeNotContact, im.CodeNotContact},
		{"b accepts a", "", ""},
		{"b blocks a", im.CodeNotContact, ""},
		{"b everyone", im.CodeNotContact, ""},
		{"b unblocks a", "", ""},
		{"a removes b", "", im.CodeNotContact},
		{"a everyone", "", ""},
		{"b contacts", im.CodeNotContact, ""},
		{"a blocks b", im.CodeNotContact, im.CodeNotContact},
	} {
		switch step.do {
		case "":
		case "a everyone", "b everyone":
			policy(im.UserID(step.do[:1]), im.DMEveryone)
		case "b contacts":
			policy("b", im.DMContacts)
		default:
			if err := w.do(step.do); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // read, then remembered
			if got := im.CodeOf(w.MaySend(t.Context(), "a", "b")); got != step.ab {
				t.Fatalf("after %q: a→b %q, want %q", step.do, got, step.ab)
			}
			if got := im.CodeOf(w.MaySend(t.Context(), "b", "a")); got != step.ba {
				t.Fatalf("after %q: b→a %q, want %q", step.do, got, step.ba)
			}
		}
	}
	wantCode(t, w.MaySend(t.Context(), "a", "a"), im.CodeInvalidArgument)
}

func TestMaySendAnswersFromRAM(t *testing.T) {
	w := newWorld(t, "a", "b")
	for range 100 {
		wantCode(t, w.MaySend(t.Context(), "a", "b"), im.CodeNotContact)
	}
	if n := w.store.gates.Load(); n != 1 {
		t.Fatalf("asked the store %d times", n)
	}
	// Who does not exist may come to exist.
	wantCode(t, w.MaySend(t.Context(), "a", "late"), im.CodeNotFound)
	if err := w.db.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "late", DMPolicy: im.DMEveryone, Created: now}}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.MaySend(t.Context(), "a", "late"), "")
}

// An answer that was read before a block is not remembered after it.
func TestBlockOutrunsARead(t *testing.T) {
	w := newWorld(t, "a", "b")
	for _, step := range []string{"a asks b", "b accepts a"} {
		if err := w.do(step); err != nil {
			t.Fatal(err)
		}
	}
	w.store.afterGate = func() {
		w.store.afterGate = nil
		if err := w.do("b blocks a"); err != nil {
			t.Error(err)
		}
	}
	wantCode(t, w.MaySend(t.Context(), "a", "b"), "") // read before the block
	wantCode(t, w.MaySend(t.Context(), "a", "b"), im.CodeNotContact)
}

// Who may no longer watch is told to the gateways: when MayWatch says so
// already, and before the change returns.
func TestChangesEndWatching(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	var got []string
	friends := false
	both := []string{"a unwatches b", "b unwatches a"}
	w.Service = contact.New(w.store, w.store, w.runner, contact.Options{Control: func(c im.Control) {
		got = append(got, fmt.Sprintf("%s unwatches %s", c.User, c.Unwatch))
		if may, err := w.MayWatch(t.Context(), c.User, []im.UserID{c.Unwatch}); err != nil || len(may) > 0 != friends {
			t.Errorf("%s may watch %v (%v)", c.User, may, err)
		}
	}})
	for _, step := range []struct {
		do   string
		want []string
	}{
		{"a asks b", nil},
		{"b accepts a", both},
		{"a blocks b", both},
		{"a blocks b", both}, // the first may have been lost
		{"a unblocks b", both},
		{"b removes a", both},
		{"b removes a", nil},
		{"b asks a", nil},
		{"a refuses b", nil},
		{"a blocks c", []string{"a unwatches c", "c unwatches a"}},
	} {
		got, friends = nil, step.do == "b accepts a" || step.do == "a unblocks b"
		if err := w.do(step.do); err != nil {
			t.Fatalf("%s: %v", step.do, err)
		}
		slices.Sort(got)
		if !slices.Equal(got, step.want) {
			t.Fatalf("after %q: %q, want %q", step.do, got, step.want)
		}
	}
	got = nil
	wantCode(t, w.do("a blocks nobody"), im.CodeNotFound)
	wantCode(t, w.do("a blocks a"), im.CodePermissionDenied)
	if len(got) != 0 {
		t.Fatalf("after refusals: %q", got)
	}
	// A commit may have succeeded without our learning of it.
	if err := w.do("a unblocks b"); err != nil {
		t.Fatal(err)
	}
	w.store.afterUpdate = func() error { return errors.New("the connection to the store broke") }
	if err := w.do("a blocks b"); err == nil || !slices.Equal(got, []string{"b unwatches a", "a unwatches b"}) {
		t.Fatalf("after a commit that nobody heard of: %q, %v", got, err)
	}
}

// Wherever the drive of a notice stops, the change stands and every notice
// comes, once.
func TestNoticesSurviveCrashes(t *testing.T) {
	for _, at := range []outboxtest.Step{outboxtest.Promised, outboxtest.Appended, outboxtest.Applied} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			w := newWorld(t, "a", "b")
			w.journal.Stop = func(s outboxtest.Step, _ im.Promise) bool { return s == at }
			for _, step := range []string{"a asks b", "b accepts a"} {
				if err := w.do(step); err != nil {
					t.Fatal(err)
				}
			}
			if w.sees("a", "b") != "friend" {
				t.Fatal("the change does not stand")
			}
			w.journal.Stop = nil
			restarted := outbox.New(w.db, w.journal, outbox.Options{})
			if left, err := restarted.Replay(t.Context()); left != 0 || err != nil {
				t.Fatal(left, err)
			}
			for _, u := range []im.UserID{"a", "b"} {
				if got := w.feed(u); got != "a requested b, b accepted a" {
					t.Fatalf("%s was told %q", u, got)
				}
			}
		})
	}
}

// Two who ask each other at the same time become contacts, whoever is first.
func TestMutualRequestsRace(t *testing.T) {
	w := newWorld(t, "a", "b")
	for round := range 20 {
		var wg sync.WaitGroup
		for _, step := range []string{"a asks b", "b asks a", "a asks b", "b asks a"} {
			wg.Go(func() {
				if err := w.do(step); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if a, b := w.sees("a", "b"), w.sees("b", "a"); a != "friend" || b != "friend" {
			t.Fatalf("round %d: %s, %s", round, a, b)
		}
		if err := w.do("a removes b"); err != nil {
			t.Fatal(err)
		}
		for _, u := range []im.UserID{"a", "b"} {
			if n := len(w.journal.Entries(im.Me(u))); n != 3*(round+1) { // requested, accepted, removed
				t.Fatalf("round %d: %s was told %q", round, u, w.feed(u))
			}
		}
	}
}
