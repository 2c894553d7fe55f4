package skein

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// counted is a poll as its message tells it; * is the user's own.
func counted(m *Message) (s string) {
	for _, o := range m.Poll.GetOptions() {
		s += fmt.Sprintf("%s%d%s ", o.Id, o.Votes, map[bool]string{true: "*"}[o.Mine])
	}
	if m.Poll.GetEndedAtMs() != 0 {
		s += "ended"
	}
	return s
}

// votes counts a vote, or ends the poll, in the target, and sets what the entry tells of it.
func (f *fake) votes(t, e *wire.Entry) *wire.Entry {
	p := &wire.Poll{Anonymous: t.Poll.Anonymous, EndedAtMs: t.Poll.EndedAtMs}
	if e.Kind == wire.EntryKind_ENTRY_KIND_POLL_END {
		p.EndedAtMs = e.StoredAtMs
	}
	if f.voted == nil {
		f.voted = map[string][]string{}
	}
	if e.Vote != nil {
		f.voted[e.Sender] = e.Vote.Options
	}
	told := &wire.Poll{Anonymous: p.Anonymous, EndedAtMs: p.EndedAtMs}
	for _, o := range t.Poll.Options {
		n := uint32(0)
		for _, chosen := range f.voted {
			if slices.Contains(chosen, o.Id) {
				n++
			}
		}
		told.Options = append(told.Options, &wire.PollOption{Id: o.Id, Votes: n})
		p.Options = append(p.Options, &wire.PollOption{Id: o.Id, Votes: n, Mine: slices.Contains(f.voted[f.user], o.Id)})
	}
	t.Poll, e.Poll, t.Amended = p, told, e.Seq
	if p.Anonymous {
		e.Vote, e.Sender = nil, ""
	}
	return t
}

// Votes that are pushed are counted in their poll, others' and the user's own; of an
// anonymous one the user keeps what they chose; who was away learns what it comes to.
func TestVotes(t *testing.T) {
	for _, anonymous := range []bool{false, true} {
		t.Run(fmt.Sprint("anonymous=", anonymous), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.do(func() {
					r.append(nil, &wire.Entry{
						Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
						Content: &wire.Content{Type: "poll", Body: &wire.Content_Text{Text: "{}"}},
						Poll:    &wire.Poll{Options: []*wire.PollOption{{Id: "a"}, {Id: "b"}}, Anonymous: anonymous},
					})
				})
				r.dial()
				check := func(what, want string) {
					t.Helper()
					pause(time.Minute)
					ms, err := r.c.Conversation(dm).History(bg, 0, 10)
					if err != nil || len(ms) != 1 {
						t.Fatalf("%v, %v", ms, err)
					}
					eq(t, what, counted(ms[0]), want)
					r.checkStore(dm)
				}
				push := func(kind wire.EntryKind, by string, options ...string) {
					r.do(func() {
						e := &wire.Entry{Conversation: dm, Sender: by, Kind: kind, Target: 1}
						if kind == wire.EntryKind_ENTRY_KIND_VOTE {
							e.Vote = &wire.Vote{Options: options}
						}
						r.append(nil, e)
					})
				}
				const vote = wire.EntryKind_ENTRY_KIND_VOTE
				check("none", "a0 b0 ")
				push(vote, "bob", "a")
				check("one", "a1 b0 ")
				if anonymous {
					push(vote, r.user, "a", "b")
					if err := r.c.do(bg, func(k *core) { k.voted(dm, 1, []string{"a", "b"}) }); err != nil {
						t.Fatal(err)
					}
				} else {
					push(vote, r.user, "a", "b")
				}
				check("the user's", "a2* b1* ")
				push(vote, "bob")
				check("the user's stays", "a1* b1* ")
				r.end()
				push(vote, r.user, "b")
				push(vote, "bob", "b")
				r.dial()
				check("after an absence", "a0 b2* ")
				push(wire.EntryKind_ENTRY_KIND_POLL_END, "bob")
				check("ended", "a0 b2* ended")
				r.takeBack(dm, 1)
				check("taken back", "")
			})
		})
	}
}
