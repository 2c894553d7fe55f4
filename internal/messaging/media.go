package messaging

import (
	"context"
	"slices"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// Media keeps which messages name uploads (SPEC §13). internal/media is one.
type Media interface {
	// Name notes that a message which is about to be stored names uploads of its sender's,
	// or with shared anybody's, and returns them. From then on they stay.
	Name(ctx context.Context, n im.MediaName, ids []string, shared bool) ([]im.Upload, error)
	// Doubt notes that messages which name uploads are about to lose them. Of each the
	// conversation, the sender and the id count.
	Doubt(ctx context.Context, ns []im.MediaName) error
}

// nameMedia notes which uploads an item names, before it is stored, and has it say what is
// known of them. Whatever becomes of the item, the journal is asked later.
func (s *Service) nameMedia(ctx context.Context, it *item) error {
	if s.media == nil {
		return im.Errorf(im.CodeUnimplemented, "this server takes no uploads")
	}
	e := &it.entry
	n := im.MediaName{Conversation: e.Conversation, Sender: e.Sender, ID: e.ID, Hash: it.hash}
	uploads, err := s.media.Name(ctx, n, entrycodec.MediaIDs(e.Body), it.copied || it.sticker)
	if err != nil {
		return err
	}
	if err := s.filesAllowed(ctx, it, uploads); err != nil {
		return err
	}
	body, err := entrycodec.WithMedia(e.Body, uploads)
	if err != nil {
		return im.Wrap(err, im.CodeUnprocessable, "what the message says cannot be read")
	}
	e.Body = body
	return nil
}

// NameLater notes which uploads a message names that is to be sent later: they stay as long
// as it is kept (media.Options.Waits).
func (s *Service) NameLater(ctx context.Context, u im.UserID, m im.Message) error {
	ids := entrycodec.MediaIDs(m.Body)
	if len(ids) == 0 {
		return nil
	}
	if s.media == nil {
		return im.Errorf(im.CodeUnimplemented, "this server takes no uploads")
	}
	_, err := s.media.Name(ctx, im.MediaName{Conversation: m.Conversation, Sender: u, ID: m.ID, Hash: m.Hash}, ids, false)
	return err
}

// DoubtLater notes that a message may not be sent later any more, or not with its uploads.
func (s *Service) DoubtLater(ctx context.Context, u im.UserID, m im.Message) error {
	return s.doubtMedia(ctx, im.Entry{Conversation: m.Conversation, Sender: u, ID: m.ID, Body: m.Body})
}

// doubtMedia notes that entries are about to lose what they say: those of them that name
// uploads.
func (s *Service) doubtMedia(ctx context.Context, es ...im.Entry) error {
	if s.media == nil {
		return nil
	}
	var named []im.MediaName
	for i := range es {
		if e := &es[i]; !e.Recalled && entrycodec.AsksOf(e.Body).Media {
			named = append(named, im.MediaName{Conversation: e.Conversation, Sender: e.Sender, ID: e.ID})
		}
		if e := &es[i]; !e.Recalled && (!e.Amends() || e.Kind == im.EntryReply) && entrycodec.AsksOf(e.Body).Preview {
			if n, ok := previewNamed(e); ok {
				named = append(named, n)
			}
		}
	}
	if len(named) == 0 {
		return nil
	}
	return s.media.Doubt(ctx, named)
}

// doubtSpan is doubtMedia for the entries behind after, up to until.
func (s *Service) doubtSpan(ctx context.Context, c im.ConversationID, after, until uint64) error {
	for s.media != nil && after < until {
		es, err := s.journal.Read(ctx, c, after+1, false, int(min(until-after, givenPage)))
		if err != nil {
			return err
		}
		if len(es) == 0 || es[0].Seq != after+1 {
			return im.Errorf(im.CodeInternal, "entry %d of a conversation is missing", after+1)
		}
		if err := s.doubtMedia(ctx, es...); err != nil {
			return err
		}
		after = es[len(es)-1].Seq
	}
	return nil
}

// MediaOf returns the ids of the uploads that a message names, to whom it is to read.
func (s *Service) MediaOf(ctx context.Context, u im.UserID, c im.ConversationID, seq uint64) ([]string, error) {
	e, err := s.shownTo(ctx, u, c, seq)
	if err != nil {
		return nil, err
	}
	if !e.Kind.Said() || e.Recalled {
		return nil, errNoMessage
	}
	return entrycodec.MediaIDs(e.Body), nil
}

// NamesMedia tells whether a message is stored and names an upload, and its seq if it is
// stored. Of a PREVIEW it is the message that has the preview. One that cannot be read names it.
func (s *Service) NamesMedia(ctx context.Context, n im.MediaName) (names bool, seq uint64, err error) {
	ask := [1]im.Append{{Entry: im.Entry{Conversation: n.Conversation, Sender: n.Sender, ID: n.ID}, Hash: n.Hash}}
	var out [1]im.Appended
	if err := s.lookups.Lookup(ctx, ask[:], out[:]); err != nil {
		return false, 0, cannotLook(err)
	}
	if out[0].Status != im.Duplicate {
		return false, 0, nil
	}
	e, err := s.entryAt(ctx, n.Conversation, out[0].Seq)
	if err == nil && e.Kind == im.EntryPreview { // what it says is in its target
		e, err = s.entryAt(ctx, n.Conversation, e.Target)
	}
	if err != nil || !e.Kind.Said() || e.Recalled {
		return false, e.Seq, err
	}
	_, unreadable := entrycodec.Open(e.Body, e.Amended)
	return unreadable != nil || slices.Contains(entrycodec.MediaIDs(e.Body), n.Media), e.Seq, nil
}
