package search_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/internal/search/sqlite"
	"github.com/skein-im/skein/internal/search/token"
	"github.com/skein-im/skein/wire"
)

// journal is what is followed: entry n has position n+1.
type journal struct {
	entries []im.Entry
	era     uint64
}

func (j *journal) After(_ context.Context, after im.Place, limit int) (im.Followed, error) {
	if after != (im.Place{}) && (after.Era != j.era || after.Pos > uint64(len(j.entries))) {
		return im.Followed{}, im.ErrOtherHistory
	}
	now := im.Place{Era: j.era, Pos: uint64(len(j.entries))}
	end := min(after.Pos+uint64(limit), now.Pos)
	return im.Followed{Entries: j.entries[after.Pos:end:end], UpTo: now.At(end), Now: now}, nil
}

func (j *journal) Agree(_ context.Context, p im.Place) (im.Place, error) { return im.Place{}, nil }

func (j *journal) Read(_ context.Context, c im.ConversationID, from uint64, _ bool, _ int) ([]im.Entry, error) {
	for _, e := range j.entries {
		if e.Conversation == c && e.Seq == from {
			return []im.Entry{e}, nil
		}
	}
	return nil, nil
}

func (j *journal) at(c im.ConversationID, seq uint64) *im.Entry {
	i := slices.IndexFunc(j.entries, func(e im.Entry) bool { return e.Conversation == c && e.Seq == seq })
	return &j.entries[i]
}

// add stores an entry.
func (j *journal) add(c im.ConversationID, kind im.EntryKind, target uint64, text string) {
	e := im.Entry{Conversation: c, Seq: 1, Kind: kind, Target: target, Sender: "ann", Pos: uint64(len(j.entries)) + 1, Stored: time.UnixMilli(1_760_000_000_000 + int64(len(j.entries))*1000)}
	for i := range j.entries {
		if j.entries[i].Conversation == c {
			e.Seq++
		}
	}
	if text != "" {
		e.Body = bodyOf(&wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}})
	}
	j.entries = append(j.entries, e)
	switch kind {
	case im.EntryEdit:
		t := j.at(c, target)
		t.Body, t.Amended = e.Body, e.Seq
	case im.EntryRecall:
		t := j.at(c, target)
		t.Body, t.Amended, t.Recalled = nil, e.Seq, true
	}
}

func bodyOf(c *wire.Content) []byte {
	body, _ := entrycodec.Message("grp:a", &wire.Send{Content: c})
	return body
}

// fill stores a history in which things change: message n of each conversation says wn.
func (j *journal) fill() {
	for n := range 60 {
		for _, c := range []im.ConversationID{"grp:a", "dm:ann:bob"} {
			j.add(c, im.EntryMessage, 0, fmt.Sprintf("w%d all 中文%d", n, n))
		}
		switch n % 10 {
		case 3:
			j.add("grp:a", im.EntryRecall, j.last("grp:a", n), "")
		case 5:
			j.add("grp:a", im.EntryEdit, j.last("grp:a", n), fmt.Sprintf("edited%d all", n))
		case 7:
			j.add("grp:a", im.EntryReaction, j.last("grp:a", n), "")
		}
	}
}

// last finds message n of a conversation.
func (j *journal) last(c im.ConversationID, n int) uint64 {
	for _, e := range slices.Backward(j.entries) {
		if e.Conversation == c && e.Kind == im.EntryMessage {
			return e.Seq
		}
	}
	panic(n)
}

// places is who works, in a directory that keeps nothing of this.
type places struct{}

func (places) Follower(context.Context, string, int) (im.FollowerState, error) {
	return im.FollowerState{Place: im.Place{Era: 99, Pos: 99}}, nil
}
func (places) LeadFollower(context.Context, im.FollowerState, string) (bool, error) { return true, nil }
func (places) SaveFollower(context.Context, im.FollowerState) (bool, error)         { return true, nil }
func (places) LeaveFollower(context.Context, string, int, string) error             { return nil }
func (places) SetAside(context.Context, im.SetAside) error                          { return nil }

var errKilled = errors.New("killed")

// killed is an index whose process is killed at one of its calls: before it is done, or
// behind.
type killed struct {
	search.Index
	at, n  int
	behind bool
}

func (k *killed) call(do func() error) error {
	k.n++
	if k.n == k.at && !k.behind || k.n > k.at {
		return errKilled
	}
	err := do()
	if k.n == k.at {
		err = errKilled
	}
	return err
}

func (k *killed) Apply(ctx context.Context, docs []search.Doc) error {
	return k.call(func() error { return k.Index.Apply(ctx, docs) })
}

func (k *killed) SaveState(ctx context.Context, s search.State) error {
	return k.call(func() error { return k.Index.SaveState(ctx, s) })
}

func (k *killed) Reset(ctx context.Context) error {
	return k.call(func() error { return k.Index.Reset(ctx) })
}

