package later

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// world is a store, a journal that knows ids, and a lease, which outlive the services.
type world struct {
	t  *testing.T
	mu sync.Mutex

	rows   map[im.ScheduledPlace]im.Scheduled
	stored map[im.MessageID]int // how often each was stored, and …
	order  []string             // … what, in order
	asked  int                  // how often something was sent
	refuse map[string]error     // by what it says
	deny   error                // MaySend
	feed   []im.Event
	lease  im.FollowerState
	// told is what was said of uploads, nameless refuses those of a message.
	told     []string
	nameless error

	// crash: the process ends at the step with this number, before or after it is done.
	crash, step int
	after       bool
	dead        context.CancelFunc
}

var errDead = errors.New("the process is dead")

func newWorld(t *testing.T) *world {
	return &world{t: t, rows: map[im.ScheduledPlace]im.Scheduled{}, stored: map[im.MessageID]int{}, refuse: map[string]error{}}
}

// at is a step that can be the last one: false before it is done, err after it.
func (w *world) at() (do bool, end func() error) {
	w.step++
	if w.step != w.crash {
		return true, func() error { return nil }
	}
	w.dead()
	return w.after, func() error { return errDead }
}

func (w *world) find(u im.UserID, id im.MessageID) (im.ScheduledPlace, im.Scheduled, bool) {
	for p, s := range w.rows {
		if p.User == u && p.ID == id {
			return p, s, true
		}
	}
	return im.ScheduledPlace{}, im.Scheduled{}, false
}

func (w *world) put(s im.Scheduled) {
	if p, _, ok := w.find(s.User, s.Message.ID); ok {
		delete(w.rows, p)
	}
	w.rows[s.Place()] = s
}

func (w *world) Schedule(_ context.Context, s im.Scheduled, most int, notice im.Promise) (im.Scheduled, bool, error) {
	if _, was, ok := w.find(s.User, s.Message.ID); ok {
		return was, false, nil
	}
	if len(w.rows) >= most {
		return s, false, im.Errorf(im.CodeTooLarge, "too many")
	}
	s.State = im.ScheduledWaiting
	w.put(s)
	w.feed = append(w.feed, notice.Event)
	return s, true, nil
}

func (w *world) ChangeScheduled(_ context.Context, u im.UserID, id im.MessageID, _ im.Promise, change func(*im.Scheduled) error) (im.Scheduled, error) {
	p, s, ok := w.find(u, id)
	switch {
	case !ok:
		return s, im.Errorf(im.CodeNotFound, "none")
	case s.State == im.ScheduledSending:
		return s, im.Errorf(im.CodeTooLate, "being sent")
	}
	err := change(&s)
	if err == nil {
		delete(w.rows, p)
		s.State, s.Code, s.Text = im.ScheduledWaiting, "", ""
		w.put(s)
	}
	return s, err
}

func (w *world) Scheduled(_ context.Context, u im.UserID, id im.MessageID) (im.Scheduled, error) {
	_, s, ok := w.find(u, id)
	if !ok {
		return s, im.Errorf(im.CodeNotFound, "none")
	}
	return s, nil
}

func (w *world) CancelScheduled(context.Context, im.UserID, im.MessageID, im.Promise) error {
	return nil
}

func (w *world) ScheduledPage(context.Context, im.UserID, im.ScheduledPlace, int) ([]im.Scheduled, error) {
	return nil, nil
}

func (w *world) AnyDue(_ context.Context, now time.Time) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.rows {
		if s.State != im.ScheduledFailed && !s.At.After(now) {
			return true, nil
		}
	}
	return false, nil
}

func (w *world) ClaimDue(_ context.Context, now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	do, end := w.at()
	for _, s := range w.rows {
		if do && s.State == im.ScheduledWaiting && !s.At.After(now) {
			s.State = im.ScheduledSending
			w.rows[s.Place()] = s
		}
	}
	return end()
}

