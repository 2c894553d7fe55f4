package contact_test

import (
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// Many users who know each other are deleted at once. Those part by themselves, and are not in
// the way of who stays: they are told that the contact ended.
func TestEraseAmongTheDeleted(t *testing.T) {
	users := []im.UserID{"zed", "zoe"}
	for n := range 100 { // as many as are parted at a time
		users = append(users, im.UserID(fmt.Sprintf("a%02d", n)))
	}
	w := newWorld(t, users...)
	for _, u := range users {
		if u == "zoe" {
			continue
		}
		_, err := w.db.UpdateContacts(t.Context(), "zoe", u, func(mine, theirs *im.Contact) ([]im.Promise, error) {
			mine.State, theirs.State, mine.Changed, theirs.Changed = im.ContactFriend, im.ContactFriend, now, now
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, u := range users[1:] {
		if _, _, err := w.db.BeginErasure(t.Context(), im.ErasureOrder{User: u, At: now}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Erase(t.Context(), "zoe"); err != nil {
		t.Fatal(err)
	}
	if has, told := w.sees("zed", "zoe"), w.feed("zed"); has != "-" || told != "zoe removed zed" {
		t.Errorf("who stays has %q, and was told %q", has, told)
	}
}
