package media

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media/isobmff"
	"github.com/skein-im/skein/internal/media/picture"
	"github.com/skein-im/skein/internal/media/scan"
	"github.com/skein-im/skein/internal/media/sound"
)

// ErrChecksum: the bytes are not those of the checksum. Nothing of them was kept.
var ErrChecksum = im.Errorf(im.CodeInvalidArgument, "the checksum is of other bytes; nothing was kept")

// ErrBusy: somebody else writes to the upload at the moment.
var ErrBusy = im.Errorf(im.CodeConflict, "another request writes to the upload")

// Begin makes an upload of size bytes, of which nothing was received.
func (s *Service) Begin(ctx context.Context, owner im.UserID, size int64, f im.MediaFacts) (im.Upload, error) {
	switch {
	case size <= 0:
		return im.Upload{}, im.Wrong("size", "must be at least 1 byte")
	case size > s.o.MaxBytes:
		return im.Upload{}, im.TooLarge("size", "is %d bytes; at most %d are allowed", size, s.o.MaxBytes)
	}
	if err := s.reaches(ctx); err != nil {
		return im.Upload{}, err
	}
	// The pieces and what is made of them lie there at the same time.
	if err := s.room(ctx, 2*size); err != nil {
		return im.Upload{}, err
	}
	now := s.o.Now()
	u := im.Upload{ID: newID(), Owner: owner, Size: size, MediaFacts: f, Created: now, Expires: now.Add(s.o.UploadTime)}
	err := s.o.Uploads.CreateUpload(ctx, u, s.o.Quota)
	if err == nil {
		s.m.begun.Inc()
	}
	return u, err
}

// room refuses what there is no room for beside what stays free. It is asked for whenever
// something is written, as others that began when there was room write as well; the journal
// may be on the same disk, and takes no messages below that.
func (s *Service) room(ctx context.Context, bytes int64) error {
	free, err := s.o.Store.Free(ctx)
	if err != nil {
		return failed(err)
	}
	if free < uint64(bytes+s.o.MinFree) {
		return im.Errorf(im.CodeStorageFull, "the server has no room for this")
	}
	return nil
}

// Of returns an upload of a user's own. One of which all was received is looked at first,
// if that was cut off.
func (s *Service) Of(ctx context.Context, owner im.UserID, id string) (im.Upload, error) {
	u, err := s.own(ctx, owner, id)
	if err != nil || u.Ready || u.Received < u.Size {
		return u, err
	}
	if !s.enter(id) {
		return u, nil // it is being looked at
	}
	defer s.leave(id)
	return s.finish(ctx, u)
}

// own returns an upload of a user's own, as it is kept.
func (s *Service) own(ctx context.Context, owner im.UserID, id string) (im.Upload, error) {
	u, err := s.o.Uploads.Upload(ctx, id)
	if err == nil && (u.Owner != owner || !u.Ready && !u.Expires.After(s.o.Now())) {
		err = errNone
	}
	return u, err
}

// Drop throws away an upload of a user's own that no message names, or none any more.
func (s *Service) Drop(ctx context.Context, owner im.UserID, id string) error {
	for {
		err := s.drop(ctx, id, owner)
		if im.CodeOf(err) != im.CodePermissionDenied || s.o.Elsewhere != nil {
			return err
		}
		// Messages that were taken back are noted for a while yet.
		if _, spent, looked := s.naming(ctx, owner, id); looked != nil || !spent {
			return cmp.Or(looked, err)
		}
	}
}

func (s *Service) drop(ctx context.Context, id string, owner im.UserID) error {
	err := s.o.Uploads.DropUpload(ctx, id, owner, s.o.Now())
	if err == nil {
		s.m.thrown.Inc()
	}
	return err
}

// Sum is what a request's bytes are checked by.
type Sum struct {
	Hash hash.Hash
	Want []byte
}

// Write takes the bytes of r at an offset, and with the last ones looks at the upload. The
// upload that it returns is as it is kept then, also with an error. Of bytes that are cut
// off, those that came are kept; with a sum all of them count, or none.
func (s *Service) Write(ctx context.Context, owner im.UserID, id string, offset int64, r io.Reader, sum *Sum) (im.Upload, error) {
	u, err := s.own(ctx, owner, id)
	switch {
	case err != nil:
		return u, err
	case u.Ready && offset != u.Received:
		return u, im.Errorf(im.CodeConflict, "the upload is complete")
	case u.Ready:
		return u, nil
	case offset != u.Received:
		return u, im.Errorf(im.CodeConflict, "the upload has %d bytes, not %d", u.Received, offset)
	}
	if err := s.reaches(ctx); err != nil {
		return u, err
	}
	if !s.enter(id) {
		return u, ErrBusy
	}
	defer s.leave(id)
	if u.Received < u.Size {
		var n int64
		n, err = s.receive(ctx, &u, r, sum)
		s.m.received.Add(float64(n))
		u.Received += n
	}
	if err != nil || u.Received < u.Size {
		return u, err
	}
	return s.finish(ctx, u)
}

