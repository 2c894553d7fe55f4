package search_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
	"github.com/skein-im/skein/wire"
)

// reader may read all of a journal.
type reader struct {
	*journal
	bytes int // of what it was asked for
}

func (r *reader) Readable(context.Context, im.Actor, im.ConversationID) ([]im.Readable, error) {
	last := r.entries[len(r.entries)-1]
	return []im.Readable{{Conversation: last.Conversation, Newest: last.Pos, Windows: []im.Window{{First: 1, Until: last.Seq}}}}, nil
}

func (r *reader) Shown(_ context.Context, _ im.Actor, c im.ConversationID, seqs []uint64) (out []im.Entry, _ error) {
	for _, seq := range seqs {
		e := r.at(c, seq)
		r.bytes += len(e.Body)
		out = append(out, *e)
	}
	return out, nil
}

// What an index proposes and is not meant costs time as well: of long texts an answer looks
// through no more than some MiB, and tells where to go on. All that is meant is found by
// going on.
func TestLongTextsThatAreNotMeant(t *testing.T) {
	j := &journal{era: 1}
	var query strings.Builder
	for n := range 20 { // more words than an index is asked for
		fmt.Fprintf(&query, "w%d ", n)
	}
	long := strings.TrimSuffix(query.String(), "w19 ") + strings.Repeat("and some other words ", 2800)
	for n := range 200 {
		text := long
		if n%90 == 7 {
			text = query.String()
		}
		j.entries = append(j.entries, im.Entry{
			Conversation: "grp:a", Seq: uint64(n + 1), Pos: uint64(n + 1), Kind: im.EntryMessage, Sender: "ann", Stored: time.UnixMilli(1_760_000_000_000),
			Body: bodyOf(&wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}),
		})
	}
	index := open(t)
	if err := follow(t, index, j); err != nil {
		t.Fatal(err)
	}
	r := &reader{journal: j}
	s := search.New(index, search.NewIndexer(index, j, places{}, slog.New(slog.DiscardHandler), nil), r, nil)
	var found []uint64
	pages := 0
	for q := (search.Question{Query: query.String(), Conversation: "grp:a"}); ; pages++ {
		r.bytes = 0
		got, err := s.Search(t.Context(), im.Actor{User: "ann"}, q)
		if err != nil {
			t.Fatal(err)
		}
		if r.bytes > 6<<20 {
			t.Errorf("page %d looks through %d bytes", pages, r.bytes)
		}
		for _, f := range got.Found {
			found = append(found, f.Entry.Seq)
		}
		if q.Cursor = got.Next; q.Cursor == "" {
			break
		}
	}
	if fmt.Sprint(found) != "[188 98 8]" || pages < 2 {
		t.Errorf("found %v on %d pages", found, pages+1)
	}
}

// counted counts the questions to an index.
type counted struct {
	search.Index
	asked int
}

func (c *counted) Find(ctx context.Context, q search.Find) ([]search.Hit, error) {
	c.asked++
	return c.Index.Find(ctx, q)
}

// Who wants one message of many that are proposed and not meant, or not shown, asks the
// index a few times and not once for each two of them: with PostgreSQL and 24,000 messages
// of sixteen conversations that took 5 s, and sometimes more than a call may take.
func TestFewAreWantedOfManyThatAreNotMeant(t *testing.T) {
	for _, limit := range []int{1, 2, 50} {
		j := &journal{era: 1}
		var query strings.Builder
		for n := range 20 { // more words than an index is asked for
			fmt.Fprintf(&query, "w%d ", n)
		}
		for n := range 450 {
			text := strings.TrimSuffix(query.String(), "w19 ")
			if n == 3 {
				text = query.String()
			}
			j.entries = append(j.entries, im.Entry{
				Conversation: "grp:a", Seq: uint64(n + 1), Pos: uint64(n + 1), Kind: im.EntryMessage, Sender: "ann", Stored: time.UnixMilli(1_760_000_000_000),
				Body: bodyOf(&wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}),
			})
		}
		index := &counted{Index: open(t)}
		if err := follow(t, index.Index, j); err != nil {
			t.Fatal(err)
		}
		s := search.New(index, search.NewIndexer(index, j, places{}, slog.New(slog.DiscardHandler), nil), &reader{journal: j}, nil)
		got, err := s.Search(t.Context(), im.Actor{User: "ann"}, search.Question{Query: query.String(), Conversation: "grp:a", Limit: limit})
		if err != nil || len(got.Found) != 1 || got.Found[0].Entry.Seq != 4 {
			t.Errorf("found %v, %v", got.Found, err)
		}
		if index.asked > 16 {
			t.Errorf("for %d of 450 the index was asked %d times", limit, index.asked)
		}
	}
}
