package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
)

func benchDB(b *testing.B) *directory.DB {
	db, err := sqlite.Open(filepath.Join(b.TempDir(), "d.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

func user(i int) im.UserID { return im.UserID(fmt.Sprintf("u%07d", i*7919%9_999_991)) }

var ids uint64

func promise(c im.ConversationID, by im.UserID, rev uint64, e im.Event) im.Promise {
	ids++
	return im.Promise{ID: im.NewMessageID(time.UnixMilli(1_700_000_000_000), [10]byte{byte(ids >> 24), byte(ids >> 16), byte(ids >> 8), byte(ids)}), Conversation: c, Sender: by, Event: e, IfRoster: rev, SetRoster: rev + 1}
}

func ok(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkJoin adds 500 of 10,000 users to a group, in a directory where each
// has places in other groups.
func BenchmarkJoin(b *testing.B) {
	db := benchDB(b)
	n := 0
	var c im.ConversationID
	rev := uint64(0)
	for b.Loop() {
		if n%20 == 0 {
			b.StopTimer()
			c = im.Group(fmt.Sprintf("%x", n*7919+1<<20))
			p := promise(c, "owner", 0, im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"owner"}, Text: "g"})
			_, err := db.CreateGroup(b.Context(), im.GroupInfo{Conversation: c, Name: "g", Owner: "owner"}, "", p)
			ok(b, err)
			ok(b, db.Apply(b.Context(), p, 1))
			rev = 1
			b.StartTimer()
		}
		users := make([]im.UserID, 500)
		for i := range users {
			users[i] = user(n%20*500 + i)
		}
		p := promise(c, "owner", rev, im.Event{Type: im.EventMemberAdded, Users: users, Role: im.RoleMember})
		_, err := db.PromiseRoster(b.Context(), p)
		ok(b, err)
		ok(b, db.Apply(b.Context(), p, rev+1))
		n++
		rev++
	}
}
