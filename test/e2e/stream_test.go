package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/pg/pgtest"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// TestStreamKilled: a message grows while the server is killed again and again, and says
// all of it in the end; one whose author goes away half-way says what was durable, and is
// ended by the server, which was killed meanwhile.
func TestStreamKilled(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"embedded":   nil,
		"postgresql": {"--store", pgtest.Database(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamKilled(t, serve(t, t.TempDir(), append(args, "--set", "messaging.stream_silence=3s")...))
		})
	}
}

func streamKilled(t *testing.T, p *process) {
	ann, bob := join(t, p, "ann", 0), join(t, p, "bob", 1)
	befriend(t, ann, bob)
	dm := ann.DM("bob")
	silent, err := dm.Stream(t.Context(), "one")
	if err == nil {
		err = silent.Append(t.Context(), " two")
	}
	if err != nil {
		t.Fatal(err)
	}
	bob.until("what is durable", func([]skein.Event) bool {
		m := message(t, bob, dm.ID(), silent.Seq())
		return m != nil && m.Text == "one two"
	})
	s, err := dm.Stream(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	want := "0"
	say := func(what func() error) {
		for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // while it is killed
			err := what()
			if err == nil {
				return
			}
			if time.Now().After(until) {
				t.Fatal(err)
			}
		}
	}
	for n := 1; n <= 30; n++ {
		word := fmt.Sprintf(" %d", n)
		want += word
		next := word
		say(func() error {
			err := s.Append(t.Context(), next)
			next = ""
			return err
		})
		if n%10 == 0 {
			p.kill(t)
			p.Start(t)
		}
	}
	say(func() error { return s.End(t.Context()) })
	for _, who := range []*person{ann, bob} {
		who.until("all of it", func([]skein.Event) bool {
			m := message(t, who, dm.ID(), s.Seq())
			return m != nil && m.Text == want && !m.Streaming && !m.CutOff
		})
		who.until("the end of the silent one", func([]skein.Event) bool {
			m := message(t, who, dm.ID(), silent.Seq())
			return m != nil && m.Text == "one two" && !m.Streaming && m.CutOff
		})
	}
}

// TestStreamEndsInGroups: the server ends what nobody goes on with in a group, too: of a
// member, of one who was removed, and where the group is dismissed. Who reads it sees the
// end, nobody's messages wait for it, and the author may begin as many others.
func TestStreamEndsInGroups(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"embedded":   nil,
		"postgresql": {"--store", pgtest.Database(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamInGroups(t, serve(t, t.TempDir(), append(args, "--set", "messaging.stream_silence=3s", "--set", "messaging.streams_per_user=3")...))
		})
	}
}

func streamInGroups(t *testing.T, p *process) {
	ctx := t.Context()
	ann, bob := join(t, p, "ann", 0), join(t, p, "bob", 1)
	befriend(t, ann, bob)
	tea := must(ann.Groups().Create(ctx, "Tea", "bob"))(t).Conversation
	over := must(bob.Groups().Create(ctx, "Over", "ann"))(t).Conversation
	bob.reaches(tea, 1)
	ann.reaches(over, 1)
	type place struct {
		reader       *person
		conversation string
		seq          uint64
	}
	var silent []place
	begins := func(who, reader *person, c string) {
		t.Helper()
		s := must(who.Conversation(c).Stream(ctx, "one"))(t)
		silent = append(silent, place{reader, c, s.Seq()})
	}
	begins(ann, bob, tea)
	begins(bob, ann, tea)
	begins(bob, ann, over)
	begins(bob, ann, over)
	if _, err := ann.Groups().Remove(ctx, tea, "bob"); err != nil {
		t.Fatal(err)
	}
	if err := bob.Groups().Dismiss(ctx, over); err != nil {
		t.Fatal(err)
	}
	p.kill(t)
	p.Start(t)
	for _, s := range silent {
		ended := func() bool { // who was removed is told nothing of it, and asks
			var resp wire.ListEntriesResponse
			err := s.reader.Call(ctx, "skein.v1.MessageService/ListEntries", &wire.ListEntriesRequest{Conversation: s.conversation, From: s.seq, Limit: 1}, &resp)
			if err != nil || len(resp.Entries) == 0 {
				return false // no connection
			}
			e := resp.Entries[0]
			return e.Seq == s.seq && !e.Streaming && e.CutOff && e.GetContent().GetText() == "one"
		}
		for until := time.Now().Add(patience); !ended(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%s waited in vain for the end of %s#%d", s.reader.User(), s.conversation, s.seq)
			}
		}
	}
	ann.says(tea, "nobody waits")
	for range 3 { // as many as a user may have open
		must(bob.Saved().Stream(ctx, "again"))(t)
	}
}

// message is one that a device has, nil if it has not.
func message(t *testing.T, p *person, conversation string, seq uint64) *skein.Message {
	t.Helper()
	ms, err := p.Conversation(conversation).History(t.Context(), 0, 1000)
	if err != nil {
		return nil // no connection
	}
	i := slices.IndexFunc(ms, func(m *skein.Message) bool { return m.Seq == seq && m.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE })
	if i < 0 {
		return nil
	}
	return ms[i]
}
