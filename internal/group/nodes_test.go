package group_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox/outboxtest"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// Two nodes over one PostgreSQL change the same groups at the same time, and
// nobody tells the other of it. Whoever was let in by one may write through the
// other at once; and what came of it is what the journal tells.
func TestTwoNodesChangeGroups(t *testing.T) {
	u := pgtest.Database(t)
	journal := &outboxtest.Journal{}
	var nodes [2]*world
	for i := range nodes {
		db, err := postgres.Open(t.Context(), u, postgres.Options{MaxConns: 8})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		w := &world{t: t, store: &store{DB: db}, journal: journal, now: time.UnixMilli(1_700_000_000_000)}
		w.Service = w.another(group.Options{Shared: true})
		nodes[i] = w
	}
	nodes[0].users("o", "u0", "u1", "u2", "u3")
	groups := []im.ConversationID{nodes[0].create("o"), nodes[1].create("o")}
	var all sync.WaitGroup
	for n := range 4 {
		user := im.UserID(fmt.Sprint("u", n))
		c := groups[n/2]
		all.Go(func() {
			for i := range 8 {
				here, there := nodes[(n+i)%2], nodes[(n+i+1)%2]
				if err := comeAndGo(t.Context(), here, there, c, user, i); err != nil {
					t.Errorf("%s: %v", user, err)
				}
			}
		})
	}
	all.Wait()
	for _, w := range nodes {
		for _, c := range groups {
			w.agrees(c)
		}
	}
	if n := len(journal.Entries(groups[0])); n != 1+2*8*3 {
		t.Errorf("%d entries, want one for each change", n)
	}
}

// comeAndGo lets a user in through one node, write through the other, and
// leave; a few others do the same with the group.
func comeAndGo(ctx context.Context, here, there *world, c im.ConversationID, user im.UserID, i int) error {
	patient := func(f func() error) error { // the group may change too fast
		for {
			if err := f(); im.CodeOf(err) != im.CodeConflict {
				return err
			}
		}
	}
	if err := patient(func() error {
		_, _, err := here.Add(ctx, actor("o"), c, []im.UserID{user})
		return err
	}); err != nil {
		return fmt.Errorf("add: %w", err)
	}
	rev, err := there.MaySend(ctx, user, c)
	if err != nil {
		return fmt.Errorf("write through the other node at %d: %w", rev, err)
	}
	if err := patient(func() error {
		return there.Mute(ctx, actor("o"), c, user, here.now.Add(time.Duration(i+1)*time.Hour))
	}); err != nil {
		return fmt.Errorf("mute: %w", err)
	}
	if err := patient(func() error { return here.Leave(ctx, actor(user), c) }); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}
