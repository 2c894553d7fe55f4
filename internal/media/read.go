package media

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Place is a message that names an upload, the zero value if nobody says which.
type Place struct {
	Conversation im.ConversationID
	Seq          uint64
}

// Find returns an upload that somebody may read: their own, or one that a message names
// which they may read now. not_found for all others.
func (s *Service) Find(ctx context.Context, u im.UserID, id string, at Place) (im.Upload, error) {
	if s.o.Elsewhere != nil {
		if err := s.reaches(ctx); err != nil {
			return im.Upload{}, err
		}
		return s.o.Elsewhere.find(ctx, u, id, at)
	}
	if s.o.Left != nil {
		if left, err := s.o.Left(ctx, u); err != nil || left {
			return im.Upload{}, cmp.Or[error](err, errNone)
		}
	}
	m, err := s.o.Uploads.Upload(ctx, id)
	if err != nil {
		return im.Upload{}, err
	}
	if m.Owner == u {
		if !m.Ready {
			return s.Of(ctx, u, id)
		}
		return m, nil
	}
	if !m.Ready {
		return im.Upload{}, errNone
	}
	if at.Conversation != "" {
		return m, s.named(ctx, u, id, at)
	}
	if shown, err := s.o.Shows(ctx, id); err != nil || shown {
		return m, err
	}
	for spent := true; spent; { // those that were spent are in the way no more
		var places []Place
		if places, spent, err = s.naming(ctx, u, id); err != nil {
			return im.Upload{}, err
		}
		for _, p := range places {
			if err := s.named(ctx, u, id, p); im.CodeOf(err) != im.CodeNotFound {
				return m, err
			}
		}
	}
	return im.Upload{}, errNone
}

// naming returns messages of the latest ones that name an upload, in conversations that a
// user is in or was. Of those that were taken back the note is settled, as it would be by a
// sweep: spent tells that there were such ones, and so that others may follow them.
func (s *Service) naming(ctx context.Context, u im.UserID, id string) (are []Place, spent bool, err error) {
	noted, err := s.o.Names.NamesFor(ctx, id, u, looks)
	if err != nil {
		return nil, false, err
	}
	for _, n := range noted {
		names, seq, err := s.o.Messages.NamesMedia(ctx, n)
		if err != nil {
			return nil, false, err
		}
		switch {
		case names:
			are = append(are, Place{n.Conversation, seq})
		case seq == 0: // it is about to be stored, or never will be: nobody knows yet
		default: // what was taken back never names it again
			if err := s.o.Names.SettleName(ctx, n, false, s.o.Now().Add(unnamedTime)); err != nil {
				return nil, false, err
			}
			spent = true
		}
	}
	return are, spent, nil
}

// named tells whether a user may read a message that names an upload.
func (s *Service) named(ctx context.Context, u im.UserID, id string, at Place) error {
	ids, err := s.o.Messages.MediaOf(ctx, u, at.Conversation, at.Seq)
	switch im.CodeOf(err) {
	case "":
	case im.CodeNotFound, im.CodeTooLate, im.CodePermissionDenied:
		return errNone
	}
	if err != nil {
		return err
	}
	if !slices.Contains(ids, id) {
		return errNone
	}
	return nil
}

// Open opens what was found, or its thumbnail, at an offset.
func (s *Service) Open(ctx context.Context, m im.Upload, thumbnail bool, offset int64) (io.ReadCloser, error) {
	name := m.Blob
	if thumbnail {
		name = m.Thumbnail
	}
	if name == "" {
		return nil, errNone
	}
	r, err := s.o.Store.Get(ctx, name, offset)
	if err != nil {
		return nil, failed(err)
	}
	return given{r, s.m.given}, nil
}

// LinkTime is how long a link holds.
const LinkTime = 5 * time.Minute

// Link is who may fetch what, for a while, without a token.
type Link struct {
	User      im.UserID
	Media     string
	Thumbnail bool
	At        Place
	Until     time.Time
}

// Sign makes the signature of a link.
func (s *Service) Sign(l Link) string {
	m := hmac.New(sha256.New, s.o.Key)
	fmt.Fprintf(m, "skein media link 1\n%s\n%s\n%t\n%s\n%d\n%d", l.User, l.Media, l.Thumbnail, l.At.Conversation, l.At.Seq, l.Until.UnixMilli())
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:24])
}

// Check tells whether a link is one that Sign made, and holds yet. What its user may not
// fetch any more Find refuses.
func (s *Service) Check(l Link, signature string) bool {
	return hmac.Equal([]byte(signature), []byte(s.Sign(l))) && l.Until.After(s.o.Now())
}

// Name notes that a message which is about to be stored names uploads of its sender's, or,
// of a copy (shared), anybody's, and returns them. The journal is asked later whether it
// does. not_found names the field.
func (s *Service) Name(ctx context.Context, n im.MediaName, ids []string, shared bool) ([]im.Upload, error) {
	n.CheckAt = s.o.Now().Add(checkAfter)
	all, err := s.o.Names.NameMedia(ctx, ids, n, shared)
	if im.CodeOf(err) == im.CodeNotFound {
		e := *im.Public(err)
		e.Field = "media" + e.Field
		return nil, &e
	}
	return all, err
}

// Doubt notes that messages which name uploads are about to be taken back, or to lose what
// they say in another way. Of each the conversation, the sender and the id count.
func (s *Service) Doubt(ctx context.Context, ns []im.MediaName) error {
	return s.o.Names.DoubtMedia(ctx, ns, s.o.Now().Add(checkAfter))
}
