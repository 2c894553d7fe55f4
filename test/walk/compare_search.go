package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/skein-im/skein/wire"
)

// searches compares what a user finds with what they read: a word that somebody said
// somewhere, perhaps long ago or taken back, in one conversation and in all of them.
func (w *walk) searches(ctx context.Context, u *user) error {
	words := wordsOf(w.model.said(w.looks.IntN)) // a message that was said in parts has several
	if len(words) == 0 {
		return nil
	}
	said := words[w.looks.IntN(len(words))]
	query := said[:max(min(2, len(said)), w.looks.IntN(len(said)+1))]
	mine := w.model.of(u.id)
	if len(mine) == 0 {
		return nil
	}
	here := mine[w.looks.IntN(len(mine))]
	return w.within(ctx, wholeIn, func() error {
		want, err := w.textsWith(ctx, u, here, query)
		if err != nil {
			return err
		}
		got, err := w.found(ctx, u, here.id, query)
		if err != nil {
			return err
		}
		if err := differ(fmt.Sprintf("%q in %s", query, here.id), got, want); err != nil {
			return err
		}
		all, err := w.found(ctx, u, "", query)
		if err != nil {
			return err
		}
		var among []string
		for _, line := range all {
			id, rest, _ := strings.Cut(line, " ")
			if id == here.id {
				among = append(among, line)
			}
			c := w.model.convs[id]
			var seq uint64
			if _, err := fmt.Sscan(rest, &seq); err != nil {
				return err
			}
			if c == nil || c.places[u.id] == nil || len(c.shown(u.id, seq, seq)) == 0 {
				return &drift{fmt.Sprintf("%s finds %q in %s, which is not theirs to read", u.id, query, line)}
			}
		}
		return differ(fmt.Sprintf("%q in all of %s's, those of %s", query, u.id, here.id), among, want)
	})
}

// wordsOf are the words of a text, without what stands around them.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// said is a text of some message, as it is or was.
func (m *model) said(intN func(int) int) string {
	if len(m.order) == 0 {
		return ""
	}
	c := m.convs[m.order[intN(len(m.order))]]
	if len(c.entries) == 0 {
		return ""
	}
	e := c.entries[intN(len(c.entries))]
	if e.kind == wire.EntryKind_ENTRY_KIND_THREAD_REPLY {
		return "" // no page has it
	}
	texts := append(slices.Clone(e.versions), e.text)
	return strings.ToLower(texts[intN(len(texts))])
}

// textsWith are the texts that a user reads in a conversation, the newest first, that have a
// word which begins so. What they cleared they may read page by page, and do not find.
func (w *walk) textsWith(ctx context.Context, u *user, c *conversation, query string) ([]string, error) {
	var out []string
	req := &wire.ListEntriesRequest{Conversation: c.id, From: 1, Limit: 500}
	for {
		var resp wire.ListEntriesResponse
		if err := w.post(ctx, u, "MessageService/ListEntries", req, &resp); err != nil {
			return nil, err
		}
		for _, e := range resp.Entries {
			if e.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE || e.Deleted || e.Content.GetType() != "text" || e.Seq < c.places[u.id].mine.ClearedBelow {
				continue
			}
			if slices.ContainsFunc(wordsOf(strings.ToLower(e.Content.GetText())), func(word string) bool { return strings.HasPrefix(word, query) }) {
				out = append(out, c.id+" "+lineOf(e))
			}
		}
		if resp.FirstSeq == 0 || resp.LastSeq >= c.head() {
			slices.Reverse(out)
			return out, nil
		}
		req.From = resp.LastSeq + 1
	}
}

// An index that is behind what is stored says so, but for the last seconds (SPEC §4.32). Over
// PostgreSQL a server that was killed keeps its work for ten of them (feed.TakeAfter), and
// what the next one stores is in the index when it has taken over. Nothing is stored while it
// is asked again, so it has all of it then: at the latest after wholeIn.
const (
	wholeIn  = 30 * time.Second
	askAgain = 100 * time.Millisecond
)

// found are the texts that a search finds when it says that they are all.
func (w *walk) found(ctx context.Context, u *user, conversation, query string) ([]string, error) {
	for end := time.Now().Add(wholeIn); ; {
		out, whole, err := w.foundNow(ctx, u, conversation, query)
		switch {
		case err != nil || whole:
			return out, err
		case time.Now().After(end):
			return nil, &drift{fmt.Sprintf("what is found is not complete after %v in which nothing was said", wholeIn)}
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// foundNow are the texts that a search finds, page by page; whole: each page said that the
// index has all.
func (w *walk) foundNow(ctx context.Context, u *user, conversation, query string) (out []string, whole bool, err error) {
	req := &wire.SearchMessagesRequest{Query: query, Conversation: conversation, Types: []string{"text"}, Limit: uint32(1 + w.looks.IntN(50))}
	for {
		var resp wire.SearchMessagesResponse
		if err := w.post(ctx, u, "MessageService/SearchMessages", req, &resp); err != nil || !resp.Complete {
			return nil, false, err
		}
		for _, f := range resp.Found {
			out = append(out, f.Entry.Conversation+" "+lineOf(f.Entry))
		}
		if req.Cursor = resp.Next; req.Cursor == "" {
			return out, true, nil
		}
	}
}