func comparePlaces(a, b im.ScheduledPlace) int {
	return cmp.Or(a.At.Compare(b.At), a.Created.Compare(b.Created), cmp.Compare(a.User, b.User), slices.Compare(a.ID[:], b.ID[:]))
}

func (w *world) Claimed(_ context.Context, after im.ScheduledPlace, limit int) (out []im.Scheduled, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, s := range w.rows {
		if s.State == im.ScheduledSending && comparePlaces(p, after) > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b im.Scheduled) int { return comparePlaces(a.Place(), b.Place()) })
	return out[:min(limit, len(out))], nil
}

func (w *world) FinishScheduled(_ context.Context, u im.UserID, id im.MessageID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	do, end := w.at()
	if p, _, ok := w.find(u, id); ok && do {
		delete(w.rows, p)
	}
	return end()
}

func (w *world) FailScheduled(_ context.Context, u im.UserID, id im.MessageID, code im.Code, text string, notice im.Promise) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	do, end := w.at()
	if _, s, ok := w.find(u, id); ok && do {
		s.State, s.Code, s.Text = im.ScheduledFailed, code, text
		w.put(s)
		w.feed = append(w.feed, notice.Event)
	}
	return end()
}

func (w *world) send(_ context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	do, end := w.at()
	err := w.refuse[string(m.Body)]
	if do && err == nil && w.stored[m.ID] == 0 {
		w.order = append(w.order, fmt.Sprint(from.User, " ", m.Conversation, " ", string(m.Body)))
		w.stored[m.ID]++
	}
	if dead := end(); dead == nil {
		reply(im.Ack{}, err)
	}
}

func (w *world) Follower(context.Context, string, int) (im.FollowerState, error) { return w.lease, nil }

func (w *world) LeadFollower(_ context.Context, seen im.FollowerState, holder string) (bool, error) {
	if seen.Beat != w.lease.Beat {
		return false, nil
	}
	w.lease.Holder = holder
	w.lease.Beat++
	return true, nil
}

func (w *world) SaveFollower(_ context.Context, s im.FollowerState) (bool, error) {
	if w.lease.Holder != s.Holder {
		return false, nil
	}
	w.lease.Beat++
	return true, nil
}

func (w *world) LeaveFollower(_ context.Context, _ string, _ int, holder string) error {
	if w.lease.Holder == holder {
		w.lease.Holder = ""
		w.lease.Beat++
	}
	return nil
}

func (w *world) service(node string) *Service {
	return New(Options{
		Store: w, Due: w, Lease: w, Send: w.send, Node: node,
		MaySend: func(context.Context, im.UserID, im.ConversationID) error { return w.deny },
		Drive:   func(context.Context, im.ConversationID) error { return nil },
		Name: func(_ context.Context, u im.UserID, m im.Message) error {
			w.told = append(w.told, fmt.Sprintf("name %s %s", u, m.Body))
			return w.nameless
		},
		Doubt: func(_ context.Context, u im.UserID, m im.Message) error {
			w.told = append(w.told, fmt.Sprintf("doubt %s %s", u, m.Body))
			return nil
		},
	})
}

