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

// asking makes a message a poll with options a, b, c.
func asking(m im.Message, p *wire.Poll) im.Message {
	for _, id := range []string{"a", "b", "c"} {
		p.Options = append(p.Options, &wire.PollOption{Id: id})
	}
	m.Kind = im.EntryMessage
	m.Body, m.Hash = entrycodec.Message(m.Conversation, &wire.Send{Content: &wire.Content{Type: "poll", Body: &wire.Content_Text{Text: "?"}}, Poll: p})
	return m
}

func (w *world) ask(u im.UserID, c im.ConversationID, p *wire.Poll) uint64 {
	w.t.Helper()
	ack, err := w.send(u, asking(im.Message{Conversation: c, ID: w.early()}, p))
	if err != nil {
		w.t.Fatal(err)
	}
	return ack.Seq
}

func voting(m im.Message, target uint64, options ...string) im.Message {
	m.Kind, m.Target = im.EntryVote, target
	m.Body, m.Hash = entrycodec.Vote(m.Conversation, target, &wire.Vote{Options: options})
	return m
}

func (w *world) vote(u im.UserID, c im.ConversationID, target uint64, options ...string) (im.Ack, error) {
	w.t.Helper()
	return w.send(u, voting(im.Message{Conversation: c, ID: w.early()}, target, options...))
}

func (w *world) endPoll(u im.UserID, c im.ConversationID, target uint64) (im.Ack, error) {
	w.t.Helper()
	return w.send(u, im.Message{Conversation: c, ID: w.early(), Kind: im.EntryPollEnd, Target: target, Hash: entrycodec.PollEndHash(c, target)})
}

func pollOf(p *wire.Poll) string {
	var b strings.Builder
	for _, o := range p.GetOptions() {
		fmt.Fprintf(&b, "%s%d%s ", o.Id, o.Votes, map[bool]string{true: "*"}[o.Mine])
	}
	fmt.Fprintf(&b, "of %d", p.GetVoters())
	if p.GetEndedAtMs() != 0 {
		b.WriteString(" ended")
	}
	return b.String()
}

// poll is a poll as its reader is told it; * is theirs.
func (w *world) poll(u im.UserID, c im.ConversationID, seq uint64) string {
	w.t.Helper()
	return pollOf(w.told(u, c, seq).Poll)
}

func (w *world) voters(u im.UserID, c im.ConversationID, seq uint64, option string, page int) (out []string) {
	w.t.Helper()
	for after := im.UserID(""); ; {
		got, more, err := w.Votes(w.t.Context(), im.Actor{User: u}, c, seq, option, after, page)
		if err != nil {
			return []string{err.Error()}
		}
		for _, v := range got {
			out = append(out, v.User+":"+strings.Join(v.Options, ""))
		}
		if !more {
			slices.Sort(out)
			return out
		}
		after = im.UserID(got[len(got)-1].User)
	}
}

// Votes are set, changed and taken back; who reads the poll sees the totals and theirs,
// beside reactions, which are counted by themselves.
func TestVotes(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	one, many := w.ask("alice", ab, &wire.Poll{}), w.ask("alice", ab, &wire.Poll{Multiple: true})
	if _, err := w.react("bob", ab, many, "👍", false); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		by         im.UserID
		poll       uint64
		options    []string
		stored     bool
		bob, alice string
	}{
		{"bob", one, nil, false, "a0 b0 c0 of 0", "a0 b0 c0 of 0"},
		{"bob", one, []string{"a"}, true, "a1* b0 c0 of 1", "a1 b0 c0 of 1"},
		{"bob", one, []string{"a"}, false, "a1* b0 c0 of 1", "a1 b0 c0 of 1"},
		{"alice", one, []string{"a"}, true, "a2* b0 c0 of 2", "a2* b0 c0 of 2"},
		{"bob", one, []string{"c"}, true, "a1 b0 c1* of 2", "a1* b0 c1 of 2"},
		{"bob", one, nil, true, "a1 b0 c0 of 1", "a1* b0 c0 of 1"},
		{"bob", many, []string{"c", "a"}, true, "a1* b0 c1* of 1", "a1 b0 c1 of 1"},
		{"bob", many, []string{"a", "c"}, false, "a1* b0 c1* of 1", "a1 b0 c1 of 1"},
		{"alice", many, []string{"a", "b", "c"}, true, "a2* b1 c2* of 2", "a2* b1* c2* of 2"},
		{"bob", many, []string{"b"}, true, "a1 b2* c1 of 2", "a1* b2* c1* of 2"},
	} {
		before := len(w.journal.entries[ab])
		ack, err := w.vote(tt.by, ab, tt.poll, tt.options...)
		if err != nil || (ack.Seq != 0) != tt.stored || (len(w.journal.entries[ab]) > before) != tt.stored {
			t.Errorf("%+v: %+v, %v", tt, ack, err)
		}
		if b, a := w.poll("bob", ab, tt.poll), w.poll("alice", ab, tt.poll); b != tt.bob || a != tt.alice {
			t.Errorf("%+v: bob is told %q, alice %q", tt, b, a)
		}
	}
	if got := w.voters("bob", ab, many, "", 1); !slices.Equal(got, []string{"alice:abc", "bob:b"}) {
		t.Errorf("%v", got)
	}
	if got := w.voters("bob", ab, many, "a", 9); !slices.Equal(got, []string{"alice:abc"}) {
		t.Errorf("%v", got)
	}
	if got := w.who("bob", ab, many, "", 9); !slices.Equal(got, []string{"bob👍"}) {
		t.Errorf("reactions: %v", got)
	}
	if got := w.totals("bob", ab, many); got != "👍1*" {
		t.Errorf("reactions: %v", got)
	}
}

