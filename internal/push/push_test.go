package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outward"
	"github.com/skein-im/skein/internal/push/pushtest"
	"github.com/skein-im/skein/wire"
)

const (
	chat = im.ConversationID("dm:ann:bob")
	wait = 5 * time.Second
)

// world is a service over a real directory and a real push service, with messages and marks
// that the test makes.
type world struct {
	*testing.T
	db   *directory.DB
	to   *pushtest.Service
	push *Service

	mu       sync.Mutex
	clock    time.Time
	entries  map[im.ConversationID][]im.Entry
	marks    map[im.MarkKey]im.Mark
	browsers map[string]*pushtest.Browser
	read     int // how many pushes the test has looked at
	// damaged are conversations, and marks, of which something stored is damaged.
	damaged map[any]bool
	// broken fails a step of the queue.
	broken func(step im.PushStep) error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, db: db, to: pushtest.NewService(), clock: time.Now(), entries: map[im.ConversationID][]im.Entry{}, marks: map[im.MarkKey]im.Mark{}, browsers: map[string]*pushtest.Browser{}}
	t.Cleanup(func() {
		w.to.Close()
		db.Close()
		for _, err := range w.to.Wrong() {
			t.Error("a push is none: ", err)
		}
	})
	w.push = w.service(w.to.Client())
	for _, u := range []im.UserID{"ann", "bob", "cyd"} {
		w.ok(db.CreateUser(t.Context(), im.Credentials{User: im.User{ID: u, DisplayName: strings.ToUpper(string(u)), Created: w.clock}}))
	}
	return w
}