// What names uploads is noted before it is kept, and doubted before it is kept no more:
// whatever crashed, nothing is kept whose uploads are not.
func TestUploadsAreNamedFirst(t *testing.T) {
	w := newWorld(t)
	s := w.service("n")
	m := im.Message{Conversation: "grp:g", ID: im.MessageID{1}, Kind: im.EntryMessage, Body: []byte("one"), Hash: 1}
	w.nameless = &im.Error{Code: im.CodeNotFound, Field: "media[1]", Message: "no such upload"}
	at := time.Now().Add(time.Hour)
	err := s.Schedule(t.Context(), "ann", m, at)
	if e := im.Public(err); e.Field != "message.media[1]" || len(w.rows) != 0 {
		t.Errorf("refused with %v of %q; %d are kept", err, e.Field, len(w.rows))
	}
	w.nameless = nil
	if err := s.Schedule(t.Context(), "ann", m, at); err != nil {
		t.Fatal(err)
	}
	other := m
	other.Body, other.Hash = []byte("two"), 2
	if err := s.Change(t.Context(), "ann", m.ID, &other, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Change(t.Context(), "ann", m.ID, nil, at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Cancel(t.Context(), "ann", m.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Cancel(t.Context(), "bob", m.ID); err != nil {
		t.Fatal(err)
	}
	want := []string{"name ann one", "name ann one", "doubt ann one", "name ann two", "doubt ann two"}
	if !slices.Equal(w.told, want) {
		t.Errorf("told %q, want %q", w.told, want)
	}
}

// run has a process work until all is quiet, or until it dies at a step.
func (w *world) run(node string, looks int) {
	s := w.service(node)
	ctx, cancel := context.WithCancel(w.t.Context())
	w.dead = cancel
	for range looks {
		if ctx.Err() != nil {
			return
		}
		if err := s.Look(ctx); err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
		time.Sleep(time.Second)
	}
	cancel()
	s.lease.leave(w.t.Context())
}

func (w *world) message(c im.ConversationID, n int) im.Message {
	text := fmt.Sprint("m", n)
	return im.Message{Conversation: c, ID: im.NewMessageID(time.Now(), [10]byte{byte(n)}), Kind: im.EntryMessage, Body: []byte(text), Hash: uint64(n)}
}

func (w *world) schedule(u im.UserID, c im.ConversationID, n int, in time.Duration) im.Message {
	w.t.Helper()
	m := w.message(c, n)
	if err := w.service("n").Schedule(w.t.Context(), u, m, time.Now().Add(in)); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// Messages are sent at their time, in the order of their times; after a long absence at
// once, in that order.
func TestSentAtTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.schedule("ann", "grp:g", 1, time.Hour)
		w.schedule("ann", "grp:g", 2, time.Minute)
		w.schedule("ann", "grp:g", 3, 0)
		w.run("a", 3)
		if want := []string{"ann grp:g m3"}; !slices.Equal(w.order, want) {
			t.Errorf("%v, want %v", w.order, want)
		}
		w.run("a", 62)
		if len(w.order) != 2 {
			t.Errorf("after a minute: %v", w.order)
		}
		time.Sleep(24 * time.Hour)
		for n := range 9 {
			w.schedule("ann", "grp:g", 10+n, -time.Duration(n)*time.Minute)
		}
		w.run("a", 2)
		want := []string{"ann grp:g m3", "ann grp:g m2", "ann grp:g m1"}
		for n := range 9 {
			want = append(want, fmt.Sprint("ann grp:g m", 18-n))
		}
		if !slices.Equal(w.order, want) || len(w.rows) != 0 {
			t.Errorf("%v, want %v", w.order, want)
		}
	})
}

// A process that dies before or after any step, and another one that takes over: each
// message is stored once, in order, and nothing is left.
func TestDiesAtEachStep(t *testing.T) {
	for _, after := range []bool{false, true} {
		for crash := 1; ; crash++ {
			reached := false
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				for n := range 3 {
					w.schedule("ann", "grp:g", n, time.Duration(n)*time.Second)
				}
				w.refuse["m1"] = im.Errorf(im.CodeNotFound, "no such group")
				w.crash, w.after = crash, after
				w.run("a", 20)
				reached = w.step >= crash
				w.crash = 0
				w.run("b", 20)
				if want := []string{"ann grp:g m0", "ann grp:g m2"}; !slices.Equal(w.order, want) {
					t.Errorf("step %d, %v: %v", crash, after, w.order)
				}
				if _, s, ok := w.find("ann", w.message("grp:g", 1).ID); len(w.rows) != 1 || ok && s.Code != im.CodeNotFound {
					t.Errorf("step %d, %v: left: %+v", crash, after, w.rows)
				}
				if len(w.feed) != 4 {
					t.Errorf("step %d, %v: told %d times", crash, after, len(w.feed))
				}
			})
			if !reached {
				if crash < 7 {
					t.Errorf("only %d steps", crash)
				}
				break
			}
		}
	}
}

