package messaging

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// mention is a message that mentions somebody, or is found by another label.
type mention struct {
	c        im.ConversationID
	seq, pos uint64
}

// newerMention orders mentions: the newest first.
func newerMention(a, b mention) int {
	return cmp.Or(cmp.Compare(b.pos, a.pos), cmp.Compare(a.c, b.c), cmp.Compare(b.seq, a.seq))
}

// Mentions tells the messages that mention the actor and are theirs to read, of all
// conversations, the newest first: at most limit behind a cursor, and the cursor of the
// next page, "" if there is none. A page may be shorter than limit. It costs what
// mentions them, and one look at each of their conversations.
func (s *Service) Mentions(ctx context.Context, from im.Actor, cursor string, limit int) ([]im.Entry, string, error) {
	after, ok := parseMention(cursor)
	if !ok {
		return nil, "", im.Wrong("cursor", "is none of this server's")
	}
	found, err := s.labelled(ctx, from.User, after, limit+1, func(c im.ConversationID) []string { return labelsOf(from.User, c) })
	if err != nil {
		return nil, "", err
	}
	more := len(found) > limit
	if more {
		found = found[:limit]
	}
	var page []im.Entry
	bytes := maxListBytes
	for i, m := range found {
		got, err := s.shownTo(ctx, from.User, m.c, m.seq)
		if im.CodeOf(err) == im.CodeNotFound {
			continue // they were removed meanwhile
		}
		if err != nil {
			return nil, "", err
		}
		r := reading{s: s, user: from.User}
		if err := r.present(ctx, &got); err != nil {
			return nil, "", err
		}
		if bytes -= len(got.Body) + entryOverhead; bytes < 0 && len(page) > 0 {
			found, more = found[:i], true
			break
		}
		if got.Sender != from.User && !got.Recalled {
			page = append(page, got)
		}
	}
	if more {
		return page, found[len(found)-1].cursor(), nil
	}
	return page, "", nil
}

// maxListBytes bounds a page of entries that were gathered from many places.
const maxListBytes = 512 << 10

// labelled finds the newest entries that a user may read and that have one of the labels
// of their conversation, behind one, at most limit.
func (s *Service) labelled(ctx context.Context, u im.UserID, after mention, limit int, labels func(im.ConversationID) []string) ([]mention, error) {
	at, err := s.journal.Position(ctx)
	if err != nil {
		return nil, err
	}
	all, _, err := s.views(ctx, u, at, func(im.ConversationID, *im.Head) bool { return true })
	if err == nil {
		all, err = s.settleAll(ctx, u, all)
	}
	if err != nil {
		return nil, err
	}
	cleared, err := s.cleared(ctx, u)
	if err != nil {
		return nil, err
	}
	var spans []im.LabelSpan
	for i := range all {
		v := &all[i]
		c := v.m.Conversation
		for _, w := range append(slices.Clip(v.m.Earlier), im.Window{First: v.m.First, Until: v.head.Seq}) {
			first := max(w.First, cleared[c], 1)
			if first > w.Until {
				continue
			}
			for _, label := range labels(c) {
				spans = append(spans, im.LabelSpan{Span: im.Span{Conversation: c, After: first - 1, Until: w.Until}, Label: label, Newest: true, Pos: after.pos})
			}
		}
	}
	// Of those with the position of the last one told some were told before.
	out := make([]im.Labelled, len(spans))
	var found []mention
	for ask := limit; ; ask *= 4 {
		if err := s.labels.Labelled(ctx, spans, ask, out); err != nil {
			return nil, err
		}
		found = found[:0]
		whole := true
		for i := range out {
			for n, seq := range out[i].Seqs {
				found = append(found, mention{spans[i].Conversation, seq, out[i].Pos[n]})
			}
			whole = whole && len(out[i].Seqs) < ask
		}
		found = slices.DeleteFunc(found, func(m mention) bool { return after.seq > 0 && newerMention(m, after) <= 0 })
		slices.SortFunc(found, newerMention)
		if whole || len(found) >= limit {
			return found[:min(len(found), limit)], nil
		}
	}
}

// cleared tells below which entry a user sees nothing of their conversations.
func (s *Service) cleared(ctx context.Context, u im.UserID) (map[im.ConversationID]uint64, error) {
	marks, err := s.markStore.UserMarks(ctx, u)
	if err != nil {
		return nil, err
	}
	cleared := map[im.ConversationID]uint64{}
	for i := range marks {
		if isNote(marks[i].Conversation) {
			continue
		}
		if below := s.mine(&marks[i], marks[i].Conversation).ClearedBelow; below > 0 {
			cleared[marks[i].Conversation] = below
		}
	}
	return cleared, nil
}

// cursor is how a client is told where a page ends.
func (m mention) cursor() string {
	return strconv.FormatUint(m.pos, 36) + "." + strconv.FormatUint(m.seq, 36) + "." + string(m.c)
}

// parseMention reads what cursor wrote; without one everything comes behind.
func parseMention(s string) (m mention, ok bool) {
	if s == "" {
		return mention{pos: math.MaxUint64}, true
	}
	parts := strings.SplitN(s, ".", 3)
	if len(parts) != 3 {
		return m, false
	}
	var err1, err2, err3 error
	m.pos, err1 = strconv.ParseUint(parts[0], 36, 64)
	m.seq, err2 = strconv.ParseUint(parts[1], 36, 64)
	m.c, err3 = im.ParseConversationID(parts[2])
	return m, err1 == nil && err2 == nil && err3 == nil && m.seq > 0
}
