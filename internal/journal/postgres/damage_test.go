package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// spoil writes rubbish over the header of a page of a table, as a dying disk does,
// while the server is down.
func spoil(t *testing.T, s *pgtest.Server, dir, table string, page int64) {
	t.Helper()
	paths, err := pgtest.Collect[struct{ Name string }](t.Context(), s.URL(), "SELECT pg_relation_filepath($1::text::regclass)", table)
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "data", paths[0].Name), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xee}, 24), page*8192); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
}

// One damaged page breaks the conversations in it and no others: neither those that are
// asked for together with them, nor what is stored.
func TestOneDamagedBlock(t *testing.T) {
	const conversations, each = 600, 3
	name := func(i int) im.ConversationID { return im.Group(fmt.Sprintf("g%03d", i)) }
	for _, table := range []string{"journal_heads", "journal_entries"} {
		t.Run(table, func(t *testing.T) {
			dir := t.TempDir()
			s, err := pgtest.Start(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Stop() })
			j := open(t, s.URL())
			for n := range each {
				batch := make([]im.Append, conversations)
				for i := range batch {
					batch[i] = message(name(i), "u", n*conversations+i+1)
					batch[i].Entry.Body = fmt.Append(nil, name(i), " ", n, strings.Repeat(" and on", 100))
				}
				if err := j.Append(t.Context(), batch, make([]im.Appended, len(batch))); err != nil {
					t.Fatal(err)
				}
			}
			j.Close()
			pgtest.Exec(t, s.URL(), "VACUUM FULL journal_heads")
			spoil(t, s, dir, table, 2)

			j = open(t, s.URL())
			defer j.Close()
			var all []im.ConversationID
			var spans []im.Span
			var labels []im.LabelSpan
			for i := range conversations {
				all = append(all, name(i))
				spans = append(spans, im.Span{Conversation: name(i), Until: each})
				labels = append(labels, im.LabelSpan{Span: spans[i], Label: "none"})
			}
			heads, recalled, labelled := make([]im.Head, len(all)), make([]im.Recalled, len(all)), make([]im.Labelled, len(all))
			if err := errors.Join(j.Heads(t.Context(), all, heads), j.Recalled(t.Context(), spans, 10, recalled), j.Labelled(t.Context(), labels, 10, labelled)); err != nil {
				t.Fatalf("one damaged page is everybody's: %v", err)
			}
			headless, unreadable := 0, 0
			for i, c := range all {
				entries, err := j.Read(t.Context(), c, 0, true, each)
				page, pageErr := j.Page(t.Context(), im.PageQuery{Conversation: c, From: 1, Until: each, Limit: each})
				if errors.Is(err, im.ErrJournalDamaged) != errors.Is(pageErr, im.ErrJournalDamaged) {
					t.Errorf("%s: Read %v, Page %v", c, err, pageErr)
				}
				switch {
				case errors.Is(err, im.ErrJournalDamaged):
					unreadable++
				case err != nil || len(entries) != each || len(page.Entries) != each:
					t.Errorf("%s has %d entries, a page of %d; %v", c, len(entries), len(page.Entries), err)
				}
				if heads[i].Damaged {
					headless++
					if heads[i] != (im.Head{Damaged: true}) || err == nil {
						t.Errorf("%s: %+v, %v", c, heads[i], err)
					}
				} else if heads[i].Seq != each {
					t.Errorf("%s has %+v", c, heads[i])
				}
			}
			if unreadable == 0 || unreadable > conversations/2 || (headless > 0) != (table == "journal_heads") {
				t.Errorf("one page broke %d of %d conversations, of %d the head", unreadable, conversations, headless)
			}
			takesFurther(t, j, all, heads, each)
			stopped, warnings := j.Trouble()
			if stopped != "" || len(warnings) != min(unreadable, 101) || !strings.Contains(warnings[0], "cannot be read") {
				t.Errorf("%q, %q", stopped, warnings)
			}
		})
	}
}

// takesFurther appends to each conversation: those without a head refuse it, all others
// take it, and the store counts as one that stores.
func takesFurther(t *testing.T, j *Journal, all []im.ConversationID, heads []im.Head, each uint64) {
	t.Helper()
	for i, c := range all {
		out := make([]im.Appended, 1)
		err := j.Append(t.Context(), []im.Append{message(c, "u", 10_000+i)}, out)
		switch {
		case heads[i].Damaged:
			if !errors.Is(err, im.ErrJournalDamaged) {
				t.Errorf("%s took an entry behind an end that nobody knows: %v", c, err)
			}
			if stopped, _ := j.Trouble(); stopped != "" {
				t.Fatalf("the others are stored, and %q", stopped)
			}
		case err != nil || out[0].Seq != each+1:
			t.Errorf("%s: %+v, %v", c, out, err)
		}
	}
}
