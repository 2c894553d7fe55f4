package messaging

import (
	"errors"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// A message that another node had before is refused here by the group's roster. If
// the journal is at the revision that says so, what the other node decided by an
// earlier one cannot be stored any more, and the answer says that. In all other
// cases it may be stored yet.
func TestARefusalThatSettles(t *testing.T) {
	no := im.Errorf(im.CodePermissionDenied, "you are no member")
	g := im.Group("g")
	for name, c := range map[string]struct {
		to              im.ConversationID
		journal, denied uint64 // the roster's revisions
		err             error
		doubt, want     bool
	}{
		"removed":                                   {g, 2, 2, no, true, true},
		"removed, and nobody else had it":           {g, 2, 2, no, false, false},
		"refused by a roster that is not there yet": {g, 1, 2, no, true, false},
		"refused by one that is not the last":       {g, 3, 2, no, true, false},
		"muted, by this node's clock":               {g, 2, 2, im.Errorf(im.CodeMuted, "you are muted"), true, false},
		"blocked in a dm":                           {ab, 0, 0, no, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustSend("alice", c.to, "before")
			for rev := range c.journal {
				if _, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: c.to, Event: im.Event{Type: im.EventMemberRemoved}, IfRoster: rev, SetRoster: rev + 1}, nil); err != nil {
					t.Fatal(err)
				}
			}
			w.members.setRoster(c.to, c.denied)
			w.members.Refresh(c.to)
			w.members.deny["alice"] = c.err
			m := w.message(c.to, "given to another node before")
			got := make(chan error, 1)
			w.Send(t.Context(), im.Actor{User: "alice", Doubt: c.doubt}, m, func(_ im.Ack, err error) { got <- err })
			err := <-got
			var e *im.Error
			if !errors.As(err, &e) || e.Code != im.CodeOf(c.err) || e.Settled != c.want {
				t.Fatalf("%+v, want settled %v", err, c.want)
			}
			if !c.want {
				return
			}
			for rev := range c.journal { // whatever the other node had decided by
				batch := [1]im.Append{{Entry: im.Entry{Conversation: c.to, ID: m.ID, Sender: "alice", Kind: m.Kind, Body: m.Body}, Hash: m.Hash, IfRoster: rev}}
				var out [1]im.Appended
				if err := w.journal.Append(t.Context(), batch[:], out[:]); err != nil || out[0].Status != im.RosterChanged {
					t.Errorf("it is stored after all, by revision %d: %+v, %v", rev, out[0], err)
				}
			}
		})
	}
}

// What was stored by the other node before is found, and acknowledged.
func TestNothingIsSettledThatIsStored(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	m := w.message(g, "stored by the other node")
	w.wantOutcome(w.start("alice", m), "before", 1, "")
	if _, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: g, Event: im.Event{Type: im.EventMemberRemoved}, SetRoster: 1}, nil); err != nil {
		t.Fatal(err)
	}
	w.members.setRoster(g, 1)
	w.members.Refresh(g)
	w.members.deny["alice"] = im.Errorf(im.CodePermissionDenied, "you are no member")
	got := make(chan outcome, 1)
	w.Send(t.Context(), im.Actor{User: "alice", Doubt: true}, m, func(a im.Ack, err error) { got <- outcome{a, err} })
	w.wantOutcome(got, "asked of another node", 1, "")
}
