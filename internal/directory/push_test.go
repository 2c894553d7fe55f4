package directory_test

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// A device that subscribes anew just when a worker has claimed what it was to be told stays
// subscribed: what was claimed is gone with its address of before, the session is not.
func TestSubscribedWhileClaimed(t *testing.T) {
	d, now := open(t), time.UnixMilli(1_700_000_000_000)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(d.Migrate(t.Context()))
	ok(d.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "ann", Created: now}}))
	ok(d.OpenSession(t.Context(), im.SessionOpening{Session: im.Session{ID: "s", User: "ann", Created: now, LastSeen: now}, Expires: now.Add(time.Hour)}))
	subscribe := func(endpoint string) {
		t.Helper()
		ok(d.SetPushSubscription(t.Context(), im.PushSubscription{Session: "s", User: "ann", Endpoint: endpoint, Point: []byte("point"), Auth: []byte("auth")}, now))
	}
	subscribe("https://push.example/before")
	ok(d.QueuePushes(t.Context(), []im.PushJob{{Conversation: "grp:g", User: "ann", First: 1, Seq: 1}}, now))
	subscribe("https://push.example/after") // between the two steps of ClaimPushes
	all, err := d.PushWorkOf(t.Context(), "s", "grp:g", now)
	if err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if some, err := d.AnyPush(t.Context()); err != nil || !some {
		t.Errorf("the device is subscribed no more: %v", err)
	}
	// One of a session that is over goes.
	if _, err := d.PushWorkOf(t.Context(), "s", "grp:g", now.Add(2*time.Hour)); err != nil {
		t.Error(err)
	}
	if some, err := d.AnyPush(t.Context()); err != nil || some {
		t.Errorf("a session that is over has a subscription: %v", err)
	}
}
