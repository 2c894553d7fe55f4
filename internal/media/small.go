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
	free, err := s.o.Store.Free(ctx)
	if err != nil {
		return "", failed(err)
	}
	if free < uint64(2*int64(len(small))+s.o.MinFree) {
		return "", im.Errorf(im.CodeStorageFull, "the server has no room for this")
	}
	now := s.o.Now()
	u := im.Upload{ID: newID(), Owner: im.ServerUploads, Size: int64(len(small)), Created: now, Expires: now.Add(s.o.UploadTime)}
	if err := s.o.Uploads.CreateUpload(ctx, u, im.MediaQuota{Open: math.MaxInt}); err != nil {
		return "", err
	}
	_, err = s.Write(ctx, im.ServerUploads, u.ID, 0, bytes.NewReader(small), nil)
	return u.ID, err
}