// follow is what a feed does, until it has all or an error.
func follow(t *testing.T, index search.Index, j *journal) error {
	x := search.NewIndexer(index, j, places{}, slog.New(slog.DiscardHandler), nil)
	s, err := x.Follower(t.Context(), "search", 0)
	if err != nil {
		return err
	}
	for {
		got, err := x.After(t.Context(), s.Place, 25)
		if errors.Is(err, im.ErrOtherHistory) {
			if s.Place, err = x.Agree(t.Context(), s.Place); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := x.Handle(t.Context(), got.Entries); err != nil {
			return err
		}
		s.Place = got.UpTo
		if _, err := x.SaveFollower(t.Context(), s); err != nil {
			return err
		}
		if got.UpTo == got.Now {
			return nil
		}
	}
}

// lines are all that an index has: each word with what it finds.
func lines(t *testing.T, index search.Index) (out []string) {
	t.Helper()
	words := []string{"all", "中文"}
	for n := range 60 {
		words = append(words, fmt.Sprintf("w%d", n), fmt.Sprintf("edited%d", n))
	}
	for _, w := range words {
		hits, err := index.Find(t.Context(), search.Find{Conversations: []im.ConversationID{"grp:a", "dm:ann:bob"}, Terms: []token.Term{{Text: w}}, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			out = append(out, fmt.Sprintf("%s: %s/%d@%d", w, h.Conversation, h.Seq, h.Pos))
		}
	}
	s, err := index.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return append(out, fmt.Sprint(s.Place, s.Docs))
}

func open(t *testing.T) *sqlite.Index {
	index, err := sqlite.New(filepath.Join(t.TempDir(), "search.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	return index
}

// The index has what the journal says now: edits took the place of what was said, and
// what was recalled is not in it.
func TestFollows(t *testing.T) {
	j := &journal{era: 1}
	j.fill()
	index := open(t)
	if err := follow(t, index, j); err != nil {
		t.Fatal(err)
	}
	got := lines(t, index)
	for _, line := range []string{"w0: grp:a/1@1", "w0: dm:ann:bob/1@2", fmt.Sprint(im.Place{Era: 1, Pos: uint64(len(j.entries))}, 114)} {
		if !slices.Contains(got, line) {
			t.Errorf("%q is missing", line)
		}
	}
	count := map[string]int{}
	for _, line := range got {
		var w string
		fmt.Sscanf(line, "%s", &w)
		count[w]++
	}
	if count["all:"] != 114 || count["中文:"] != 108 || count["w3:"] != 1 || count["w5:"] != 1 || count["edited5:"] != 1 || count["w7:"] != 2 {
		t.Errorf("found %v", count)
	}
	// What is stored later comes to it.
	j.add("grp:a", im.EntryMessage, 0, "all w1")
	if err := follow(t, index, j); err != nil {
		t.Fatal(err)
	}
	if now := lines(t, index); len(now) != len(got)+2 {
		t.Errorf("%d lines, before %d", len(now), len(got))
	}
}

// Killed at any call, before it is done or behind it: the index is the same in the end.
func TestKilledAnywhere(t *testing.T) {
	j := &journal{era: 1}
	j.fill()
	whole := open(t)
	if err := follow(t, whole, j); err != nil {
		t.Fatal(err)
	}
	want := lines(t, whole)
	for at := 1; ; at++ {
		for _, behind := range []bool{false, true} {
			index := open(t)
			err := follow(t, &killed{Index: index, at: at, behind: behind}, j)
			if err == nil {
				if at < 10 {
					t.Fatalf("it was over after %d calls", at)
				}
				return
			}
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if err := follow(t, index, j); err != nil {
				t.Fatal(err)
			}
			if got := lines(t, index); !slices.Equal(got, want) {
				t.Fatalf("killed at call %d, behind it %t: %d lines, want %d", at, behind, len(got), len(want))
			}
		}
	}
}

// An index of another history, or of one that went back, is made anew; so is one that is
// gone, whatever the directory thinks of how far it was.
func TestAnew(t *testing.T) {
	j := &journal{era: 1}
	j.fill()
	index := open(t)
	if err := follow(t, index, j); err != nil {
		t.Fatal(err)
	}
	other := &journal{era: 2}
	other.add("grp:a", im.EntryMessage, 0, "all of another history")
	for _, at := range []int{1, 2, 3} { // killed on the way
		if err := follow(t, &killed{Index: index, at: at}, other); err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
	}
	if err := follow(t, index, other); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, index); !slices.Equal(got, []string{"all: grp:a/1@1", fmt.Sprint(im.Place{Era: 2, Pos: 1}, 1)}) {
		t.Errorf("the index has %q", got)
	}
	if err := index.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := follow(t, index, other); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, index); len(got) != 2 {
		t.Errorf("the index has %q", got)
	}
}