func (w *world) service(client *http.Client) *Service {
	var allow []netip.Prefix
	if client != nil {
		allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	s := New(Options{
		Keys: w.db, Subscriptions: w.db, Queue: w, Messages: w, Marks: w, SealKey: SealKey("secret"), Contact: "mailto:a@example.com",
		Wait: wait, TTL: time.Hour, Client: client, Now: w.now, Allow: allow,
	})
	w.ok(s.Prepare(w.Context()))
	return s
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

// browser gives a user a session with a browser that can be woken.
func (w *world) browser(u im.UserID, name string) *pushtest.Browser {
	w.Helper()
	session := im.SessionID("session-" + name)
	w.ok(w.db.OpenSession(w.Context(), im.SessionOpening{Session: im.Session{ID: session, User: u, Created: w.now(), LastSeen: w.now()}, Expires: w.now().Add(1000 * time.Hour)}))
	b := w.to.Subscribe(name)
	w.ok(w.push.Subscribe(w.Context(), im.Actor{User: u, Session: session}, im.PushSubscription{Endpoint: b.Endpoint, Point: b.Point(), Auth: b.Auth}))
	w.browsers["/"+name] = b
	return b
}

// say stores a message and gives it to the service when it is old enough.
func (w *world) say(by im.UserID, c im.ConversationID, text string, change ...func(*wire.Entry)) uint64 {
	w.Helper()
	e := w.store(by, c, text, change...)
	w.pass(wait)
	w.ok(w.push.Handle(w.Context(), []im.Entry{e}))
	return e.Seq
}

func (w *world) store(by im.UserID, c im.ConversationID, text string, change ...func(*wire.Entry)) im.Entry {
	said := &wire.Entry{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}}
	for _, f := range change {
		f(said)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := im.Entry{Conversation: c, Seq: uint64(len(w.entries[c]) + 1), Sender: by, Kind: im.EntryMessage, Stored: w.clock, Body: entrycodec.Encode(said)}
	w.entries[c] = append(w.entries[c], e)
	return e
}

func (w *world) recall(c im.ConversationID, seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &w.entries[c][seq-1]
	e.Recalled, e.Body = true, nil
}

func (w *world) mark(u im.UserID, c im.ConversationID, received, read uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := im.MarkKey{User: u, Conversation: c}
	m := w.marks[k]
	m.User, m.Conversation, m.Received, m.Read = u, c, received, read
	w.marks[k] = m
}

func (w *world) mine(u im.UserID, c im.ConversationID, change im.MyChange) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	k := im.MarkKey{User: u, Conversation: c}
	m := w.marks[k]
	next, _, _, err := entrycodec.SetMyState(m.Mine, c, &change)
	if err != nil {
		w.Fatal(err)
	}
	m.Mine = next
	w.marks[k] = m
}

func (w *world) Marks(_ context.Context, keys []im.MarkKey, out []im.Mark, _ bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, k := range keys {
		if w.damaged[k] {
			return fmt.Errorf("read: %w", im.ErrJournalDamaged)
		}
		out[i] = w.marks[k]
	}
	return nil
}

func (w *world) Shown(_ context.Context, from im.Actor, c im.ConversationID, seqs []uint64) (out []im.Entry, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if from.User == "" {
		return nil, errors.New("nobody asks")
	}
	if w.damaged[c] {
		return nil, fmt.Errorf("read: %w", im.ErrJournalDamaged)
	}
	for _, seq := range seqs {
		if seq <= uint64(len(w.entries[c])) && !w.entries[c][seq-1].Recalled {
			out = append(out, w.entries[c][seq-1])
		}
	}
	return out, nil
}

func (w *world) QueuePushes(ctx context.Context, jobs []im.PushJob, now time.Time) error {
	return w.db.QueuePushes(ctx, jobs, now)
}

func (w *world) ClaimPushes(ctx context.Context, now, until time.Time, limit int) ([]im.PushWork, error) {
	return w.db.ClaimPushes(ctx, now, until, limit)
}

func (w *world) ReleasePushes(ctx context.Context) error { return w.db.ReleasePushes(ctx) }

func (w *world) FinishPush(ctx context.Context, p *im.PushWork, o im.PushOutcome) error {
	if w.broken != nil {
		if err := w.broken(o.Step); err != nil {
			return err
		}
	}
	return w.db.FinishPush(ctx, p, o)
}

// told is what browsers were told since the last look, in an order of its own.
func (w *world) told() []string {
	w.Helper()
	w.ok(w.push.Look(w.Context()))
	return w.heard()
}

func (w *world) heard() []string {
	w.Helper()
	took, _ := w.to.Took()
	var out []string
	for i := range took[w.read:] {
		p := &took[w.read+i]
		text, err := w.browsers[p.Path].Read(p.Body)
		w.ok(err)
		var m payload
		w.ok(json.Unmarshal(text, &m))
		line := fmt.Sprintf("%s %s %s %d", p.Path[1:], m.Type, m.Conversation, m.Seq)
		for _, s := range []string{m.Title, m.Name, m.Text} {
			if s != "" {
				line += " " + s
			}
		}
		if m.More > 0 {
			line += fmt.Sprintf(" +%d", m.More)
		}
		out = append(out, line)
	}
	w.read = len(took)
	slices.Sort(out)
	return out
}

func (w *world) expect(got []string, want ...string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("told %q, want %q", got, want)
	}
}

// A message that nobody received wakes each browser of its reader, once; the next one the
// same again. Who wrote it is not woken.
func TestWakes(t *testing.T) {
	w := newWorld(t)
	w.browser("bob", "desk")
	w.browser("bob", "phone")
	w.browser("ann", "hers")
	w.say("ann", chat, "hello")
	w.expect(w.told(), "desk message dm:ann:bob 1 ANN hello", "phone message dm:ann:bob 1 ANN hello")
	w.expect(w.told())
	w.say("ann", chat, "two")
	w.say("ann", chat, "three")
	w.expect(w.told(), "desk message dm:ann:bob 3 ANN three +1", "phone message dm:ann:bob 3 ANN three +1")
	took, _ := w.to.Took()
	topics := map[string]string{}
	for _, p := range took {
		if topics[p.Path] == "" {
			topics[p.Path] = p.Topic
		}
		if p.Topic != topics[p.Path] || p.Topic == "" || p.Urgency != "high" || p.TTL != 3600 {
			t.Errorf("%s: topic %q, urgency %q, TTL %d", p.Path, p.Topic, p.Urgency, p.TTL)
		}
	}
	if topics["/desk"] == topics["/phone"] {
		t.Error("the topic tells that two browsers are told of one conversation")
	}
}

