package messaging

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func pinning(m im.Message, target uint64, remove bool) im.Message {
	m.Kind, m.Target = im.EntryPin, target
	m.Body, m.Hash = entrycodec.Pin(m.Conversation, target, &wire.Pin{Remove: remove})
	return m
}

func (w *world) pin(u im.UserID, c im.ConversationID, target uint64, remove bool) (im.Ack, error) {
	w.t.Helper()
	return w.send(u, pinning(im.Message{Conversation: c, ID: w.early()}, target, remove))
}

// pins are the pinned messages that a user is told, read in pages.
func (w *world) pins(u im.UserID, c im.ConversationID, page int) string {
	w.t.Helper()
	var out []string
	for cursor := ""; ; {
		got, next, err := w.Pins(w.t.Context(), im.Actor{User: u}, c, cursor, page)
		if err != nil {
			return err.Error()
		}
		for i := range got {
			out = append(out, fmt.Sprintf("%d by %s", got[i].Seq, w.told(u, c, got[i].Seq).Pinned.GetUser()))
		}
		if cursor = next; next == "" {
			return strings.Join(out, ", ")
		}
	}
}

// wantPins checks the list in pages of each size.
func (w *world) wantPins(u im.UserID, c im.ConversationID, want string) {
	w.t.Helper()
	for _, page := range []int{1, 2, 50} {
		if got := w.pins(u, c, page); got != want {
			w.t.Fatalf("pins of %s in pages of %d: %q, want %q", u, page, got, want)
		}
	}
}

// ticking has every reading of the clock be a second after the one before.
func ticking() func(*Options) {
	var mu sync.Mutex
	now := time.UnixMilli(0)
	return func(o *Options) {
		o.EditWindow = time.Hour
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Second)
			return now
		}
	}
}

// Who pins a message has it at the top of the list of pins, and in the message; what is
// pinned already stays as it is and makes no entry; an edit leaves a pin, a recall ends
// it, and what was taken back is not pinned.
func TestPins(t *testing.T) {
	w := newWorld(t, ticking())
	one, two, three := w.say("alice", ab, "one"), w.say("bob", ab, "two"), w.say("alice", ab, "three")
	w.wantPins("bob", ab, "")
	for _, tt := range []struct {
		by     im.UserID
		target uint64
		remove bool
		stored bool
		want   string
	}{
		{"bob", two, true, false, ""},
		{"bob", two, false, true, "2 by bob"},
		{"alice", one, false, true, "1 by alice, 2 by bob"},
		{"alice", two, false, false, "1 by alice, 2 by bob"},
		{"bob", three, false, true, "3 by bob, 1 by alice, 2 by bob"},
		{"alice", two, true, true, "3 by bob, 1 by alice"},
		{"alice", two, false, true, "2 by alice, 3 by bob, 1 by alice"},
	} {
		before := len(w.journal.entries[ab])
		ack, err := w.pin(tt.by, ab, tt.target, tt.remove)
		if err != nil || (ack.Seq != 0) != tt.stored || (len(w.journal.entries[ab]) > before) != tt.stored {
			t.Errorf("%+v: %+v, %v", tt, ack, err)
		}
		w.wantPins("alice", ab, tt.want)
		w.wantPins("bob", ab, tt.want)
	}
	if p := w.told("bob", ab, three).Pinned; p.GetUser() != "bob" || p.GetAtMs() == 0 {
		t.Errorf("the message says %v", p)
	}
	w.remention("alice", ab, three, "other words for @bob")
	w.wantPins("bob", ab, "2 by alice, 3 by bob, 1 by alice")
	if _, err := w.send("alice", im.Message{Conversation: ab, ID: w.early(), Kind: im.EntryRecall, Target: three}); err != nil {
		t.Fatal(err)
	}
	w.wantPins("bob", ab, "2 by alice, 1 by alice")
	if _, err := w.pin("bob", ab, three, false); im.CodeOf(err) != im.CodeTooLate {
		t.Errorf("what was taken back is pinned: %v", err)
	}
	// What a pin says is told to whoever was away: in its message.
	if got := w.told("bob", ab, three); got.Pinned != nil || !got.Recalled {
		t.Errorf("after the recall: %v", got)
	}
}

// What cannot be pinned, and by whom: what is no message, is not theirs to read, or in a
// conversation of others.
func TestBadPins(t *testing.T) {
	w := newWorld(t, ticking())
	seq := w.say("alice", ab, "one")
	pin, err := w.pin("alice", ab, seq, false)
	if err != nil {
		t.Fatal(err)
	}
	g := im.Group("g")
	w.members.rows["alice"] = append(w.members.rows["alice"], im.Membership{Conversation: g, First: 1})
	w.say("alice", g, "before")
	w.say("alice", g, "after")
	w.members.rows["bob"] = append(w.members.rows["bob"], im.Membership{Conversation: g, First: 2})
	for _, tt := range []struct {
		by     im.UserID
		c      im.ConversationID
		target uint64
		code   im.Code
	}{
		{"alice", ab, pin.Seq, im.CodeNotFound},
		{"alice", ab, 99, im.CodeNotFound},
		{"alice", ab, anyPin, im.CodeNotFound},
		{"bob", g, 1, im.CodeNotFound},
		{"bob", g, 2, ""},
	} {
		if _, err := w.pin(tt.by, tt.c, tt.target, false); im.CodeOf(err) != tt.code {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if _, err := w.pin("alice", g, 1, false); err != nil {
		t.Fatal(err)
	}
	w.wantPins("alice", g, "1 by alice, 2 by bob")
	w.wantPins("bob", g, "2 by bob") // the other one is not theirs to read
	below := uint64(2)
	w.setMine("alice", g, im.MyChange{ClearedBelow: &below})
	w.wantPins("alice", g, "2 by bob")
	for _, cursor := range []string{"x", "1.", "1.0", "1.2.3"} {
		if _, _, err := w.Pins(t.Context(), im.Actor{User: "alice"}, g, cursor, 5); im.CodeOf(err) != im.CodeInvalidArgument {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	if got := w.pins("mallory", ab, 5); !strings.Contains(got, "no such") {
		t.Errorf("a stranger is told %q", got)
	}
}

// Not one more is pinned than may be, however many ask at the same moment; one that ends
// makes room.
func TestPinsAreBounded(t *testing.T) {
	const most, all = 5, 40
	w := newWorld(t, ticking(), func(o *Options) { o.MaxPins = most })
	for range all {
		w.say("alice", ab, "x")
	}
	var answers []<-chan outcome
	for n := range uint64(all) {
		answers = append(answers, w.start("alice", pinning(im.Message{Conversation: ab, ID: w.early()}, n+1, false)))
	}
	stored, refused := 0, 0
	for _, answer := range answers {
		switch err := (<-answer).err; im.CodeOf(err) {
		case "":
			stored++
		case im.CodeTooLarge:
			refused++
		default:
			t.Errorf("%v", err)
		}
	}
	if stored != most || refused != all-most {
		t.Fatalf("%d were pinned and %d refused", stored, refused)
	}
	if n := len(strings.Split(w.pins("bob", ab, 50), ",")); n != most {
		t.Fatalf("%d are told", n)
	}
	if _, err := w.pin("bob", ab, 1, true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pin("bob", ab, all, false); err != nil {
		t.Errorf("where one ended there is room: %v", err)
	}
}
