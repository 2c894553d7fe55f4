package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// newGroups: while groups are made with bob, two devices of his ask again and
// again what changed since their position, without a connection that would tell
// them. Each device is told of each group, whatever the moment it asked in.
func newGroups(t *testing.T, w World) {
	const makers, each = 5, 50 // within what one user may do at once
	ctx := deadline(t)
	var made atomic.Int64
	groups := make(chan string, makers*each)
	join(t, w, "bob", 0).leave() // exists
	var making, asking sync.WaitGroup
	for i := range makers {
		token := mint(t, w, fmt.Sprint("maker", i), time.Hour).AccessToken
		making.Go(func() {
			for range each {
				req, resp := &wire.CreateGroupRequest{Name: "Tea", Members: []string{"bob"}}, &wire.CreateGroupResponse{}
				if err := skein.Post(ctx, w.HTTP(), "skein.v1.GroupService/CreateGroup", token, req, resp); err != nil {
					t.Error(err)
					return
				}
				made.Add(1)
				groups <- resp.Group.Conversation
			}
		})
	}
	over := make(chan struct{})
	told := make([]map[string]bool, 2)
	for i := range told {
		told[i] = map[string]bool{}
		token := mint(t, w, "bob", time.Hour).AccessToken
		asking.Go(func() { resumes(ctx, t, w, token, over, told[i]) })
	}
	making.Wait()
	close(over)
	asking.Wait()
	close(groups)
	for g := range groups {
		for i := range told {
			if !told[i][g] {
				t.Errorf("device %d of bob was never told of %s", i, g)
			}
		}
	}
	if n := made.Load(); n != makers*each {
		t.Errorf("%d groups were made", n)
	}
}

// resumes asks from position to position, and once more when it is over.
func resumes(ctx context.Context, t *testing.T, w World, token string, over <-chan struct{}, told map[string]bool) {
	at := &wire.SyncDelta{}
	ask := func() bool {
		resp := &wire.ListConversationsResponse{}
		req := &wire.ListConversationsRequest{Position: at.Position, Timeline: at.Timeline, Limit: 500}
		if err := skein.Post(ctx, w.HTTP(), "skein.v1.MessageService/ListConversations", token, req, resp); err != nil {
			t.Error(err)
			return false
		}
		if at.Position != "" && resp.Delta.Reset_ {
			t.Errorf("position %q was refused", at.Position)
		}
		at = resp.Delta
		for _, c := range at.Conversations {
			told[c.Conversation] = true
		}
		return true
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if !ask() {
				return
			}
		case <-over:
			if ask() { // what came since the last tick, and what that one was too early for
				ask()
			}
			return
		}
	}
}
