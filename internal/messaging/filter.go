package messaging

import (
	"context"
	"strings"
	"unicode"

	"github.com/skein-im/skein/internal/im"
)

// Filter is what the deployment does not allow to be said, or has reported (SPEC §3.26).
// internal/filter is one.
type Filter interface {
	// Breaks tells which rules what a message, a reply or an edit says breaks, BreaksText the
	// same of a text; from RAM alone.
	Breaks(body []byte) []*im.FilterRule
	BreaksText(text string) []*im.FilterRule
	// BreaksGrown is BreaksText for what a text says from a place on, together with what it
	// said just before; BreaksStream for all that a streamed message says by now. more: it is
	// to grow yet, so what stands at its end may be the beginning of another word.
	BreaksGrown(text string, from int, more bool) []*im.FilterRule
	BreaksStream(contentType, said, fallback string, more bool) []*im.FilterRule
	// Judge decides about that in a conversation of the author's: filtered; or the rule by
	// which it is to be reported, nil: by none.
	Judge(ctx context.Context, from im.UserID, c im.ConversationID, broken []*im.FilterRule) (report *im.FilterRule, err error)
	// Report has a stored entry reported. It does not wait.
	Report(e im.Entry, r *im.FilterRule)
}

// breaks notes which rules an item breaks, when it comes in.
func (s *Service) breaks(it *item) {
	if s.filter != nil {
		it.breaks = s.filter.Breaks(it.entry.Body)
	}
}

// allowed decides about an item that breaks rules. What it names besides is known by now.
func (s *Service) allowed(ctx context.Context, it *item, broken []*im.FilterRule) error {
	if len(broken) == 0 {
		return nil
	}
	report, err := s.filter.Judge(ctx, it.entry.Sender, it.entry.Conversation, broken)
	if err == nil && report != nil {
		it.report = report
	}
	return err
}

// filesAllowed decides about the names of the files that an item names.
func (s *Service) filesAllowed(ctx context.Context, it *item, uploads []im.Upload) error {
	if s.filter == nil {
		return nil
	}
	for i := range uploads {
		if err := s.allowed(ctx, it, s.filter.BreaksText(uploads[i].Name)); err != nil {
			return err
		}
	}
	return nil
}

// streamAllowed decides about what a streamed message comes to. What broke a rule is not kept
// in RAM either: its author says all of it again, otherwise.
func (s *Service) streamAllowed(ctx context.Context, it *item, broken []*im.FilterRule, k streamKey) error {
	err := s.allowed(ctx, it, broken)
	if err != nil {
		s.streams.drop(k)
	}
	return err
}

// lastWord is what a message says that the server ends for its author. What its end breaks was
// not looked at while a word could go on there: where that is refused, the word is left out.
func (s *Service) lastWord(ctx context.Context, target *im.Entry, contentType, text string) (string, error) {
	judge := func(more bool) error {
		_, err := s.filter.Judge(ctx, target.Sender, target.Conversation, s.filter.BreaksStream(contentType, text, "", more))
		return err
	}
	err := judge(false)
	if im.CodeOf(err) != im.CodeFiltered {
		return text, err
	}
	switch err := judge(true); {
	case im.CodeOf(err) == im.CodeFiltered: // it stood there before the rule
		return text, nil
	case err != nil:
		return text, err
	}
	return text[:strings.LastIndexFunc(text, unicode.IsSpace)+1] + "…", nil
}