// Nobody is woken before the time, for what a device received or read, for what is silent,
// recalled, old, of a feed, or by a blocked user.
func TestWakesNobody(t *testing.T) {
	w := newWorld(t)
	w.browser("bob", "desk")
	e := w.store("ann", chat, "early")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.push.Handle(ctx, []im.Entry{e}) }()
	w.expect(w.told())
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.mark("bob", chat, 2, 0)
	w.say("ann", chat, "received")
	w.mark("bob", chat, 3, 3)
	w.say("ann", chat, "read")
	w.say("ann", chat, "silent", func(e *wire.Entry) { e.Silent = true })
	w.say("bob", chat, "own")
	e = w.store("ann", chat, "stale")
	w.pass(2 * oldest)
	w.ok(w.push.Handle(t.Context(), []im.Entry{e}))
	w.ok(w.push.Handle(t.Context(), []im.Entry{
		{Conversation: im.Me("bob"), Seq: 1, Sender: "ann", Kind: im.EntryEvent, Stored: w.now()},
		{Conversation: chat, Seq: 9, Sender: "ann", Kind: im.EntryReaction, Target: 1, Stored: w.now()},
	}))
	w.expect(w.told())
	// Between the two steps: received, recalled, muted.
	seq := w.say("ann", chat, "received soon")
	w.mark("bob", chat, seq, 3)
	w.expect(w.told())
	w.recall(chat, w.say("ann", chat, "recalled soon"))
	w.expect(w.told())
	level := im.PushNone
	w.say("ann", chat, "muted soon")
	w.mine("bob", chat, im.MyChange{PushLevel: &level})
	w.expect(w.told())
	level = im.PushAll
	w.mine("bob", chat, im.MyChange{PushLevel: &level})
	_, err := w.db.UpdateContacts(t.Context(), "bob", "ann", func(mine, _ *im.Contact) ([]im.Promise, error) { mine.Blocked = true; return nil, nil })
	w.ok(err)
	w.say("ann", chat, "of a blocked user")
	w.expect(w.told())
}

// Of two messages of which the later one was recalled the earlier one is told.
func TestRecalledIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.browser("bob", "desk")
	w.say("ann", chat, "stays")
	w.recall(chat, w.say("ann", chat, "secret"))
	w.expect(w.told(), "desk message dm:ann:bob 1 ANN stays")
}

// What was shown is taken away when the user read it elsewhere, or it was recalled; a newer
// message takes its place instead.
func TestTakenAway(t *testing.T) {
	w := newWorld(t)
	w.browser("bob", "desk")
	w.say("ann", chat, "one")
	w.expect(w.told(), "desk message dm:ann:bob 1 ANN one")
	w.pass(time.Minute)
	w.expect(w.told())
	w.mark("bob", chat, 1, 1)
	w.pass(time.Minute)
	w.expect(w.told(), "desk close dm:ann:bob 1")
	w.pass(time.Hour)
	w.expect(w.told())
	seq := w.say("ann", chat, "two")
	w.expect(w.told(), "desk message dm:ann:bob 2 ANN two")
	w.recall(chat, seq)
	w.pass(time.Minute)
	w.expect(w.told(), "desk close dm:ann:bob 2")
	w.say("ann", chat, "three")
	w.expect(w.told(), "desk message dm:ann:bob 3 ANN three")
	w.mark("bob", chat, 3, 3)
	w.say("ann", chat, "four")
	w.expect(w.told(), "desk message dm:ann:bob 4 ANN four")
	w.pass(25 * time.Hour)
	w.expect(w.told()) // it is looked at no more
	w.mark("bob", chat, 4, 4)
	w.pass(time.Hour)
	w.expect(w.told())
}

