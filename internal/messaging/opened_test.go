package messaging

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// opens are the dms that were opened so far.
func (f *fakeMembers) opens() []im.ConversationID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.opened)
}

// A dm is opened once, before its first message, whoever sends it.
func TestFirstMessageOpensTheDMOnce(t *testing.T) {
	w := newWorld(t)
	var all []<-chan outcome
	for i := range 20 {
		u := im.UserID("alice")
		if i%2 == 1 {
			u = "bob"
		}
		all = append(all, w.start(u, w.message(ab, "hi")))
	}
	for _, got := range all {
		if o := <-got; o.err != nil {
			t.Error(o.err)
		}
	}
	if got := w.members.opens(); !slices.Equal(got, []im.ConversationID{ab}) {
		t.Errorf("opened %v", got)
	}
}

// Who may not write opens nothing.
func TestRefusedMessageOpensNothing(t *testing.T) {
	w := newWorld(t)
	w.members.deny["mallory"] = im.Errorf(im.CodeNotContact, "no")
	_, err := w.send("mallory", w.message(im.DM("alice", "mallory"), "hi"))
	wantCode(t, err, im.CodeNotContact)
	if got := w.members.opens(); len(got) != 0 {
		t.Errorf("opened %v", got)
	}
}

// What cannot be opened refuses the message, which would be in nobody's list. When
// it comes again it is opened.
func TestOpeningFails(t *testing.T) {
	for failures, code := range map[int]im.Code{0: "", 1: im.CodeStorageFull} {
		t.Run(fmt.Sprint(failures), func(t *testing.T) {
			w := newWorld(t)
			for range failures {
				w.members.failOpen = append(w.members.failOpen, im.Wrap(errors.New("disk"), im.CodeStorageFull, "full"))
			}
			m := w.message(ab, "hi")
			_, err := w.send("alice", m)
			wantCode(t, err, code)
			if got := len(w.members.opens()); (got == 1) != (code == "") {
				t.Errorf("opened %d times", got)
			}
			if _, err := w.send("alice", m); err != nil {
				t.Error("again:", err)
			}
		})
	}
}

// What is remembered is bounded, and what is forgotten is looked up again.
func TestOpenedIsBounded(t *testing.T) {
	var o opened
	o.init()
	for i := range 2*maxOpened + 10 {
		c := im.ConversationID(fmt.Sprint(i))
		o.add(c)
		if !o.has(c) || o.m.Len() > maxOpened {
			t.Fatalf("%s: %v, %d are kept", c, o.has(c), o.m.Len())
		}
	}
}
