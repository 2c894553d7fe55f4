package messaging

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// What a page of a resume or of the list holds at most, so that it fits in a frame
// in any codec: conversations, and bytes of them without their entries.
const (
	resumePage     = 500
	pageBytes      = 72 << 10
	stateOverhead  = 128 // of a conversation besides its texts, about
	windowOverhead = 24  // of each earlier window
)

// stateSize is how large a conversation is without its entries, about.
func stateSize(st *im.ConversationState) int {
	return stateOverhead + len(st.Conversation) + len(st.Title) + len(st.Mine.Draft) + len(st.Mine.Folder) + windowOverhead*len(st.Earlier)
}

// resumePages cuts a resume into pages. They are in the order of the names, which
// stays while conversations change: what changes after its page was passed is
// beyond the position of the first page, and that position is told with the last.
type resumePages struct {
	at    im.Position // of the first page, as far as it may be told
	after im.ConversationID
	size  int
}

// begin takes up a resume where the page before ended. A cursor that is not of
// this history, or of none, begins it again: the position did not move yet.
func (s *Service) begin(ctx context.Context, cursor string, at im.Position) (resumePages, error) {
	p := resumePages{at: at}
	first, after, ok := strings.Cut(cursor, ".")
	if !ok {
		return p, nil
	}
	began, ok1 := im.ParsePosition(first)
	c, err := im.ParseConversationID(after)
	if !ok1 || err != nil {
		return p, nil
	}
	held, err := s.journal.Holds(ctx, began)
	if err == nil && held && began.Within(at) {
		p.at, p.after = began, c
	}
	return p, err
}

// rest orders what changed and leaves out what earlier pages told.
func (p *resumePages) rest(all []view) []view {
	slices.SortFunc(all, func(a, b view) int { return cmp.Compare(a.m.Conversation, b.m.Conversation) })
	at, found := slices.BinarySearchFunc(all, p.after, func(v view, c im.ConversationID) int { return cmp.Compare(v.m.Conversation, c) })
	if found {
		at++
	}
	return all[at:]
}

// add takes a conversation into the page.
func (p *resumePages) add(st *im.ConversationState) {
	p.size += stateSize(st)
}

// full reports whether the page ends, with this many conversations, before the next one.
func (p *resumePages) full(n int) bool { return n >= resumePage || p.size >= pageBytes }

// cursor is where the page ends: after the last conversation it told.
func (p *resumePages) cursor(last im.ConversationID) string {
	return p.at.String() + "." + string(last)
}
