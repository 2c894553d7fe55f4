package media

import (
	"errors"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// say stores a message that names uploads, which some may read, as the server does: noted
// first.
func (w *world) say(s *Service, sender im.UserID, n byte, reader []im.UserID, ids ...string) im.MediaName {
	w.Helper()
	c := im.ConversationID("grp:g")
	name := im.MediaName{Conversation: c, Sender: sender, ID: im.NewMessageID(w.now, [10]byte{n})}
	if _, err := s.Name(w.Context(), name, ids, true); err != nil {
		w.Fatal(err)
	}
	w.said.mu.Lock()
	defer w.said.mu.Unlock()
	w.said.messages[name.ID] = message{c: c, seq: uint64(n), media: ids, reader: reader}
	return name
}

// Who may read a message that names an upload may fetch it, nobody else but its owner; a
// message that does not name it opens nothing.
func TestWhoMayFetch(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	u, other := w.up(s, "ann", []byte("words")), w.up(s, "ann", []byte("others"))
	find := func(who im.UserID, at Place) im.Code {
		_, err := s.Find(t.Context(), who, u.ID, at)
		return im.CodeOf(err)
	}
	expect := func(what string, got, want im.Code) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, not %q", what, got, want)
		}
	}
	expect("its owner", find("ann", Place{}), "")
	expect("before it is named", find("bob", Place{}), im.CodeNotFound)
	w.say(s, "ann", 1, []im.UserID{"bob"}, u.ID)
	w.say(s, "ann", 2, []im.UserID{"bob", "eve"}, other.ID)
	w.ok(w.db.OpenDM(t.Context(), "dm:bob:bob"))
	expect("who reads it", find("bob", Place{"grp:g", 1}), "")
	expect("by a message that names another one", find("eve", Place{"grp:g", 2}), im.CodeNotFound)
	expect("who may not read it", find("eve", Place{"grp:g", 1}), im.CodeNotFound)
	expect("a message that is not there", find("bob", Place{"grp:g", 9}), im.CodeNotFound)
	expect("in no conversation with it", find("bob", Place{}), im.CodeNotFound)
	_, err := s.Find(t.Context(), "bob", "NOTHING", Place{})
	w.code("nothing", err, im.CodeNotFound)

	// In a dm of bob's, found without a place.
	name := im.MediaName{Conversation: "dm:bob:bob", Sender: "bob", ID: im.NewMessageID(w.now, [10]byte{3})}
	_, err = s.Name(t.Context(), name, []string{u.ID}, true)
	w.ok(err)
	expect("noted, but not stored", find("bob", Place{}), im.CodeNotFound)
	w.said.messages[name.ID] = message{c: "dm:bob:bob", seq: 4, media: []string{u.ID}, reader: []im.UserID{"bob"}}
	expect("by any message", find("bob", Place{}), "")
	delete(w.said.messages, name.ID)
	expect("taken back", find("bob", Place{}), im.CodeNotFound)
}

// A message that was taken back holds its upload no more: its owner may delete it at once,
// and it hides none of the older messages that name the upload from who reads those. One
// that may be about to be stored holds it.
func TestTakenBack(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	w.ok(w.db.OpenDM(t.Context(), "dm:bob:bob"))
	say := func(n byte, names bool, u im.Upload) {
		t.Helper()
		name := im.MediaName{Conversation: "dm:bob:bob", Sender: "bob", ID: im.NewMessageID(w.now.Add(time.Duration(n)*time.Second), [10]byte{n})}
		_, err := s.Name(t.Context(), name, []string{u.ID}, true)
		w.ok(err)
		m := message{c: "dm:bob:bob", seq: uint64(n), reader: []im.UserID{"bob"}}
		if names {
			m.media = []string{u.ID}
		}
		w.said.messages[name.ID] = m
	}
	u := w.up(s, "ann", []byte("words"))
	say(1, true, u)
	for n := range byte(3 * looks) {
		say(n+2, false, u)
	}
	_, err := s.Find(t.Context(), "bob", u.ID, Place{})
	w.ok(err)
	w.code("another one names it", s.Drop(t.Context(), "ann", u.ID), im.CodePermissionDenied)

	back, waits := w.up(s, "bob", []byte("back")), w.up(s, "bob", []byte("waits"))
	say(200, false, back)
	w.ok(s.Drop(t.Context(), "bob", back.ID))
	_, err = s.Find(t.Context(), "bob", back.ID, Place{})
	w.code("deleted", err, im.CodeNotFound)
	_, err = s.Name(t.Context(), im.MediaName{Conversation: "dm:bob:bob", Sender: "bob", ID: im.NewMessageID(w.now, [10]byte{201})}, []string{waits.ID}, true)
	w.ok(err)
	w.code("about to be stored", s.Drop(t.Context(), "bob", waits.ID), im.CodePermissionDenied)
}

