package messaging

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// reacting makes a message a reaction to an entry.
func reacting(m im.Message, target uint64, reaction string, remove bool) im.Message {
	m.Kind, m.Target = im.EntryReaction, target
	m.Body, m.Hash = entrycodec.React(m.Conversation, target, &wire.React{Reaction: reaction, Remove: remove})
	return m
}

func (w *world) react(u im.UserID, c im.ConversationID, target uint64, reaction string, remove bool) (im.Ack, error) {
	w.t.Helper()
	return w.send(u, reacting(im.Message{Conversation: c, ID: w.early()}, target, reaction, remove))
}

// totals are the reactions of an entry as its reader is told them; * is theirs.
func (w *world) totals(u im.UserID, c im.ConversationID, seq uint64) string {
	w.t.Helper()
	var b strings.Builder
	for _, r := range w.told(u, c, seq).Reactions {
		fmt.Fprintf(&b, "%s%d%s ", r.Reaction, r.Count, map[bool]string{true: "*"}[r.Mine])
	}
	return strings.TrimSpace(b.String())
}

// who reacted, read in pages.
func (w *world) who(u im.UserID, c im.ConversationID, seq uint64, reaction string, page int) (out []string) {
	w.t.Helper()
	for after := (entrycodec.Record{}); ; {
		got, more, err := w.Reactions(w.t.Context(), im.Actor{User: u}, c, seq, reaction, after, page)
		if err != nil {
			return []string{err.Error()}
		}
		for _, r := range got {
			out = append(out, string(r.User)+r.Reaction)
		}
		if !more {
			slices.Sort(out)
			return out
		}
		after = got[len(got)-1]
	}
}

// Reactions come and go; who reads the message sees how many there are, and theirs.
func TestReactionsAreTold(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, "lunch?")
	for _, tt := range []struct {
		by         im.UserID
		reaction   string
		remove     bool
		stored     bool
		bob, alice string
	}{
		{"bob", "👍", true, false, "", ""},
		{"bob", "👍", false, true, "👍1*", "👍1"},
		{"bob", "👍", false, false, "👍1*", "👍1"},
		{"alice", "👍", false, true, "👍2*", "👍2*"},
		{"alice", "ok", false, true, "👍2* ok1", "👍2* ok1*"},
		{"bob", "👍", true, true, "👍1 ok1", "👍1* ok1*"},
		{"alice", "👍", true, true, "ok1", "ok1*"},
	} {
		before := len(w.journal.entries[ab])
		ack, err := w.react(tt.by, ab, seq, tt.reaction, tt.remove)
		if err != nil || (ack.Seq != 0) != tt.stored || (len(w.journal.entries[ab]) > before) != tt.stored {
			t.Errorf("%+v: %+v, %v", tt, ack, err)
		}
		if b, a := w.totals("bob", ab, seq), w.totals("alice", ab, seq); b != tt.bob || a != tt.alice {
			t.Errorf("%+v: bob is told %q, alice %q", tt, b, a)
		}
	}
	if _, err := w.edit("alice", ab, seq, "dinner?"); err != nil {
		t.Fatal(err)
	}
	if e := w.told("bob", ab, seq); e.GetContent().GetText() != "dinner?" || len(e.Reactions) != 1 {
		t.Errorf("after an edit: %v", e)
	}
	if _, err := w.send("alice", recalling(im.Message{Conversation: ab, ID: w.early()}, seq)); err != nil {
		t.Fatal(err)
	}
	_, err := w.react("bob", ab, seq, "👍", false)
	wantCode(t, err, im.CodeTooLate)
	if got := w.who("bob", ab, seq, "", 9); len(got) != 0 || w.totals("bob", ab, seq) != "" {
		t.Errorf("of what was taken back: %v", got)
	}
}

// The delivered entry tells the kind that it is about; a resend is the same reaction, also
// when it would change nothing any more.
func TestReactionAgain(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, "hi")
	m := reacting(im.Message{Conversation: ab, ID: w.early()}, seq, "👍", false)
	first, err := w.send("bob", m)
	if err != nil || first.Seq == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	for range 2 {
		if ack, err := w.send("bob", m); err != nil || ack.Seq != first.Seq {
			t.Errorf("%+v, %v; want %d", ack, err, first.Seq)
		}
		if _, err := w.react("bob", ab, seq, "👍", true); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.totals("bob", ab, seq); got != "" {
		t.Errorf("a resend brought it back: %s", got)
	}
	var e wire.Entry
	if err := entrycodec.Decode(w.delivered(ab, first.Seq).Body, &e); err != nil {
		t.Fatal(err)
	}
	if len(e.Reactions) != 1 || e.Reactions[0].Count != 1 || e.Reactions[0].Mine || e.GetReact().GetReaction() != "👍" {
		t.Errorf("told: %v", &e)
	}
}

