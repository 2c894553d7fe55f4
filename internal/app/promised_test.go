package app

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
)

// A server was put back to a copy in which groups are promised and not made. Users
// know of them, so they are made before anybody is answered.
func TestPromisesBeforeListeners(t *testing.T) {
	dir := t.TempDir()
	p := run(t, dir, Options{}, map[string]string{})
	p.mint(dir, "ann", "bob")
	p.stop()
	db, err := sqlite.Open(filepath.Join(dir, "directory.db"), sqlite.Options{})
	ok(t, err)
	const groups = 50
	for i := range groups {
		c := im.Group(fmt.Sprint("promised", i))
		var id im.MessageID
		copy(id[6:], fmt.Sprintf("%010d", i)) // made long ago
		_, err := db.CreateGroup(t.Context(), im.GroupInfo{Conversation: c, Name: "friends", Owner: "ann", Created: time.Now()}, "",
			im.Promise{ID: id, Conversation: c, Sender: "ann", SetRoster: 1, Event: im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"ann", "bob"}, Text: "friends"}})
		ok(t, err)
	}
	ok(t, db.Close())

	ctx, cancel := context.WithCancel(t.Context())
	a, err := Open(ctx, settings(dir), Options{})
	ok(t, err)
	left, _, err := a.directory.Pending(ctx, 0, groups)
	ok(t, err)
	if len(left) > 0 {
		t.Errorf("%d promises are not kept when the listeners are open", len(left))
	}
	for i := range groups {
		if _, err := a.members.groups.MaySend(ctx, "bob", im.Group(fmt.Sprint("promised", i))); err != nil {
			t.Errorf("group %d: %v", i, err)
		}
	}
	cancel()
	ok(t, a.Serve(ctx))
}