// What a message names stays, and what none names any more goes after a day: whether it
// never was, the message was not stored, or was taken back.
func TestThrownAway(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	never, stays, refused, back, copied := w.up(s, "ann", []byte("never")), w.up(s, "ann", []byte("stays")), w.up(s, "ann", []byte("refused")), w.up(s, "ann", []byte("back")), w.up(s, "ann", []byte("copied"))
	w.say(s, "ann", 1, nil, stays.ID, copied.ID)
	gone := w.say(s, "ann", 2, nil, refused.ID)
	delete(w.said.messages, gone.ID)
	taken := w.say(s, "ann", 3, nil, back.ID)
	again := w.say(s, "bob", 4, nil, copied.ID) // a copy
	there := func(u im.Upload) bool {
		_, err := s.Find(t.Context(), "ann", u.ID, Place{})
		return err == nil
	}
	pass := func(d time.Duration) {
		t.Helper()
		w.now = w.now.Add(d)
		w.ok(s.Sweep(t.Context()))
	}
	pass(unnamedTime - time.Minute)
	if !there(never) || !there(refused) {
		t.Error("thrown away early")
	}
	pass(time.Minute)
	if there(never) {
		t.Error("what was never named is there")
	}
	w.ok(s.Doubt(t.Context(), []im.MediaName{taken, again}))
	delete(w.said.messages, taken.ID)
	delete(w.said.messages, again.ID)
	pass(checkAfter)
	if !there(back) {
		t.Error("thrown away before its day")
	}
	pass(unnamedTime)
	if there(refused) || there(back) {
		t.Error("what nothing names is there")
	}
	for range 40 {
		pass(checkAgain)
	}
	if !there(stays) || !there(copied) || string(w.content(s, copied)) != "copied" {
		t.Error("what a message names was thrown away")
	}
	if left := w.blobs(); len(left) != 2 {
		t.Errorf("%v", left)
	}
}

// Of a conversation that is damaged nobody can tell what names uploads: those stay, and it is
// told. However many they are, what others do not name any more is thrown away.
func TestDamagedConversationHoldsItsOwnAlone(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	kept, spent := w.up(s, "ann", []byte("in a damaged conversation")), w.up(s, "ann", []byte("taken back"))
	w.said.damaged = "grp:damaged"
	for n := range page + 50 {
		name := im.MediaName{Conversation: w.said.damaged, Sender: "ann", ID: im.NewMessageID(w.now, [10]byte{8: byte(n), 9: byte(n >> 8)})}
		_, err := s.Name(t.Context(), name, []string{kept.ID}, false)
		w.ok(err)
	}
	w.now = w.now.Add(time.Minute)
	delete(w.said.messages, w.say(s, "ann", 1, nil, spent.ID).ID)
	told := 0
	for range 3 {
		w.now = w.now.Add(unnamedTime + checkAfter)
		if err := s.Sweep(t.Context()); errors.Is(err, im.ErrJournalDamaged) {
			told++
		} else {
			w.ok(err)
		}
	}
	if told != 3 {
		t.Errorf("told %d times, want 3", told)
	}
	_, err := w.db.Upload(t.Context(), spent.ID)
	w.code("what nothing names", err, im.CodeNotFound)
	_, err = w.db.Upload(t.Context(), kept.ID)
	w.ok(err)
}