// What the user wants no text of tells the conversation and nothing else.
func TestHidesText(t *testing.T) {
	w := newWorld(t)
	b := w.browser("bob", "desk")
	w.ok(w.push.SetSettings(t.Context(), im.Actor{User: "bob"}, im.PushSettings{HideText: true}))
	w.say("ann", chat, "secret")
	w.ok(w.push.Look(t.Context()))
	took, _ := w.to.Took()
	if len(took) != 1 {
		t.Fatalf("%d pushes", len(took))
	}
	text, err := b.Read(took[0].Body)
	w.ok(err)
	want := fmt.Sprintf(`{"type":"message","conversation":"dm:ann:bob","seq":"1","storedAtMs":"%d"}`, w.entries[chat][0].Stored.UnixMilli())
	if string(text) != want {
		t.Errorf("told %s, want %s", text, want)
	}
}

// Whatever is written, what is told is within its bound.
func TestPayloadIsBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 70000), strings.Repeat(`"`, 5000), strings.Repeat("\u2028", 5000), strings.Repeat("鹅", 5000), strings.Repeat("\\\x01\u202e", 3000), strings.Repeat("<&>", 5000), strings.Repeat("\xff", 5000)} {
		names := im.PushNames{Sender: text, Title: text}
		b := payloadOf(&im.PushWork{Conversation: im.ConversationID("dm:" + strings.Repeat("a", 64) + ":" + strings.Repeat("b", 64))},
			&telling{said: said{sender: im.UserID(strings.Repeat("a", 64)), all: true, content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}}, seq: 1 << 62, stored: time.Now(), names: names, more: 99})
		var p payload
		if err := json.Unmarshal(b, &p); err != nil || len(b) > MaxPayload {
			t.Errorf("%.10q: %d bytes, %v", text, len(b), err)
		}
	}
}

// A push service that is down, or wants to be left alone, is asked again later, each time
// later than before; what it says is gone, or never takes, is not.
func TestTriesAgain(t *testing.T) {
	w := newWorld(t)
	w.browser("bob", "desk")
	w.browser("bob", "phone")
	asked := map[string]int{}
	answer := func(status int, header http.Header) {
		w.to.Answer(func(path string) (int, http.Header) {
			asked[path]++
			if path != "/desk" {
				return 0, nil
			}
			return status, header
		})
	}
	answer(503, nil)
	w.say("ann", chat, "one")
	w.expect(w.told(), "phone message dm:ann:bob 1 ANN one")
	w.expect(w.told())
	for range 3 {
		w.pass(retryLeast * 8)
		w.expect(w.told())
	}
	if asked["/desk"] != 4 || asked["/phone"] != 1 {
		t.Errorf("asked %v", asked)
	}
	answer(429, http.Header{"Retry-After": {"120"}})
	w.pass(time.Minute)
	w.expect(w.told())
	w.to.Answer(nil)
	w.pass(119 * time.Second)
	w.expect(w.told())
	w.pass(time.Second)
	w.expect(w.told(), "desk message dm:ann:bob 1 ANN one")
	// What it never takes is given up, and after ten of them the subscription is.
	answer(403, nil)
	clear(asked)
	for i := range 12 {
		w.say("ann", chat, fmt.Sprint("refused ", i))
		w.told()
		w.pass(time.Minute)
		w.told()
	}
	if asked["/desk"] != 10 || asked["/phone"] != 12 {
		t.Errorf("asked %v", asked)
	}
	w.to.Answer(func(string) (int, http.Header) { return 410, nil })
	w.say("ann", chat, "gone")
	w.told()
	w.to.Answer(nil)
	w.say("ann", chat, "nobody")
	w.expect(w.told())
	if some, err := w.db.AnyPush(t.Context()); some || err != nil {
		t.Errorf("dead subscriptions are kept: %v", err)
	}
}

