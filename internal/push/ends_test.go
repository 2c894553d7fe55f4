package push

import (
	"net/http"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outward"
)

// What fails ends: after so many tries, and after push.ttl however few those were.
func TestRowsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		ttl, step time.Duration
		steps     int
		want      int
	}{
		"by tries": {24 * time.Hour, retryMost, 40, mostTries},
		"by time":  {time.Minute, retryLeast, 100, 5}, // after 0, 5, 15, 35 and 75 s
	} {
		w := newWorld(t)
		w.browser("bob", "desk")
		w.push.o.TTL = c.ttl
		asked := 0
		w.to.Answer(func(string) (int, http.Header) { asked++; return 503, nil })
		w.say("ann", chat, "one")
		for range c.steps {
			w.expect(w.told())
			w.pass(c.step)
		}
		if asked != c.want {
			t.Errorf("%s: asked %d times, want %d", name, asked, c.want)
		}
	}
}

// What an answer means: the subscription is gone, or the push is, or it is tried again.
func TestAnswers(t *testing.T) {
	for status, want := range map[int]struct{ again, subscribed bool }{
		404: {false, false}, 410: {false, false}, 400: {false, true}, 403: {false, true}, 413: {false, true}, 307: {false, true},
		408: {true, true}, 429: {true, true}, 500: {true, true}, 503: {true, true},
	} {
		w := newWorld(t)
		w.browser("bob", "desk")
		asked := 0
		w.to.Answer(func(string) (int, http.Header) { asked++; return status, nil })
		w.say("ann", chat, "one")
		w.expect(w.told())
		w.pass(time.Minute)
		w.expect(w.told())
		some, err := w.db.AnyPush(t.Context())
		w.ok(err)
		if asked > 1 != want.again || some != want.subscribed {
			t.Errorf("%d: asked %d times, and subscribed %v", status, asked, some)
		}
	}
}

// A push service that says that a device is gone means the address that was asked: one that
// the device has given meanwhile stays.
func TestGoneIsTheAddress(t *testing.T) {
	w := newWorld(t)
	w.browser("bob", "desk")
	w.to.Answer(func(string) (int, http.Header) { return 410, nil })
	w.broken = func(step im.PushStep) error {
		if step == im.PushGone {
			b := w.to.Subscribe("desk-2")
			w.browsers["/desk-2"] = b
			w.ok(w.push.Subscribe(t.Context(), im.Actor{User: "bob", Session: "session-desk"}, im.PushSubscription{Endpoint: b.Endpoint, Point: b.Point(), Auth: b.Auth}))
		}
		return nil
	}
	w.say("ann", chat, "one")
	w.expect(w.told())
	w.broken = nil
	w.to.Answer(nil)
	w.say("ann", chat, "two")
	w.expect(w.told(), "desk-2 message dm:ann:bob 2 ANN two")
}

// A key that is there in the place of the one before is used with tokens of its
// own: push services are told nothing that was signed with the other one.
func TestAnotherKey(t *testing.T) {
	w := newWorld(t)
	w.browser("bob", "desk")
	w.say("ann", chat, "one")
	w.expect(w.told(), "desk message dm:ann:bob 1 ANN one")
	made, err := w.push.keys.make()
	w.ok(err)
	w.ok(w.db.NoteKeyCheck(t.Context(), "", w.now()))
	w.ok(w.db.ReplaceKeyCheck(t.Context(), "", "new", true, w.now()))
	w.ok(w.db.AddPushKey(t.Context(), made))
	w.pass(keyKnown)
	now, err := w.push.Key(t.Context())
	if w.ok(err); string(now) != string(made.Public) {
		t.Error("it goes on with the key of before")
	}
	b := w.to.Subscribe("desk")
	w.browsers["/desk"] = b
	w.ok(w.push.Subscribe(t.Context(), im.Actor{User: "bob", Session: "session-desk"}, im.PushSubscription{Endpoint: b.Endpoint, Point: b.Point(), Auth: b.Auth}))
	w.say("ann", chat, "two")
	w.expect(w.told(), "desk message dm:ann:bob 2 ANN two") // and the push service has found nothing wrong
}

// A proxy of the environment would connect in the place of who judges the address.
func TestNoProxy(t *testing.T) {
	if newClient(&outward.Judge{}).Transport.(*http.Transport).Proxy != nil {
		t.Error("push services are asked by a proxy")
	}
}
