package account_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// A search comes in pages, by username first, and its cursor leads behind the last one.
func TestSearchUsers(t *testing.T) {
	f := start(t)
	for i := range 7 {
		c := im.Credentials{User: im.User{ID: im.UserID(fmt.Sprint("s", i)), DisplayName: fmt.Sprint("Ann ", 9-i), DMPolicy: im.DMContacts, Created: f.clock.Now()}}
		if i < 3 {
			c.Username = fmt.Sprint("ann-", i)
		}
		if err := f.db.CreateUser(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	me := im.Actor{User: "s0"}
	for _, limit := range []int{1, 2, 3, 4, 5, 7, 50} {
		var got []string
		for cursor := ""; ; {
			page, next, err := f.SearchUsers(t.Context(), me, " ANN", cursor, limit)
			if err != nil || len(page) > limit {
				t.Fatal(len(page), err)
			}
			for _, u := range page {
				got = append(got, string(u.ID))
			}
			if cursor = next; next == "" {
				break
			}
		}
		if s := strings.Join(got, " "); s != "s0 s1 s2 s6 s5 s4 s3" {
			t.Errorf("pages of %d: %s", limit, s)
		}
	}
	for _, bad := range []string{"", " ", strings.Repeat("x", 65), "a\nb", "\xff"} {
		_, _, err := f.SearchUsers(t.Context(), me, bad, "", 0)
		want(t, err, im.CodeInvalidArgument)
	}
	for _, bad := range []string{"x", "!", "eHh4", "dQ", "bnMxIP8"} {
		_, _, err := f.SearchUsers(t.Context(), me, "ann", bad, 0)
		want(t, err, im.CodeInvalidArgument)
	}
	_, _, err := f.SearchUsers(t.Context(), im.Actor{Role: im.ServerOwner}, "ann", "", 0)
	want(t, err, im.CodePermissionDenied)
}