// One that another node may have stored is looked for there, and is no refusal when it was
// not and changes nothing.
func TestReactionInDoubt(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.say("alice", ab, "hi")
	if _, err := w.react("bob", ab, seq, "👍", false); err != nil {
		t.Fatal(err)
	}
	m := reacting(im.Message{Conversation: ab, ID: w.early()}, seq, "👍", false)
	got := make(chan outcome, 1)
	w.Send(t.Context(), im.Actor{User: "bob", Doubt: true}, m, func(a im.Ack, err error) { got <- outcome{a, err} })
	if o := <-got; o.err != nil || o.ack.Seq != 0 {
		t.Errorf("%+v", o)
	}
}

// Who may write may react to what is theirs to read; the kinds are bounded.
func TestWhoMayReact(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	w.members.add("carol", im.Membership{Conversation: "grp:g", First: 2})
	w.members.add("alice", im.Membership{Conversation: "grp:g", First: 1})
	seq := w.say("alice", "grp:g", "one")
	next := w.say("alice", "grp:g", "two")
	_, err := w.react("carol", "grp:g", seq, "👍", false)
	wantCode(t, err, im.CodeNotFound)
	if got := w.who("carol", "grp:g", seq, "", 9); !strings.Contains(got[0], "no such message") {
		t.Errorf("who may not read the message reads who reacted: %v", got)
	}
	ack, err := w.react("carol", "grp:g", next, "👍", false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.react("carol", "grp:g", ack.Seq, "👍", false)
	wantCode(t, err, im.CodeNotFound)
	for n := range entrycodec.MaxReactions - 1 {
		if _, err := w.react("alice", "grp:g", next, fmt.Sprint("r", n), false); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.react("alice", "grp:g", next, "one more", false)
	wantCode(t, err, im.CodeTooLarge)
	// Who leaves keeps theirs.
	w.members.set("carol", im.Membership{Conversation: "grp:g", First: 2, Until: next})
	if got := w.who("alice", "grp:g", next, "👍", 9); !slices.Equal(got, []string{"carol👍"}) {
		t.Errorf("%v", got)
	}
}

// Many react at once, from several devices, more than a message carries itself: each
// counts once, in this process and in one beside others.
func TestReactionsAtOnce(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared=", shared), func(t *testing.T) {
			w := newWorld(t, atStored(time.Minute), func(o *Options) {
				if shared {
					o.Known = func(im.ConversationID) (im.Head, bool) { return im.Head{}, false }
				}
			})
			const users = 300
			for u := range users {
				w.members.add(im.UserID(fmt.Sprint("user", u)), im.Membership{Conversation: "grp:g", First: 1})
			}
			seq := w.say("user0", "grp:g", "vote")
			var got []<-chan outcome
			for u := range users {
				for range 1 + u%2 { // two devices of some
					m := reacting(im.Message{Conversation: "grp:g", ID: w.early()}, seq, []string{"yes", "no"}[u%3%2], false)
					got = append(got, w.start(im.UserID(fmt.Sprint("user", u)), m))
				}
			}
			stored := 0
			for _, c := range got {
				o := <-c
				if o.err != nil {
					t.Error(o.err)
				}
				if o.ack.Seq != 0 {
					stored++
				}
			}
			if stored != users || len(w.journal.entries["grp:g"]) != users+1 {
				t.Errorf("%d of %d were stored, in %d entries", stored, len(got), len(w.journal.entries["grp:g"]))
			}
			if s := w.totals("user0", "grp:g", seq); s != "yes200* no100" && s != "no100 yes200*" {
				t.Errorf("told: %s", s)
			}
			for _, page := range []int{7, 1000} {
				if n := len(w.who("user1", "grp:g", seq, "", page)); n != users {
					t.Errorf("%d reacted, in pages of %d", n, page)
				}
			}
			if n := len(w.who("user1", "grp:g", seq, "no", 9)); n != users/3 {
				t.Errorf("%d said no", n)
			}
		})
	}
}
