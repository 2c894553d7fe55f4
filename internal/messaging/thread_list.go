package messaging

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// threadsOrdered is of how many threads, those with the newest roots, the last replies are
// compared for a list.
const threadsOrdered = 1000

// listedThread is a thread of a list: its root, and the position of its last reply, or of
// the root where it has none.
type listedThread struct {
	root mention
	at   uint64
}

func newerThread(a, b listedThread) int {
	return cmp.Or(cmp.Compare(b.at, a.at), newerMention(a.root, b.root))
}

// byReply begins the cursors of the part of a list that is in the order of last replies.
const byReply = "~"

func (t listedThread) cursor() string {
	return byReply + strconv.FormatUint(t.at, 36) + "." + t.root.cursor()
}

// parseThread reads a cursor of a list of threads; byRoot: behind it they come in the order
// of their roots.
func parseThread(s string) (t listedThread, byRoot, ok bool) {
	rest, replies := strings.CutPrefix(s, byReply)
	switch {
	case s == "":
		return listedThread{at: math.MaxUint64}, false, true
	case !replies:
		t.root, ok = parseMention(s)
		return t, true, ok
	}
	at, root, _ := strings.Cut(rest, ".")
	var err error
	t.at, err = strconv.ParseUint(at, 36, 64)
	t.root, ok = parseMention(root)
	return t, false, ok && err == nil && t.root.seq > 0
}

// Threads tells the threads of a conversation, or with "" those of all conversations that
// the actor follows, at most limit behind a cursor, and the cursor of the next page, "" if
// there is none: the one with the newest reply first, of the threadsOrdered with the newest
// roots, then the others, the one with the newest root first. A page may be shorter than
// limit.
func (s *Service) Threads(ctx context.Context, from im.Actor, c im.ConversationID, cursor string, limit int) ([]im.Thread, string, error) {
	after, byRoot, ok := parseThread(cursor)
	if !ok || c != "" && cursor != "" && after.root.c != c {
		return nil, "", im.Wrong("cursor", "is none of this server's")
	}
	find := func(after mention, n int) ([]mention, error) {
		if c == "" {
			return s.followed(ctx, from.User, after, n)
		}
		return s.threadsIn(ctx, from.User, c, after, n)
	}
	var found []mention
	var next string
	var err error
	if byRoot {
		if found, err = find(after.root, limit+1); len(found) > limit {
			found = found[:limit]
			next = found[limit-1].cursor()
		}
	} else {
		found, next, err = s.byLastReply(ctx, after, limit, find)
	}
	if err != nil {
		return nil, "", err
	}
	var all []im.Thread
	for len(found) > 0 { // those of one conversation that follow each other at once
		n := 1
		for n < len(found) && found[n].c == found[0].c {
			n++
		}
		some, err := s.threadsAt(ctx, from.User, found[:n])
		if err != nil && im.CodeOf(err) != im.CodeNotFound { // they were removed meanwhile
			return nil, "", err
		}
		all = append(all, some...)
		found = found[n:]
	}
	if c == "" {
		all = slices.DeleteFunc(all, func(t im.Thread) bool { return !t.Follows })
	}
	return all, next, nil
}

// byLastReply finds the threads behind one in the order of their last replies. One that is
// replied to between two pages is at the beginning of the list then, and on no later page.
func (s *Service) byLastReply(ctx context.Context, after listedThread, limit int, find func(after mention, n int) ([]mention, error)) ([]mention, string, error) {
	roots, err := find(mention{pos: math.MaxUint64}, threadsOrdered+1)
	if err != nil {
		return nil, "", err
	}
	more := len(roots) > threadsOrdered
	roots = roots[:min(len(roots), threadsOrdered)]
	all, err := s.withLastReply(ctx, roots)
	if err != nil {
		return nil, "", err
	}
	all = slices.DeleteFunc(all, func(t listedThread) bool { return newerThread(t, after) <= 0 })
	slices.SortFunc(all, newerThread)
	next := ""
	switch {
	case len(all) > limit:
		all = all[:limit]
		next = all[limit-1].cursor()
	case more:
		next = roots[threadsOrdered-1].cursor()
	}
	found := make([]mention, len(all))
	for i := range all {
		found[i] = all[i].root
	}
	return found, next, nil
}

// withLastReply asks when threads were last replied to, by anybody.
func (s *Service) withLastReply(ctx context.Context, roots []mention) ([]listedThread, error) {
	spans := make([]im.LabelSpan, len(roots))
	for i, m := range roots {
		spans[i] = im.LabelSpan{Span: im.Span{Conversation: m.c, After: m.seq, Until: neverSeq}, Label: entrycodec.LabelReply(m.seq), Newest: true, Pos: neverSeq}
	}
	out := make([]im.Labelled, len(spans))
	if len(spans) > 0 {
		if err := s.labels.Labelled(ctx, spans, 1, out); err != nil {
			return nil, err
		}
	}
	all := make([]listedThread, len(roots))
	for i := range out {
		all[i] = listedThread{root: roots[i], at: roots[i].pos}
		if len(out[i].Pos) > 0 {
			all[i].at = out[i].Pos[0]
		}
	}
	return all, nil
}
