package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// resumePages: more changed than three pages hold. Bob's device was away while he was put
// into 1,100 groups; it asks page by page while messages come to what it was told already
// and to what it was not told yet, is cut off and begins again; in the end it knows of
// everything.
func resumePages(t *testing.T, w World) {
	const makers, each, pageMost = 22, 50, 500 // each: within what one user may do at once
	join(t, w, "bob", 0).leave()               // exists
	bob := mint(t, w, "bob", time.Hour).AccessToken
	began := dialRaw(t, w, 0).synced(bob, "away", &wire.Sync{Number: 1, Limit: 10})

	tokens, made := manyGroups(t, w, makers, each)
	want := map[string]uint64{}
	for _, all := range made {
		for _, c := range all {
			want[c] = 1
		}
	}
	maker := dialRaw(t, w, 0)
	maker.hello(tokens[0], "maker", wire.DeviceClass_DEVICE_CLASS_OTHER)

	told := map[string]uint64{}
	read := func(position string, pages int) (string, int) { // at most so many pages
		conn := dialRaw(t, w, 0)
		defer conn.nc.Close()
		ask := &wire.Sync{Number: 1, Position: position, Timeline: began.Timeline, Limit: pageMost}
		delta := conn.synced(bob, "away", ask)
		for page := 1; ; page++ {
			if delta.Error != nil || delta.Reset_ || len(delta.Conversations) > pageMost || (delta.Next == "") != (delta.Position != "") {
				t.Fatalf("page %d: %d conversations, position %q, next %q, reset %v, %v", page, len(delta.Conversations), delta.Position, delta.Next, delta.Reset_, delta.Error)
			}
			for _, c := range delta.Conversations {
				told[c.Conversation] = max(told[c.Conversation], c.Seq)
			}
			if delta.Next == "" || page == pages {
				return delta.Position, page
			}
			for _, c := range []string{made[0][0], made[0][each/2], made[0][each-1]} {
				ack, code := maker.sends(c, freshID(), fmt.Sprint("on page ", page))
				if code != "" {
					t.Fatal(code)
				}
				want[c] = ack.Seq
			}
			ask.Number, ask.Cursor = ask.Number+1, delta.Next
			conn.say(wire.NewClientFrame(ask))
			conn.until("the next page", func(f *wire.ServerFrame) bool {
				delta = f.GetSyncDelta()
				return delta != nil
			})
		}
	}
	if position, _ := read(began.Position, 1); position != "" || len(told) > pageMost {
		t.Errorf("the first of several pages has position %q, %d conversations", position, len(told))
	}
	told = map[string]uint64{} // it was cut off before it could write them down
	position, pages := read(began.Position, 10)
	if pages < 3 || position == "" {
		t.Errorf("%d pages, to %q", pages, position)
	}
	read(position, 10)
	missing := 0
	for c, seq := range want {
		if told[c] < seq {
			missing++
			t.Logf("%s was told up to %d of %d", c, told[c], seq)
		}
	}
	if missing > 0 || len(want) != makers*each {
		t.Errorf("%d of %d groups were not told to their ends", missing, len(want))
	}
}

// manyGroups has many users make groups with bob, and returns these by maker.
func manyGroups(t *testing.T, w World, makers, each int) (tokens []string, made [][]string) {
	t.Helper()
	tokens, made = make([]string, makers), make([][]string, makers)
	var making sync.WaitGroup
	ctx := deadline(t)
	for i := range makers {
		tokens[i] = mint(t, w, fmt.Sprint("maker", i), time.Hour).AccessToken
		making.Go(func() { made[i] = groupsOf(t, w, ctx, tokens[i], each) })
	}
	making.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return tokens, made
}
