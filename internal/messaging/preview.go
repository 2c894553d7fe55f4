package messaging

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// A preview (SPEC §4.34) is found by internal/preview, behind the commit, and comes to its
// message by an entry of the server's own. Its picture is noted before that entry is
// stored, as one that the entry names; whether it does, the message tells.

// errNoPreview: the message does not want this preview any more.
var errNoPreview = im.Errorf(im.CodeTooLate, "the message does not have this link first any more, or has its preview")

// WantsPreview tells of an entry of the journal which message it is about and which link of
// it is to have a preview as the message is now; "" if there is none.
func (s *Service) WantsPreview(ctx context.Context, c im.ConversationID, seq uint64) (link string, stored time.Time, err error) {
	e, state, err := s.previewing(ctx, c, seq)
	if err != nil || state == nil {
		return "", time.Time{}, err
	}
	return state.WantsPreview(), e.Stored, nil
}

// previewing is a message and what it says; no state if it is none, or says nothing.
func (s *Service) previewing(ctx context.Context, c im.ConversationID, seq uint64) (im.Entry, *entrycodec.State, error) {
	e, err := s.entryAt(ctx, c, seq)
	if err != nil {
		return e, nil, err
	}
	if gone, err := s.isGone(ctx, c, seq); err != nil || gone || !e.Kind.Said() || e.Recalled || len(e.Body) == 0 {
		return e, nil, err
	}
	state, err := entrycodec.Open(e.Body, e.Amended)
	if err != nil {
		return e, nil, nil // nobody can read it
	}
	return e, state, nil
}

// AddPreview gives a message the preview of its link, if it wants that yet, with the upload
// of p.Image as its picture. Twice is once: too_late, not_found.
func (s *Service) AddPreview(ctx context.Context, c im.ConversationID, seq uint64, p *im.Preview) error {
	e, state, err := s.previewing(ctx, c, seq)
	switch {
	case err != nil:
		return err
	case state == nil || state.WantsPreview() != p.URL:
		return errNoPreview
	}
	id, _ := entrycodec.PreviewID(&e, state)
	m := im.Message{Kind: im.EntryPreview}
	var image *im.Upload
	if p.Image != "" && s.media != nil {
		_, hash := entrycodec.Preview(c, seq, p, nil)
		named, err := s.media.Name(ctx, im.MediaName{Conversation: c, ID: id, Hash: hash}, []string{p.Image}, true)
		if err != nil {
			return err
		}
		image = &named[0]
	}
	m.Body, m.Hash = entrycodec.Preview(c, seq, p, image)
	return s.byServer(ctx, &e, id, m)
}

// preview gives a message the preview that it wants.
func (s *Service) preview(e *im.Entry, m *amending, target *im.Entry) error {
	if target.Recalled || e.Sender != "" {
		return errNoPreview
	}
	state, err := entrycodec.Open(target.Body, target.Amended)
	if err != nil {
		return im.Wrap(err, im.CodeUnprocessable, "what the message says cannot be read")
	}
	told, ok, err := state.Preview(e.Body)
	switch {
	case err != nil:
		return im.Wrap(err, im.CodeUnprocessable, "what the preview says cannot be read")
	case !ok:
		return errNoPreview
	}
	m.told, m.kept = told, nil // what it says is kept in its target only, so a recall erases it
	target.Body = state.Body()
	m.amend.Body = target.Body
	return nil
}

// previewNamed is what doubtMedia notes of a message's preview.
func previewNamed(e *im.Entry) (im.MediaName, bool) {
	state, err := entrycodec.Open(e.Body, e.Amended)
	if err != nil {
		return im.MediaName{}, false
	}
	id, ok := entrycodec.PreviewID(e, state)
	return im.MediaName{Conversation: e.Conversation, ID: id}, ok
}
