package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// holding is somebody who left a transaction open in the cluster's database. The
// returned function ends it.
func (c *cluster) holding(t *testing.T, statement string) func() {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), c.database))(t)
	end := func() { _ = conn.Close(context.Background()) }
	t.Cleanup(end)
	must(conn.Exec(t.Context(), "SET application_name = 'psql'; BEGIN"))(t)
	must(conn.Exec(t.Context(), statement))(t)
	return end
}

// ready asks the logic nodes whether they are, and what is wrong.
func (c *cluster) ready(t *testing.T) (all bool, said string) {
	t.Helper()
	all = true
	for _, m := range c.with("logic") {
		resp := must(http.Get(m.app.AdminURL() + "/readyz?verbose"))(t)
		var body json.RawMessage
		err := json.NewDecoder(resp.Body).Decode(&body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = all && resp.StatusCode == http.StatusOK
		said += string(body)
	}
	return all, said
}

// Somebody leaves psql open with the row of one group locked. That group's
// messages wait, all others go on, on every node; readiness names the group.
// When the row is let go, what waited is there, once and in order.
func TestLockedConversation(t *testing.T) {
	c := split(t, terms{}).(*cluster)
	alice, bob := join(t, c, "alice", 0), join(t, c, "bob", 1)
	befriend(t, alice, bob)
	dm := "dm:alice:bob"
	group := must(alice.Groups().Create(t.Context(), "locked", "bob"))(t).Conversation
	alice.says(group, "before")
	bob.hears("before")

	let := c.holding(t, "SELECT * FROM journal_heads WHERE conversation = '"+group+"' FOR UPDATE")
	waiting := make(chan error, 1)
	go func() {
		for _, text := range []string{"one", "two", "three"} {
			if _, err := alice.Conversation(group).Send(context.Background(), text); err != nil {
				waiting <- err
				return
			}
		}
		waiting <- nil
	}()
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		for _, p := range []*person{alice, bob} {
			if _, err := p.Conversation(dm).Send(ctx, "beside it"); err != nil {
				t.Fatalf("a dm waits for another conversation's row: %v", err)
			}
		}
		cancel()
	}
	ready, said := c.ready(t)
	for tries := 0; tries < 100 && !strings.Contains(said, group); tries++ {
		<-time.After(50 * time.Millisecond) // whoever waits for the row gives up after a second
		ready, said = c.ready(t)
	}
	if !ready || !strings.Contains(said, group) || !strings.Contains(said, "psql") {
		t.Errorf("ready %v, and it says %s", ready, said)
	}
	select {
	case err := <-waiting:
		t.Fatalf("stored in a locked conversation: %v", err)
	default:
	}
	let()
	select {
	case err := <-waiting:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("not stored after the row was let go")
	}
	bob.hears("three")
	if got := bob.heard(group); strings.Join(got, " ") != "before one two three" {
		t.Errorf("bob heard %q", got)
	}
}

// Somebody keeps the marks' table locked. What needs marks is refused as
// `unavailable`, with a time to try again, through both doors, and never as the
// server's failure; nobody loses the connection; messages go on. When it is let
// go, who came meanwhile has everything.
func TestLockedMarks(t *testing.T) {
	c := split(t, terms{}).(*cluster)
	alice, bob := join(t, c, "alice", 0), join(t, c, "bob", 1)
	befriend(t, alice, bob)
	dm := "dm:alice:bob"
	alice.says(dm, "before")
	bob.hears("before")
	token := mint(t, c, "alice", time.Hour).AccessToken
	phone := newDevice(t, c, "alice", wire.DeviceClass_DEVICE_CLASS_TABLET, 2)

	let := c.holding(t, "LOCK TABLE journal_marks IN ACCESS EXCLUSIVE MODE")
	late := make(chan *person, 1)
	comes := func() {
		p, err := dial(t, c, phone)
		if err != nil {
			t.Errorf("a login while marks are locked: %v", err)
		}
		late <- p
	}
	for i := range 8 {
		if i == 4 { // a refusal takes some 3 s, and who logs in gives up after 30
			go comes()
		}
		err := skein.Post(t.Context(), c.HTTP(), "skein.v1.MessageService/ListConversations", token, &wire.ListConversationsRequest{}, &wire.ListConversationsResponse{})
		var e *skein.Error
		if !errors.As(err, &e) || e.Code != wire.CodeUnavailable || e.RetryAfter <= 0 {
			t.Errorf("the list, with marks locked: %v", err)
		}
		alice.says(dm, fmt.Sprint("during ", i))
		if err := bob.Conversation(dm).MarkRead(t.Context(), 1); err != nil {
			t.Errorf("a mark: %v", err)
		}
		<-time.After(500 * time.Millisecond)
	}
	let()
	bob.hears("during 7")
	for _, p := range []*person{alice, bob} {
		p.mu.Lock()
		for _, e := range p.events {
			if s, ok := e.(*skein.StateEvent); ok && s.State == skein.StateDisconnected {
				t.Errorf("%s was disconnected: %v", p.device.user, s.Err)
			}
		}
		p.mu.Unlock()
	}
	select {
	case p := <-late:
		if p != nil {
			p.reaches(dm, 9)
		}
	case <-time.After(patience):
		t.Error("who logged in meanwhile is not there")
	}
}
