package contact_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/im"
)

// newTimed is a world whose clock goes.
func newTimed(t *testing.T, users ...im.UserID) (*world, *time.Time) {
	t.Helper()
	return newTimedWith(t, contact.Options{}, users...)
}

func newTimedWith(t *testing.T, o contact.Options, users ...im.UserID) (*world, *time.Time) {
	t.Helper()
	w, clock := newWorld(t, users...), now
	o.Now = func() time.Time { return clock }
	w.Service = contact.New(w.store, w.store, w.runner, o)
	return w, &clock
}

func (w *world) steps(lines ...string) {
	w.t.Helper()
	for _, l := range lines {
		if err := w.do(l); err != nil {
			w.t.Fatalf("%s: %v", l, err)
		}
	}
}

// A request is gone for both after its time: at once for who reads, and by the sweep for
// their feeds. Then a new one may be made.
func TestRequestsLapse(t *testing.T) {
	w, clock := newTimed(t, "a", "b", "c")
	w.steps("a asks b", "c blocks a", "a asks c")
	*clock = now.Add(30*24*time.Hour - time.Second)
	w.steps("a asks b") // which does not make the open one younger
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.sees("a", "b") + ", " + w.sees("b", "a"); got != "asked hello, asks me hello" {
		t.Errorf("before the end: %s", got)
	}
	*clock = now.Add(30 * 24 * time.Hour)
	if got := w.sees("a", "b") + ", " + w.sees("b", "a"); got != "-, -" {
		t.Errorf("after the end: %s", got)
	}
	_, err := w.Accept(t.Context(), actor("b"), "a")
	wantCode(t, err, im.CodeNotFound)
	for range 2 {
		if err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if a, b, c := w.feed("a"), w.feed("b"), w.feed("c"); a != "a requested b, a requested c, a expired b, a expired c" || b != "a requested b, a expired b" || c != "c blocked a" {
		t.Errorf("feeds %q, %q, %q", a, b, c)
	}
	w.steps("a asks b")
	if got := w.sees("b", "a"); got != "asks me hello" {
		t.Errorf("asked again: %s", got)
	}
}

// Who was refused waits, each time longer, to a bound; who accepted once forgets it all.
func TestCoolDown(t *testing.T) {
	w, clock := newTimed(t, "a", "b")
	refused := func(want time.Duration) {
		t.Helper()
		w.steps("a asks b", "b refuses a")
		for _, left := range []time.Duration{want, time.Second} {
			var e *im.Error
			if err := w.do("a asks b"); !errors.As(err, &e) || e.Code != im.CodeRateLimited || e.RetryAfter != left {
				t.Fatalf("%v before the end: %v", left, err)
			}
			*clock = clock.Add(left - time.Second)
		}
		*clock = clock.Add(time.Second)
	}
	day := 24 * time.Hour
	for _, want := range []time.Duration{day, 2 * day, 4 * day, 8 * day, 16 * day, 16 * day} {
		refused(want)
	}
	w.steps("a asks b", "b refuses a", "b asks a", "a accepts b", "a removes b")
	refused(day)
}

// Who takes a request back asks the same user an hour later at the earliest: the other's
// feed is not filled with requests that come and go. Who is asked is not kept from asking.
func TestWithdrawnRequests(t *testing.T) {
	w, clock := newTimed(t, "a", "b", "c")
	w.steps("a asks b", "a removes b")
	var e *im.Error
	for range 5 {
		if err := w.do("a asks b"); !errors.As(err, &e) || e.Code != im.CodeRateLimited || e.RetryAfter != contact.WithdrawnFor {
			t.Fatalf("at once: %v", err)
		}
		w.steps("a removes b")
	}
	if got := strings.Count(w.feed("b"), "requested"); got != 1 {
		t.Errorf("%d requests were told", got)
	}
	w.steps("a asks c", "b asks a", "b removes a")
	*clock = clock.Add(contact.WithdrawnFor)
	w.steps("a asks b", "b accepts a", "a removes b", "a asks b") // an end that is no withdrawal
}

// Somebody asks so many users in a day. A repeat, and what is refused, counts nothing.
func TestRequestsPerDay(t *testing.T) {
	users := []im.UserID{"a", "z"}
	for i := range 6 {
		users = append(users, im.UserID(fmt.Sprint("u", i)))
	}
	w, clock := newTimedWith(t, contact.Options{RequestsPerDay: 4}, users...)
	for i := range 4 {
		w.steps(fmt.Sprint("a asks u", i), fmt.Sprint("a asks u", i))
	}
	var e *im.Error
	if err := w.do("a asks u4"); !errors.As(err, &e) || e.Code != im.CodeRateLimited || e.RetryAfter.Round(time.Second) != 6*time.Hour {
		t.Fatalf("the fifth: %v", err)
	}
	w.steps("z asks u4", "a asks u0", "u5 asks a", "a asks u5")
	*clock = clock.Add(e.RetryAfter)
	w.steps("a asks u4")
}

// A remark and a tag are names: what is not seen, or turns the text, is in neither.
func TestNamesWithoutTricks(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.steps("a asks b", "b accepts a")
	for _, bad := range []string{"Bo\u200bb", "\u202eboB", "Bo\u200db", "B\nob", "\u3164", " ", strings.Repeat("\u0301", 3)} {
		wantCode(t, w.SetRemark(t.Context(), actor("a"), "b", bad), im.CodeInvalidArgument)
		wantCode(t, w.SetTags(t.Context(), actor("a"), "b", []string{bad}), im.CodeInvalidArgument)
	}
	for _, good := range []string{"👩\u200d👧 Bob", ""} {
		if err := w.SetRemark(t.Context(), actor("a"), "b", good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

func TestTags(t *testing.T) {
	w := newWorld(t, "a", "b")
	tags := func(s ...string) error { return w.SetTags(t.Context(), actor("a"), "b", s) }
	wantCode(t, tags("x"), im.CodeNotFound)
	w.steps("a asks b", "b accepts a")
	many := make([]string, contact.MaxTags+1)
	for i := range many {
		many[i] = fmt.Sprint("tag ", i)
	}
	for _, bad := range [][]string{{""}, {"  "}, {"a\nb"}, {"a\x00"}, {"\xff"}} {
		wantCode(t, tags(bad...), im.CodeInvalidArgument)
	}
	wantCode(t, tags(many...), im.CodeTooLarge)
	wantCode(t, tags(strings.Repeat("x", contact.MaxTag+1)), im.CodeTooLarge)
	long := strings.Repeat("\u4e2d", contact.MaxTag)
	for range 2 {
		if err := tags(long, " tea ", "work", "tea"); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := w.List(t.Context(), actor("a"), 0, "", 0)
	if have := contact.TagsOf(&got.Contacts[0]); !slices.Equal(have, []string{long, "tea", "work"}) {
		t.Errorf("tags %q", have)
	}
	theirs, _ := w.List(t.Context(), actor("b"), 0, "", 0)
	if have := contact.TagsOf(&theirs.Contacts[0]); have != nil {
		t.Errorf("the other sees %q", have)
	}
	if a, b := w.feed("a"), w.feed("b"); a != "a requested b, b accepted a, a tagged b" || strings.Contains(b, "tagged") {
		t.Errorf("feeds %q, %q", a, b)
	}
	w.steps("b removes a", "a asks b", "b accepts a")
	got, _ = w.List(t.Context(), actor("a"), 0, "", 0)
	if have := contact.TagsOf(&got.Contacts[0]); have != nil {
		t.Errorf("a new contact has the tags of before: %q", have)
	}
}

// Who was away reads what changed, what was taken away too, in pages; or is told to
// begin anew.
func TestChangesSince(t *testing.T) {
	w, clock := newTimed(t, "me", "a", "b", "c", "d")
	w.steps("a asks me", "me accepts a", "b asks me", "me accepts b")
	list := func(limit int, cursor string, since uint64) (string, contact.Page) {
		t.Helper()
		p, err := w.List(t.Context(), actor("me"), limit, cursor, since)
		if err != nil {
			t.Fatal(err)
		}
		var s []string
		for _, c := range p.Contacts {
			s = append(s, fmt.Sprint(c.User, c.State, c.Remark))
		}
		return strings.Join(s, " "), p
	}
	_, whole := list(0, "", 0)
	if got, p := list(0, "", whole.Revision); got != "" || p.Revision != whole.Revision || p.Next != "" || p.Reset {
		t.Errorf("nothing changed, and is told as %q %+v", got, p)
	}
	w.steps("a removes me", "c asks me", "me remarks b", "d asks me", "me refuses d")
	var all []string
	cursor, revision := "", uint64(0)
	for since := whole.Revision; ; {
		got, p := list(2, cursor, since)
		all = append(all, got)
		cursor, revision = p.Next, p.Revision
		if cursor == "" {
			break
		}
	}
	if got := strings.Join(all, " | "); got != "a4 c3 | b1boss d4" {
		t.Errorf("changes: %s", got)
	}
	_, err := w.List(t.Context(), actor("me"), 0, "x", 1)
	wantCode(t, err, im.CodeInvalidArgument)
	if got, p := list(0, "", revision+1); got != "b1boss c3" || !p.Reset {
		t.Errorf("of a history that is gone: %s, reset %v", got, p.Reset)
	}
	*clock = now.Add(100 * 24 * time.Hour)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, p := list(0, "", whole.Revision); got != "b1boss" || !p.Reset {
		t.Errorf("after what was removed is forgotten: %s, reset %v", got, p.Reset)
	}
	if got, p := list(0, "", revision); got != "c4" || p.Reset {
		t.Errorf("since what is remembered: %s, reset %v", got, p.Reset)
	}
}

// Who takes messages from nobody takes none from contacts either.
func TestNobodyMayWrite(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.steps("a asks b", "b accepts a")
	if _, err := w.db.UpdateUser(t.Context(), "b", im.ProfileChange{DM: im.DMNobody}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.MaySend(t.Context(), "a", "b"), im.CodeNotContact)
	wantCode(t, w.MaySend(t.Context(), "b", "a"), "")
}
