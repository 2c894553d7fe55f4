package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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
