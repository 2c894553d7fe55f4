package push

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// What is damaged of one user, or of one conversation, wakes nobody there, and keeps nobody
// else from being woken; nor is it looked at for ever.
func TestDamagedStopsNobodyElse(t *testing.T) {
	w := newWorld(t)
	for _, u := range []im.UserID{"bob", "cyd"} {
		w.browser(u, string(u))
	}
	const other = im.ConversationID("dm:ann:cyd")
	both := func(text string) []im.Entry {
		es := []im.Entry{w.store("ann", chat, text), w.store("ann", other, text)}
		w.pass(wait)
		return es
	}
	mark := im.MarkKey{User: "bob", Conversation: chat}
	w.damaged = map[any]bool{mark: true}
	w.ok(w.push.Handle(t.Context(), both("one")))
	w.expect(w.told(), "cyd message dm:ann:cyd 1 ANN one")
	for _, broken := range []any{mark, chat} {
		w.damaged = nil
		es := both("more")
		w.ok(w.push.Handle(t.Context(), es))
		w.damaged = map[any]bool{broken: true} // after it was queued
		w.expect(w.told(), fmt.Sprintf("cyd message dm:ann:cyd %d ANN more", es[1].Seq))
		w.pass(2 * holds)
		w.damaged = nil
		w.expect(w.told()) // it was given up
	}
}

// A push service that says when it may be asked again is not asked before.
func TestRetryAfterIsHeeded(t *testing.T) {
	w := newWorld(t)
	w.browser("bob", "desk")
	asked := 0
	w.to.Answer(func(string) (int, http.Header) {
		asked++
		return 429, http.Header{"Retry-After": {"3000"}}
	})
	w.say("ann", chat, "one")
	w.expect(w.told())
	w.to.Answer(nil)
	w.pass(2999 * time.Second)
	if w.expect(w.told()); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	w.pass(time.Second)
	w.expect(w.told(), "desk message dm:ann:bob 1 ANN one")
}

// blackHole answers nothing of silent.example until hold is closed, but for the first time,
// and has all others answered.
type blackHole struct {
	http.RoundTripper
	hold   chan struct{}
	asked  atomic.Int32
	others chan string
}

func (b *blackHole) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "silent.example" {
		defer func() { b.others <- r.URL.Path }()
		return b.RoundTripper.RoundTrip(r)
	}
	if b.asked.Add(1) > 1 {
		<-b.hold
	}
	return nil, fmt.Errorf("%s does not answer", r.URL.Host)
}

// A push service that does not answer keeps some places, however many devices it has: those
// of the others are woken meanwhile.
func TestSilentServiceLeavesPlaces(t *testing.T) {
	w := newWorld(t)
	client := *w.to.Client()
	hole := &blackHole{RoundTripper: client.Transport, hold: make(chan struct{}), others: make(chan string, 9)}
	client.Transport = hole
	w.push = w.service(&client)
	silent := func(n int) {
		session := im.SessionID(fmt.Sprint("silent-", n))
		w.ok(w.db.OpenSession(t.Context(), im.SessionOpening{Session: im.Session{ID: session, User: "bob", Created: w.now(), LastSeen: w.now()}, Expires: w.now().Add(time.Hour)}))
		b := w.to.Subscribe(string(session))
		w.ok(w.push.Subscribe(t.Context(), im.Actor{User: "bob", Session: session}, im.PushSubscription{Endpoint: "https://silent.example/" + string(session), Point: b.Point(), Auth: b.Auth}))
	}
	silent(0)
	w.say("ann", chat, "one")
	w.expect(w.told())
	for n := range 2 * parallel {
		silent(1 + n)
	}
	w.browser("cyd", "desk")
	two, three := w.store("ann", chat, "two"), w.store("ann", "dm:ann:cyd", "three")
	w.pass(wait)
	w.ok(w.push.Handle(t.Context(), []im.Entry{two}))
	w.pass(time.Second)
	w.ok(w.push.Handle(t.Context(), []im.Entry{three})) // due after all those
	var looking sync.WaitGroup
	looking.Go(func() {
		if err := w.push.Look(t.Context()); err != nil {
			t.Error(err)
		}
	})
	select {
	case path := <-hole.others:
		if !strings.HasPrefix(path, "/desk") {
			t.Errorf("%s was told", path)
		}
	case <-time.After(one / 2):
		t.Error("who is at another push service waits for the silent one")
	}
	if n := hole.asked.Load(); n > 1+mostSilent {
		t.Errorf("%d wait for the silent one, %d may", n-1, mostSilent)
	}
	close(hole.hold)
	looking.Wait()
	// When it answers again it is asked as often as any.
	a := w.push.services.enter("silent.example", w.now())
	w.push.services.leave(a, w.now(), nil)
	for range parallel {
		if w.push.services.enter("silent.example", w.now()) == nil {
			t.Fatal("it answered, and is taken for silent")
		}
	}
}
