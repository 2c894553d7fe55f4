package media

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Elsewhere is what a node knows of uploads that has no directory: it asks one that has,
// and keeps and reads the bytes itself, in the place that all nodes share. So bytes go
// through one node, and only rows between two. It is Uploads.
type Elsewhere struct {
	// Ask asks a node with the directory (Service.Answer). again: a question of which
	// nobody knows whether it was answered may be asked once more.
	Ask func(ctx context.Context, method string, again bool, payload []byte) ([]byte, error)
}

var _ Uploads = (*Elsewhere)(nil)

// askTime bounds how long a row is waited for.
const askTime = 10 * time.Second

// question is what is asked, reply what is answered; each method uses some of it.
type question struct {
	ID     string         `json:",omitzero"`
	User   im.UserID      `json:",omitzero"`
	Upload im.Upload      `json:",omitzero"`
	Quota  im.MediaQuota  `json:",omitzero"`
	Piece  *im.MediaPiece `json:",omitzero"`
	Blobs  []string       `json:",omitzero"`
	At     Place          `json:",omitzero"`
	Time   time.Time      `json:",omitzero"`
}

type reply struct {
	Upload im.Upload       `json:",omitzero"`
	Pieces []im.MediaPiece `json:",omitzero"`
	Blob   string          `json:",omitzero"`
}

func (e *Elsewhere) ask(ctx context.Context, method string, again bool, q question) (r reply, err error) {
	payload, err := json.Marshal(q)
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answer, err := e.Ask(ctx, method, again, payload)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(answer, &r)
}

// CreateUpload is not asked again: it would count twice.
func (e *Elsewhere) CreateUpload(ctx context.Context, u im.Upload, q im.MediaQuota) error {
	_, err := e.ask(ctx, "create", false, question{Upload: u, Quota: q})
	return err
}

// Upload returns an upload.
func (e *Elsewhere) Upload(ctx context.Context, id string) (im.Upload, error) {
	r, err := e.ask(ctx, "upload", true, question{ID: id})
	return r.Upload, err
}

// AddPiece is not asked again: a piece that is there already is a conflict, and the client
// asks how far it is.
func (e *Elsewhere) AddPiece(ctx context.Context, id string, p im.MediaPiece) error {
	_, err := e.ask(ctx, "piece", false, question{ID: id, Piece: &p})
	return err
}

// Pieces returns what was received.
func (e *Elsewhere) Pieces(ctx context.Context, id string) ([]im.MediaPiece, error) {
	r, err := e.ask(ctx, "pieces", true, question{ID: id})
	return r.Pieces, err
}

// FinishUpload may be asked again: that an upload is complete already is known.
func (e *Elsewhere) FinishUpload(ctx context.Context, u im.Upload, now time.Time) error {
	_, err := e.ask(ctx, "finish", true, question{Upload: u, Time: now})
	return err
}

// DropUpload throws an upload away, also one of which the messages that named it were taken
// back.
func (e *Elsewhere) DropUpload(ctx context.Context, id string, owner im.UserID, now time.Time) error {
	_, err := e.ask(ctx, "drop", false, question{ID: id, User: owner, Time: now})
	return err
}

// DiscardBlobs notes that nothing has these blobs.
func (e *Elsewhere) DiscardBlobs(ctx context.Context, blobs []string, at time.Time) error {
	_, err := e.ask(ctx, "discard", true, question{Blobs: blobs, Time: at})
	return err
}

// find asks whether somebody may fetch an upload.
func (e *Elsewhere) find(ctx context.Context, u im.UserID, id string, at Place) (im.Upload, error) {
	r, err := e.ask(ctx, "find", true, question{User: u, ID: id, At: at})
	return r.Upload, err
}

// Answer answers what an Elsewhere of another node asks.
func (s *Service) Answer(ctx context.Context, method string, payload []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(payload, &q); err != nil {
		return nil, im.Wrap(err, im.CodeInternal, "the server failed")
	}
	var r reply
	var err error
	switch rows := s.o.Uploads; method {
	case "create":
		err = rows.CreateUpload(ctx, q.Upload, q.Quota)
	case "upload":
		r.Upload, err = rows.Upload(ctx, q.ID)
	case "piece":
		if q.Piece == nil {
			return nil, im.Errorf(im.CodeInternal, "no piece of the upload was named")
		}
		err = rows.AddPiece(ctx, q.ID, *q.Piece)
	case "pieces":
		r.Pieces, err = rows.Pieces(ctx, q.ID)
	case "finish":
		err = rows.FinishUpload(ctx, q.Upload, q.Time)
	case "drop":
		err = s.Drop(ctx, q.User, q.ID)
	case "discard":
		err = rows.DiscardBlobs(ctx, q.Blobs, q.Time)
	case "find":
		r.Upload, err = s.Find(ctx, q.User, q.ID, q.At)
	case "place":
		r.Blob = newBlob("place")
		_, err = s.keep(ctx, r.Blob, strings.NewReader("is this the same place?"))
	default:
		err = im.Errorf(im.CodeUnimplemented, "this node does not know what is asked of uploads (%s)", method)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// reaches makes sure, once, that this node keeps bytes where those with the directory do:
// what is written to another place nobody else would find.
func (s *Service) reaches(ctx context.Context) error {
	if s.o.Elsewhere == nil || s.same.Load() {
		return nil
	}
	r, err := s.o.Elsewhere.ask(ctx, "place", true, question{})
	if err != nil {
		return err
	}
	b, err := s.o.Store.Get(ctx, r.Blob, 0)
	if err == nil {
		_, err = io.Copy(io.Discard, b)
		err = errors.Join(err, b.Close())
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.o.Logger.Error("media.store is another place than that of the nodes with the role logic: no uploads are taken or given here")
		return im.Wrap(err, im.CodeUnavailable, "this node does not keep uploads where the others do")
	}
	if err != nil {
		return failed(err)
	}
	s.same.Store(true)
	return nil
}