// What is refused for now holds up its line and no other; one that is refused for good
// says why, and goes again when it is changed.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.schedule("ann", "grp:g", 1, 0)
		w.schedule("ann", "grp:g", 2, time.Second)
		failing := w.schedule("ann", "grp:h", 3, time.Second)
		w.schedule("bob", "grp:g", 4, time.Second)
		w.refuse["m1"] = &im.Error{Code: im.CodeSlowMode, RetryAfter: time.Second}
		w.refuse["m3"] = im.Errorf(im.CodeNotFound, "no such group")
		w.run("a", 4)
		if want := []string{"bob grp:g m4"}; !slices.Equal(w.order, want) {
			t.Errorf("%v, want %v", w.order, want)
		}
		s := w.service("a")
		if err := s.Change(t.Context(), "ann", w.message("grp:g", 1).ID, nil, time.Now()); im.CodeOf(err) != im.CodeNotFound && im.CodeOf(err) != im.CodeTooLate {
			t.Errorf("changed while it is sent: %v", err)
		}
		other := w.message("grp:other", 5)
		if err := s.Change(t.Context(), "ann", failing.ID, &other, time.Time{}); im.CodeOf(err) != im.CodeInvalidArgument {
			t.Errorf("moved to another conversation: %v", err)
		}
		if p, row, _ := w.find("ann", failing.ID); row.State != im.ScheduledFailed || row.Code != im.CodeNotFound || p.User != "ann" {
			t.Errorf("%+v", row)
		}
		clear(w.refuse)
		if err := s.Change(t.Context(), "ann", failing.ID, nil, time.Now()); err != nil {
			t.Error(err)
		}
		w.run("a", 3)
		if len(w.order) != 4 || w.order[1] == "ann grp:g m2" || len(w.rows) != 0 {
			t.Errorf("%v, left %v", w.order, w.rows)
		}
	})
}

// Of two processes one works; where it is gone the other one takes over.
func TestOneWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.service("a"), w.service("b")
		look := func(s *Service) bool {
			held, err := s.lease.work(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return held
		}
		for range 30 {
			if !look(a) || look(b) {
				t.Fatal("both work, or none")
			}
			time.Sleep(time.Second)
		}
		for n := 0; !look(b); n++ { // a is gone without a word
			if n > 12 {
				t.Fatal("nobody takes over")
			}
			time.Sleep(time.Second)
		}
		if look(a) {
			t.Error("both work")
		}
		b.lease.leave(t.Context())
		if !look(a) {
			t.Error("nobody works")
		}
	})
}

// What cannot be scheduled is refused; the same again is the same.
func TestBadSchedules(t *testing.T) {
	w := newWorld(t)
	s := w.service("n")
	at := time.Now().Add(time.Hour)
	code := func(what string, err error, want im.Code) {
		t.Helper()
		if im.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	m := w.message("grp:g", 1)
	code("far ahead", s.Schedule(t.Context(), "ann", m, time.Now().Add(MaxAhead+time.Hour)), im.CodeInvalidArgument)
	code("own feed", s.Schedule(t.Context(), "ann", w.message("me:ann", 1), at), im.CodePermissionDenied)
	w.deny = im.Errorf(im.CodeNotContact, "no")
	code("stranger", s.Schedule(t.Context(), "ann", m, at), im.CodeNotContact)
	w.deny = im.Errorf(im.CodeMuted, "for an hour")
	if err := s.Schedule(t.Context(), "ann", m, at); err != nil {
		t.Errorf("muted for now: %v", err)
	}
	w.deny = nil
	if err := s.Schedule(t.Context(), "ann", m, at); err != nil || len(w.feed) != 1 {
		t.Errorf("again: %v, %d", err, len(w.feed))
	}
	code("another time", s.Schedule(t.Context(), "ann", m, at.Add(time.Second)), im.CodeIdConflict)
	m.Hash++
	code("other words", s.Schedule(t.Context(), "ann", m, at), im.CodeIdConflict)
}
