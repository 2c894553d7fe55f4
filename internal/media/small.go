package media

import (
	"bytes"
	"context"
	"math"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media/picture"
)

// KeepSmall keeps a small form of a picture that the server got from elsewhere, as an upload
// of its own (im.ServerUploads), and returns its id. As every upload it is thrown away when
// no message names it. What is no picture, or has too many pixels, is an error.
func (s *Service) KeepSmall(ctx context.Context, file []byte) (id string, err error) {
	mime := picture.Sniff(file)
	if !picture.Is(mime) {
		return "", im.Wrong("picture", "is none")
	}
	made, err := s.o.Pictures.Make(ctx, mime, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return "", err
	}
	small := made.Thumbnail
	if err := s.room(ctx, 2*int64(len(small))); err != nil {
		return "", err
	}
	now := s.o.Now()
	u := im.Upload{ID: newID(), Owner: im.ServerUploads, Size: int64(len(small)), Created: now, Expires: now.Add(s.o.UploadTime)}
	if err := s.o.Uploads.CreateUpload(ctx, u, im.MediaQuota{Open: math.MaxInt}); err != nil {
		return "", err
	}
	if _, err = s.Write(ctx, im.ServerUploads, u.ID, 0, bytes.NewReader(small), nil); err != nil {
		return "", err // nothing can name what is not complete
	}
	return u.ID, nil
}