// What cannot be voted in, or for, is refused; so is an edit of a poll.
func TestBadVotes(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq, plain := w.ask("alice", ab, &wire.Poll{}), w.say("alice", ab, "hi")
	vote := func(target uint64, options ...string) error {
		_, err := w.vote("bob", ab, target, options...)
		return err
	}
	wantCode(t, vote(plain, "a"), im.CodeNotFound)
	wantCode(t, vote(99, "a"), im.CodeNotFound)
	wantCode(t, vote(seq, "d"), im.CodeNotFound)
	wantCode(t, vote(seq, "a", "b"), im.CodeInvalidArgument)
	_, err := w.edit("alice", ab, seq, "something else")
	wantCode(t, err, im.CodePermissionDenied)
	if got := w.voters("bob", ab, plain, "", 9); !strings.Contains(got[0], "no poll") {
		t.Errorf("%v", got)
	}
	if err := vote(seq, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.send("alice", recalling(im.Message{Conversation: ab, ID: w.early()}, seq)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, vote(seq, "b"), im.CodeTooLate)
	_, err = w.endPoll("alice", ab, seq)
	wantCode(t, err, im.CodeTooLate)
	if got := w.voters("bob", ab, seq, "", 9); len(got) != 0 || w.told("bob", ab, seq).Poll != nil {
		t.Errorf("of what was taken back: %v", got)
	}
}

// A poll ends when its author says so, or when its time is over; then it is as it is.
func TestPollEnds(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.ask("alice", ab, &wire.Poll{})
	if _, err := w.vote("bob", ab, seq, "a"); err != nil {
		t.Fatal(err)
	}
	w.members.recall = im.Errorf(im.CodePermissionDenied, "no")
	_, err := w.endPoll("bob", ab, seq)
	wantCode(t, err, im.CodePermissionDenied)
	for n := range 2 {
		if ack, err := w.endPoll("alice", ab, seq); err != nil || (ack.Seq != 0) != (n == 0) {
			t.Errorf("%+v, %v", ack, err)
		}
	}
	_, err = w.vote("bob", ab, seq)
	wantCode(t, err, im.CodeTooLate)
	if got := w.poll("bob", ab, seq); got != "a1* b0 c0 of 1 ended" {
		t.Error(got)
	}
	over := w.ask("alice", ab, &wire.Poll{UntilMs: w.now().UnixMilli()})
	_, err = w.vote("bob", ab, over, "a")
	wantCode(t, err, im.CodeTooLate)
	open := w.ask("alice", ab, &wire.Poll{UntilMs: w.now().Add(time.Hour).UnixMilli()})
	if _, err = w.vote("bob", ab, open, "a"); err != nil {
		t.Error(err)
	}
}

// Of an anonymous poll nothing that is delivered, read or kept beside an entry of its own
// says who chose what; a user is told their own.
func TestAnonymousPoll(t *testing.T) {
	w := newWorld(t, atStored(time.Minute))
	seq := w.ask("alice", ab, &wire.Poll{Anonymous: true})
	ack, err := w.vote("bob", ab, seq, "b")
	if err != nil {
		t.Fatal(err)
	}
	if got := w.poll("bob", ab, seq) + ", " + w.poll("alice", ab, seq); got != "a0 b1* c0 of 1, a0 b1 c0 of 1" {
		t.Error(got)
	}
	if got := w.voters("alice", ab, seq, "", 9); !strings.Contains(got[0], "anonymous") {
		t.Errorf("%v", got)
	}
	if body := w.journal.entries[ab][ack.Seq-1].Body; len(body) != 0 {
		t.Errorf("the entry keeps %q", body)
	}
	var e wire.Entry
	if err := entrycodec.Decode(w.delivered(ab, ack.Seq).Body, &e); err != nil || e.Vote != nil || pollOf(e.Poll) != "a0 b1 c0 of 1" {
		t.Errorf("told: %v, %v", &e, err)
	}
}

// Many vote at once, change their minds and come twice, more than a message carries
// itself: each counts once, in this process and in one beside others.
func TestVotesAtOnce(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared=", shared), func(t *testing.T) {
			w := newWorld(t, atStored(time.Minute), func(o *Options) {
				if shared {
					o.Known = func(im.ConversationID) (im.Head, bool) { return im.Head{}, false }
				}
			})
			const users = 200
			user := func(u int) im.UserID { return im.UserID(fmt.Sprint("user", u)) }
			for u := range users {
				w.members.add(user(u), im.Membership{Conversation: "grp:g", First: 1})
			}
			seq := w.ask("user0", "grp:g", &wire.Poll{Multiple: true})
			for round := range 2 {
				var got []<-chan outcome
				for u := range users {
					got = append(got, w.start(user(u), voting(im.Message{Conversation: "grp:g", ID: w.early()}, seq, [][]string{{"a"}, {"b", "c"}}[(u+round)%2]...)))
				}
				for _, c := range got {
					if o := <-c; o.err != nil || o.ack.Seq == 0 {
						t.Errorf("%+v", o)
					}
				}
			}
			if got := w.poll("user0", "grp:g", seq); got != "a100 b100* c100* of 200" {
				t.Error(got)
			}
			for _, page := range []int{7, 1000} {
				if n := len(w.voters("user1", "grp:g", seq, "", page)); n != users {
					t.Errorf("%d voted, in pages of %d", n, page)
				}
			}
			if n := len(w.voters("user1", "grp:g", seq, "a", 9)); n != users/2 {
				t.Errorf("%d chose a", n)
			}
		})
	}
}
