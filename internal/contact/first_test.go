package contact_test

import (
	"context"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// A first message asks the store once whether it may be written and notes once that it
// was; another one asks nothing. It took three questions, and where many chats began at
// once that was what the database did.
func TestFirstMessageAsksOnce(t *testing.T) {
	w := newWorld(t, "a")
	if err := w.db.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "b", DMPolicy: im.DMEveryone, Created: now}}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.MaySend(t.Context(), "b", "a"), im.CodeNotContact)
	w.store.gates.Store(0)
	for _, write := range []func(context.Context, im.UserID, im.UserID) error{w.MaySend, w.Writes, w.Writes, w.MaySend} {
		wantCode(t, write(t.Context(), "a", "b"), "")
		if gates := w.store.gates.Load(); gates != 1 {
			t.Fatalf("the store was asked %d times", gates)
		}
	}
	if notes := w.store.notes.Load(); notes != 1 {
		t.Fatalf("noted %d times", notes)
	}
	wantCode(t, w.Writes(t.Context(), "b", "a"), "")
}

// Who is blocked while it is noted that they write is refused.
func TestBlockOutrunsANote(t *testing.T) {
	w := newWorld(t, "a")
	if err := w.db.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "b", DMPolicy: im.DMEveryone, Created: now}}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.MaySend(t.Context(), "a", "b"), "")
	w.store.beforeNote = func() {
		w.store.beforeNote = nil
		if err := w.do("b blocks a"); err != nil {
			t.Error(err)
		}
	}
	wantCode(t, w.Writes(t.Context(), "a", "b"), im.CodeNotContact)
}