// source remembers why it ended.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, io.EOF
	}
	n, err := s.r.Read(p)
	if err != nil {
		s.err = err
		err = io.EOF
	}
	return n, err
}

// receive keeps what r gives, in pieces, and tells how much of it counts.
func (s *Service) receive(ctx context.Context, u *im.Upload, r io.Reader, sum *Sum) (n int64, err error) {
	if sum != nil {
		r = io.TeeReader(r, sum.Hash)
	}
	from := &source{r: r}
	var held []im.MediaPiece // with a sum: those that wait for it
	for at := u.Received; at < u.Size && from.err == nil; {
		least := int64(leastPiece)
		if at > u.Received {
			least = 1 // the request brought a whole piece before
		}
		p, err := s.piece(ctx, from, at, u.Size-at, least)
		if err != nil {
			return n, err
		}
		if at += p.Size; p.Size == 0 {
			break
		}
		if at == u.Size && more(from) {
			return n, im.TooLarge("size", "is %d bytes; there were more", u.Size)
		}
		if sum != nil {
			held = append(held, p)
			continue
		}
		if err := s.o.Uploads.AddPiece(context.WithoutCancel(ctx), u.ID, p); err != nil {
			return n, err
		}
		n += p.Size
	}
	cut := from.err != nil && !errors.Is(from.err, io.EOF)
	if sum != nil && !cut {
		if !bytes.Equal(sum.Hash.Sum(nil), sum.Want) {
			return 0, ErrChecksum
		}
		for _, p := range held {
			if err := s.o.Uploads.AddPiece(context.WithoutCancel(ctx), u.ID, p); err != nil {
				return n, err
			}
			n += p.Size
		}
	}
	if cut {
		return n, im.Wrap(from.err, im.CodeInvalidArgument, "the request did not arrive completely")
	}
	return n, nil
}

// more tells that there are bytes behind the last one.
func more(r io.Reader) bool {
	n, _ := io.ReadFull(r, make([]byte, 1))
	return n > 0
}

// piece keeps the next bytes, at most most of them. They are trash until something has
// them. Its Size is 0 if nothing came that is worth it. A request that ends, and was not cut
// off, brings at least least of them.
func (s *Service) piece(ctx context.Context, from *source, at, most, least int64) (im.MediaPiece, error) {
	// Not even an empty file for a request that brings nothing.
	first := make([]byte, min(leastPiece, most))
	got, _ := io.ReadFull(from, first)
	switch {
	case got == 0 || got < len(first) && !errors.Is(from.err, io.EOF):
		return im.MediaPiece{}, nil
	case int64(got) < min(least, most): // each piece is a file, and a row
		return im.MediaPiece{}, im.Wrong("size", "of a request must be at least %d bytes, or all that are missing", leastPiece)
	}
	if err := s.room(ctx, min(pieceBytes, most)); err != nil {
		return im.MediaPiece{}, err
	}
	p := im.MediaPiece{Start: at, Blob: newBlob("piece")}
	n, err := s.keep(ctx, p.Blob, io.LimitReader(io.MultiReader(bytes.NewReader(first[:got]), from), min(pieceBytes, most)))
	p.Size = n
	return p, err
}

// keep writes a blob that is trash until something has it. Who sent it may be gone.
func (s *Service) keep(ctx context.Context, name string, r io.Reader) (int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if err := s.o.Uploads.DiscardBlobs(ctx, []string{name}, s.o.Now().Add(trashTime)); err != nil {
		return 0, err
	}
	n, err := s.o.Store.Put(ctx, name, r)
	return n, failed(err)
}

// finish looks at an upload of which all was received, and makes it ready. It may be done
// by several at a time, and again after any crash: one of them does it. The caller's going
// away changes nothing.
func (s *Service) finish(ctx context.Context, u im.Upload) (im.Upload, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	pieces, err := s.o.Uploads.Pieces(ctx, u.ID)
	if err != nil {
		return u, err
	}
	done := u
	err = s.scanned(ctx, &u, pieces)
	if err == nil {
		err = s.look(ctx, &done, pieces)
	}
	if err != nil {
		return s.notTaken(ctx, u, err)
	}
	done.Ready, done.Expires = true, s.o.Now().Add(unnamedTime)
	err = s.o.Uploads.FinishUpload(ctx, done, s.o.Now())
	if err != nil && im.CodeOf(err) != im.CodeConflict {
		return u, err
	}
	if err == nil {
		s.m.completed.Inc()
		select {
		case s.spent <- struct{}{}:
		default:
		}
	}
	return s.own(ctx, u.Owner, u.ID) // conflict: somebody else finished it, or threw it away
}

// notTaken is an upload that was not made ready: one that no further look would change is
// thrown away.
func (s *Service) notTaken(ctx context.Context, u im.Upload, why error) (im.Upload, error) {
	var told error
	switch {
	case errors.Is(why, errInfected):
		told = im.Errorf(im.CodeInfected, "the scanner of this server found something harmful in the upload")
	case errors.Is(why, picture.ErrLarge), errors.Is(why, scan.ErrTooLong):
		told = im.TooLarge("media", "%v", why)
	case errors.Is(why, picture.ErrBroken), errors.Is(why, isobmff.ErrBroken):
		told = im.Wrong("media", "%v", why)
	case errors.Is(why, fs.ErrNotExist):
		return s.lost(ctx, u)
	default:
		return u, failed(why)
	}
	if err := s.drop(ctx, u.ID, u.Owner); err != nil && im.CodeOf(err) != im.CodeNotFound {
		return u, err
	}
	return u, told
}

