package group_test

import (
	"testing"

	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
)

// One call may add and remove several: the roster in RAM has all of them, also
// where another process made the change and this one was told.
func TestSeveralAtOnce(t *testing.T) {
	ctx := t.Context()
	several := []im.UserID{"a", "b", "c"}
	w := newWorld(t, group.Options{}, "o", "a", "b", "c")
	c := w.create("o")
	_, err := w.MaySend(ctx, "o", c) // it is in RAM from here on
	w.ok(err)
	if _, _, err := w.Add(ctx, actor("o"), c, several); err != nil {
		t.Fatal(err)
	}
	for _, u := range several {
		if _, err := w.MaySend(ctx, u, c); err != nil {
			t.Errorf("%s was added: %v", u, err)
		}
	}
	if _, err := w.Remove(ctx, actor("o"), c, several[:2]); err != nil {
		t.Fatal(err)
	}
	for _, u := range several[:2] {
		_, err := w.MaySend(ctx, u, c)
		w.wantCode(err, im.CodeNotFound)
		if _, known := w.Membership(u, c, 0); known {
			t.Errorf("%s was removed and is a member in RAM", u)
		}
	}
	if _, err := w.MaySend(ctx, "c", c); err != nil {
		t.Error(err)
	}
	w.agrees(c)
}
