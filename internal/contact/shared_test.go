package contact_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/contact"
	"github.com/skein-im/skein/internal/im"
)

// processes are two services over one directory. The second's clock is clock,
// and news has what the first one told.
type processes struct {
	*world
	second *contact.Service
	clock  time.Time
	news   [][2]im.UserID
}

func newProcesses(t *testing.T, users ...im.UserID) *processes {
	p := &processes{world: newWorld(t, users...), clock: now}
	p.Service = contact.New(p.store, p.store, p.runner, contact.Options{Shared: true, Now: func() time.Time { return now },
		Changed: func(_ context.Context, a, b im.UserID) { p.news = append(p.news, [2]im.UserID{a, b}) }})
	p.second = contact.New(p.store, p.store, p.runner, contact.Options{Shared: true, Now: func() time.Time { return p.clock },
		Changed: func(_ context.Context, a, b im.UserID) {
			t.Errorf("the second tells of %s and %s, which it was told", a, b)
		}})
	return p
}

func (p *processes) steps(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if err := p.do(l); err != nil {
			p.t.Fatal(err)
		}
	}
}

// reads is how often f asked the directory.
func (p *processes) reads(f func()) int32 {
	before := p.store.gates.Load()
	f()
	return p.store.gates.Load() - before
}

// What another process allows counts at once; what it forbids when the answer
// is a minute old, without a word, or when words may have been lost.
func TestChangedElsewhere(t *testing.T) {
	p := newProcesses(t, "a", "b")
	may := func(want im.Code) {
		t.Helper()
		wantCode(t, p.second.MaySend(t.Context(), "a", "b"), want)
	}
	may(im.CodeNotContact)
	p.steps("a asks b", "b accepts a")
	may("")
	p.clock = now.Add(59 * time.Second)
	if n := p.reads(func() { may("") }); n != 0 {
		t.Errorf("a yes that is fresh was read %d times", n)
	}
	p.steps("b blocks a")
	may("") // the other process knows, this one not yet
	p.clock = now.Add(time.Minute)
	may(im.CodeNotContact)
	p.steps("b unblocks a")
	may("")
	p.steps("b blocks a")
	may("")
	p.second.Forget("", "")
	may(im.CodeNotContact)
	p.steps("b unblocks a")
	may("")
	p.clock = now.Add(time.Hour)
	if n := p.reads(func() { may(""); may("") }); n != 1 {
		t.Errorf("an old yes and a fresh one were read %d times", n)
	}
}

// Who is told forgets at once; who tells is not told.
func TestNewsFromElsewhere(t *testing.T) {
	p := newProcesses(t, "a", "b", "c")
	hear := func() {
		t.Helper()
		for _, n := range p.news {
			p.second.Forget(n[0], n[1])
		}
		p.news = nil
	}
	may := func(from, to im.UserID, want im.Code) {
		t.Helper()
		wantCode(t, p.second.MaySend(t.Context(), from, to), want)
	}
	policy := func(policy im.DMPolicy) {
		t.Helper()
		if _, err := p.db.UpdateUser(t.Context(), "c", im.ProfileChange{DM: policy}); err != nil {
			t.Fatal(err)
		}
		p.InvalidateUser(t.Context(), "c")
	}
	p.steps("a asks b", "b accepts a", "b accepts a", "a asks b") // the last two change nothing
	wantCode(t, p.do("a asks nobody"), im.CodeNotFound)
	policy(im.DMEveryone)
	if want := [][2]im.UserID{{"a", "b"}, {"b", "a"}, {"c", ""}}; !slices.Equal(p.news, want) {
		t.Fatalf("told %v, want %v", p.news, want)
	}
	may("a", "b", "")
	may("a", "c", "")
	p.steps("b blocks a")
	policy(im.DMContacts)
	hear()
	may("a", "b", im.CodeNotContact)
	may("a", "c", im.CodeNotContact)
	may("b", "a", "")

	// News that comes while the answer is being read.
	p.steps("b unblocks a")
	p.store.afterGate = func() {
		p.store.afterGate = nil
		p.steps("b blocks a")
		hear()
	}
	may("a", "b", "") // read before the block
	may("a", "b", im.CodeNotContact)
}

// A change whose outcome is not known is told as well.
func TestUnsureChangeIsTold(t *testing.T) {
	p := newProcesses(t, "a", "b")
	p.store.afterUpdate = func() error { return im.Errorf(im.CodeUnknown, "no answer") }
	wantCode(t, p.do("b blocks a"), im.CodeUnknown)
	if fmt.Sprint(p.news) != "[[b a]]" {
		t.Errorf("told %v", p.news)
	}
}

// A text with NUL, which PostgreSQL does not keep, is refused before.
func TestTextWithNUL(t *testing.T) {
	p := newProcesses(t, "a", "b")
	_, err := p.Request(t.Context(), actor("a"), "b", "x\x00y")
	wantCode(t, err, im.CodeInvalidArgument)
	wantCode(t, p.SetRemark(t.Context(), actor("a"), "b", "\x00"), im.CodeInvalidArgument)
}

// A process that has no news of the others stores no first message by what it knew more
// than a second ago.
func TestFirstMessageWithoutNews(t *testing.T) {
	p := newProcesses(t, "a")
	if err := p.db.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "b", DMPolicy: im.DMEveryone, Created: now}}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, p.second.MaySend(t.Context(), "a", "b"), "")
	p.steps("b blocks a") // of which the second hears nothing
	p.clock = p.clock.Add(1100 * time.Millisecond)
	wantCode(t, p.second.Writes(t.Context(), "a", "b"), im.CodeNotContact)
	if notes := p.store.notes.Load(); notes != 0 {
		t.Errorf("noted %d times", notes)
	}
}