// lost is an upload of which pieces are not there. Somebody else finished it, and they were
// thrown away; or the store is one that was restored from a backup, which had them no more:
// it is sent anew, under another id.
func (s *Service) lost(ctx context.Context, u im.Upload) (im.Upload, error) {
	now, err := s.own(ctx, u.Owner, u.ID)
	if err == nil && !now.Ready {
		err = im.Errorf(im.CodeNotFound, "what was received of the upload is lost; upload it anew")
	}
	return now, err
}

// look finds out what an upload is, and keeps what is given of it.
func (s *Service) look(ctx context.Context, u *im.Upload, pieces []im.MediaPiece) error {
	all := &joined{ctx: ctx, store: s.o.Store, pieces: pieces}
	defer all.Close()
	head := make([]byte, picture.SniffBytes)
	n, err := io.ReadFull(all, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	head = head[:n]
	u.MIME = picture.Sniff(head)
	r := io.MultiReader(bytes.NewReader(head), all)
	if picture.Is(u.MIME) {
		return s.lookAtPicture(ctx, u, r)
	}
	private, err := s.private(ctx, u, pieces)
	if err != nil {
		return err
	}
	sum := sha256.New()
	read := &noting{r: isobmff.Over(r, private)}
	summed := io.TeeReader(read, sum)
	measured(u, sound.Measure(u.MIME, summed, u.Size))
	if _, err := io.Copy(io.Discard, summed); err != nil || read.err != nil || read.n != u.Size {
		return cmp.Or(read.err, errors.Join(err, io.ErrUnexpectedEOF))
	}
	if err := s.room(ctx, u.Size); err != nil {
		return err
	}
	u.Hash = hex.EncodeToString(sum.Sum(nil))
	u.Blob = newBlob(u.Hash)
	again := &joined{ctx: ctx, store: s.o.Store, pieces: pieces}
	defer again.Close()
	kept, err := s.keep(ctx, u.Blob, isobmff.Over(again, private))
	if err == nil && kept != u.Size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// private is what an upload says besides what it shows or plays, where it is of a form that
// stays as long as it is without.
func (s *Service) private(ctx context.Context, u *im.Upload, pieces []im.MediaPiece) ([]isobmff.Patch, error) {
	if !isobmff.Is(u.MIME) {
		return nil, nil
	}
	return isobmff.Private(u.MIME, &window{ctx: ctx, store: s.o.Store, pieces: pieces}, u.Size)
}

// measured takes what was found out about a sound or film in the place of what its uploader
// said; what was not found out stays as they said.
func measured(u *im.Upload, f sound.Facts) {
	if f.Duration > 0 {
		u.Duration = f.Duration
	}
	if len(f.Waveform) > 0 {
		u.Waveform = f.Waveform
	}
}

func (s *Service) lookAtPicture(ctx context.Context, u *im.Upload, r io.Reader) error {
	defer s.m.picture()()
	made, err := s.o.Pictures.Make(ctx, u.MIME, r, u.Size)
	if err != nil {
		return err
	}
	if err := s.room(ctx, int64(len(made.Body)+len(made.Thumbnail))); err != nil {
		return err
	}
	sum := sha256.Sum256(made.Body)
	u.Hash = hex.EncodeToString(sum[:])
	u.Blob, u.Thumbnail = newBlob(u.Hash), newBlob("small")
	u.MIME = made.MIME
	u.Size, u.Width, u.Height, u.Blurhash = int64(len(made.Body)), uint32(made.Width), uint32(made.Height), made.Blurhash
	if _, err := s.keep(ctx, u.Blob, bytes.NewReader(made.Body)); err != nil {
		return err
	}
	_, err = s.keep(ctx, u.Thumbnail, bytes.NewReader(made.Thumbnail))
	return err
}

// joined reads pieces one after the other.
type joined struct {
	ctx    context.Context
	store  Store
	pieces []im.MediaPiece
	now    io.ReadCloser
	left   int64
}

func (j *joined) Read(p []byte) (int, error) {
	for j.left == 0 {
		if err := j.Close(); err != nil {
			return 0, err
		}
		if len(j.pieces) == 0 {
			return 0, io.EOF
		}
		r, err := j.store.Get(j.ctx, j.pieces[0].Blob, 0)
		if err != nil {
			return 0, err
		}
		j.now, j.left, j.pieces = r, j.pieces[0].Size, j.pieces[1:]
	}
	n, err := j.now.Read(p[:min(int64(len(p)), j.left)])
	j.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
		if j.left > 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// Close closes the piece that is being read.
func (j *joined) Close() error {
	if j.now == nil {
		return nil
	}
	err := j.now.Close()
	j.now = nil
	return err
}
