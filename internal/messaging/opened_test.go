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

// A new dm is opened by its sender: nobody else's message waits for it. The
// committer, which is held here, has nothing left to do.
func TestNewDMIsOpenedBeforeItsTurn(t *testing.T) {
	w := newWorld(t)
	entered, release := w.holdAppend()
	first := w.start("alice", w.message(im.Group("g"), "keeps the committer busy"))
	<-entered
	second := w.start("alice", w.message(ab, "hi"))
	if got := w.members.opens(); !slices.Equal(got, []im.ConversationID{ab}) {
		t.Errorf("opened %v while the committer is busy", got)
	}
	release()
	for _, got := range []<-chan outcome{first, second} {
		if o := <-got; o.err != nil {
			t.Error(o.err)
		}
	}
	w.mustSend("bob", ab, "hello")
	if got := w.members.opens(); len(got) != 1 {
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

// What cannot be opened when it is sent is opened by the committer, and if that
// fails, the message is refused: it would be in nobody's list.
func TestOpeningFails(t *testing.T) {
	for failures, code := range map[int]im.Code{0: "", 1: "", 2: im.CodeStorageFull} {
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
	for i := range 2*maxOpened + 10 {
		c := im.ConversationID(fmt.Sprint(i))
		o.add(c)
		if !o.has(c) || len(o.m) > maxOpened {
			t.Fatalf("%s: %v, %d are kept", c, o.has(c), len(o.m))
		}
	}
}