// A redirect is followed nowhere, and nothing that is not public is connected to, whatever
// its name is.
func TestConnectsToNobodyElse(t *testing.T) {
	w := newWorld(t)
	own := newClient(&outward.Judge{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	own.Transport.(*http.Transport).TLSClientConfig = w.to.Client().Transport.(*http.Transport).TLSClientConfig
	w.push = w.service(own)
	w.browser("bob", "desk")
	other := pushtest.NewService()
	defer other.Close()
	asked := 0
	w.to.Answer(func(string) (int, http.Header) {
		asked++
		return 307, http.Header{"Location": {other.URL + "/x"}}
	})
	w.say("ann", chat, "one")
	w.expect(w.told())
	if took, _ := other.Took(); asked != 1 || len(took)+len(other.Wrong()) > 0 {
		t.Errorf("asked %d times; where it was led came %d", asked, len(took)+len(other.Wrong()))
	}
	// With the client of the server, which nobody told of loopback.
	w.push = w.service(nil)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	w.ok(err)
	defer l.Close()
	reached := make(chan struct{}, 9)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			reached <- struct{}{}
			c.Close()
		}
	}()
	_, port, err := net.SplitHostPort(l.Addr().String())
	w.ok(err)
	session := im.Actor{User: "bob", Session: "session-desk"}
	b := w.to.Subscribe("x")
	subscribe := func(host string) error {
		return w.push.Subscribe(t.Context(), session, im.PushSubscription{Endpoint: "https://" + host + ":" + port + "/x", Point: b.Point(), Auth: b.Auth})
	}
	if err := subscribe("127.0.0.1"); im.CodeOf(err) != im.CodeInvalidArgument {
		t.Errorf("an address of this machine is taken: %v", err)
	}
	w.ok(subscribe("localhost"))
	w.say("ann", chat, "two")
	w.expect(w.told())
	select {
	case <-reached:
		t.Error("this machine was connected to")
	default:
	}
}

// Killed between any two steps: what was to be told is told by whoever comes next, with the
// same topic, and nothing that was done is undone.
func TestKilledBetweenSteps(t *testing.T) {
	w := newWorld(t)
	w.browser("bob", "desk")
	e := w.store("ann", chat, "one")
	w.pass(wait)
	entries := []im.Entry{e}
	w.ok(w.push.Handle(t.Context(), entries)) // queued, and the place was not noted
	w.push = w.service(w.to.Client())
	w.ok(w.push.Handle(t.Context(), entries))
	// Claimed, and not sent.
	_, err := w.db.ClaimPushes(t.Context(), w.now(), w.now().Add(holds), 9)
	w.ok(err)
	w.expect(w.told())
	w.push.o.Alone = true // whoever had it is gone
	w.ok(w.push.Prepare(t.Context()))
	w.push.o.Alone = false
	// Sent, and not noted.
	dead := errors.New("killed")
	w.broken = func(im.PushStep) error { return dead }
	if err := w.push.Look(t.Context()); !errors.Is(err, dead) {
		t.Fatal(err)
	}
	w.expect(w.heard(), "desk message dm:ann:bob 1 ANN one")
	w.broken = nil
	w.push = w.service(w.to.Client())
	w.expect(w.told())
	w.pass(holds)
	w.expect(w.told(), "desk message dm:ann:bob 1 ANN one")
	w.ok(w.push.Handle(t.Context(), entries))
	w.expect(w.told())
	// The same of what takes it away.
	w.mark("bob", chat, 1, 1)
	w.pass(time.Minute)
	w.broken = func(im.PushStep) error { return dead }
	if err := w.push.Look(t.Context()); !errors.Is(err, dead) {
		t.Fatal(err)
	}
	w.broken = nil
	w.pass(holds)
	w.expect(w.told(), "desk close dm:ann:bob 1", "desk close dm:ann:bob 1")
	w.ok(w.push.Handle(t.Context(), entries))
	w.expect(w.told())
}

// Two nodes that look at the same time: each browser is told once.
func TestTwoNodes(t *testing.T) {
	w := newWorld(t)
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("b%02d", i)
		w.browser("bob", name)
		want = append(want, name+" message dm:ann:bob 1 ANN one")
	}
	w.say("ann", chat, "one")
	other := w.service(w.to.Client())
	var all sync.WaitGroup
	for _, s := range []*Service{w.push, other, w.push, other} {
		all.Go(func() {
			if err := s.Look(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.expect(w.heard(), want...)
}
