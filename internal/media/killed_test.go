package media

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

var errKilled = errors.New("killed")

// mortal is all that a Service writes with, up to a call in the middle of which the process
// is killed: before it did anything, or after it was done. Nothing that comes later is done.
type mortal struct {
	w     *world
	left  int
	after bool
}

// call runs one call, or what there is of it.
func (m *mortal) call(f func() error) error {
	m.left--
	switch {
	case m.left > 0:
		return f()
	case m.left == 0 && m.after:
		_ = f()
	}
	return errKilled
}

func (m *mortal) CreateUpload(ctx context.Context, u im.Upload, q im.MediaQuota) error {
	return m.call(func() error { return m.w.db.CreateUpload(ctx, u, q) })
}

func (m *mortal) AddPiece(ctx context.Context, id string, p im.MediaPiece) error {
	return m.call(func() error { return m.w.db.AddPiece(ctx, id, p) })
}

func (m *mortal) FinishUpload(ctx context.Context, u im.Upload, now time.Time) error {
	return m.call(func() error { return m.w.db.FinishUpload(ctx, u, now) })
}

func (m *mortal) DropUpload(ctx context.Context, id string, owner im.UserID, now time.Time) error {
	return m.call(func() error { return m.w.db.DropUpload(ctx, id, owner, now) })
}

func (m *mortal) Upload(ctx context.Context, id string) (im.Upload, error) {
	return m.w.db.Upload(ctx, id)
}

func (m *mortal) Pieces(ctx context.Context, id string) ([]im.MediaPiece, error) {
	return m.w.db.Pieces(ctx, id)
}

func (m *mortal) DueUploads(ctx context.Context, now time.Time, limit int) ([]string, error) {
	return m.w.db.DueUploads(ctx, now, limit)
}

func (m *mortal) NameMedia(ctx context.Context, ids []string, n im.MediaName, shared bool) (all []im.Upload, err error) {
	err = m.call(func() (err error) { all, err = m.w.db.NameMedia(ctx, ids, n, shared); return err })
	return all, err
}

func (m *mortal) DoubtMedia(ctx context.Context, ns []im.MediaName, at time.Time) error {
	return m.call(func() error { return m.w.db.DoubtMedia(ctx, ns, at) })
}

func (m *mortal) DueNames(ctx context.Context, now time.Time, limit int) ([]im.MediaName, error) {
	return m.w.db.DueNames(ctx, now, limit)
}

func (m *mortal) SettleName(ctx context.Context, n im.MediaName, names bool, at time.Time) error {
	return m.call(func() error { return m.w.db.SettleName(ctx, n, names, at) })
}

func (m *mortal) NamesFor(ctx context.Context, media string, u im.UserID, limit int) ([]im.MediaName, error) {
	return m.w.db.NamesFor(ctx, media, u, limit)
}

func (m *mortal) DiscardBlobs(ctx context.Context, blobs []string, at time.Time) error {
	return m.call(func() error { return m.w.db.DiscardBlobs(ctx, blobs, at) })
}

func (m *mortal) DoomBlobs(ctx context.Context, now time.Time, limit int) (blobs []string, err error) {
	err = m.call(func() (err error) { blobs, err = m.w.db.DoomBlobs(ctx, now, limit); return err })
	return blobs, err
}

func (m *mortal) ForgetBlobs(ctx context.Context, blobs []string) error {
	return m.call(func() error { return m.w.db.ForgetBlobs(ctx, blobs) })
}

func (m *mortal) Put(ctx context.Context, name string, r io.Reader) (n int64, err error) {
	err = m.call(func() (err error) { n, err = m.w.store.Put(ctx, name, r); return err })
	return n, err
}

func (m *mortal) Get(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	return m.w.store.Get(ctx, name, offset)
}

func (m *mortal) Delete(ctx context.Context, name string) error {
	return m.call(func() error { return m.w.store.Delete(ctx, name) })
}

func (m *mortal) Free(ctx context.Context) (uint64, error) { return m.w.store.Free(ctx) }

// killedAt runs f with a server that is killed in its n-th step, and tells whether it was.
func (w *world) killedAt(n int, after bool, f func(*Service)) bool {
	m := &mortal{w, n, after}
	o := w.options()
	o.Uploads, o.Names, o.Store = m, m, m
	f(New(o))
	return m.left <= 0
}

// A server that is killed at any step of an upload, and starts again, has what it said that
// it has: the client asks how far it is, goes on, and gets what it sent. Nothing is left of
// what was half done, and nothing that is needed is removed.
func TestKilledWhileUploading(t *testing.T) {
	for name, content := range map[string][]byte{"file": pattern(pieceBytes + 70_000), "picture": somePicture(t)} {
		steps := 0
		for _, after := range []bool{false, true} {
			for n, killed := 1, true; killed; n++ {
				w := newWorld(t)
				u := im.Upload{}
				told := int64(0)
				killed = w.killedAt(n, after, func(s *Service) {
					var err error
					if u, err = s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{}); err != nil {
						return
					}
					half := len(content) / 2
					if half < leastPiece {
						half = len(content)
					}
					x, err := s.Write(t.Context(), "ann", u.ID, 0, bytes.NewReader(content[:half]), nil)
					if told = x.Received; err != nil {
						return
					}
					x, _ = s.Write(t.Context(), "ann", u.ID, int64(half), bytes.NewReader(content[half:]), nil)
					told = max(told, x.Received)
				})
				steps++
				s := w.service()
				at, err := s.Of(t.Context(), "ann", u.ID)
				if im.CodeOf(err) == im.CodeNotFound && told == 0 {
					u, err = s.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{}) // it was never answered
					at = u
				}
				w.ok(err)
				if at.Received < told && !at.Ready {
					t.Fatalf("%s, step %d: %d bytes were there, and %d are", name, n, told, at.Received)
				}
				if !at.Ready {
					at, err = s.Write(t.Context(), "ann", u.ID, at.Received, bytes.NewReader(content[at.Received:]), nil)
					w.ok(err)
				}
				if name == "file" && !bytes.Equal(w.content(s, at), content) {
					t.Fatalf("%s, step %d: another content", name, n)
				}
				w.now = w.now.Add(trashTime)
				w.ok(s.Sweep(t.Context()))
				want := 1
				if at.Thumbnail != "" {
					want = 2
				}
				if left := w.blobs(); len(left) != want || len(w.content(s, at)) != int(at.Size) {
					t.Fatalf("%s, step %d: kept %v", name, n, left)
				}
			}
		}
		if steps < 12 {
			t.Errorf("%s: killed in %d steps only", name, steps)
		}
	}
}

// A server that is killed at any step of throwing away goes on with it when it is back, and
// never removes what a message names.
func TestKilledWhileThrowingAway(t *testing.T) {
	for _, after := range []bool{false, true} {
		steps := 0
		for n, killed := 1, true; killed; n++ {
			w := newWorld(t)
			s := w.service()
			gone, stays, back := w.up(s, "ann", somePicture(t)), w.up(s, "ann", []byte("stays")), w.up(s, "ann", []byte("back"))
			w.say(s, "ann", 1, nil, stays.ID)
			taken := w.say(s, "ann", 2, nil, back.ID)
			delete(w.said.messages, taken.ID)
			for range 3 {
				w.now = w.now.Add(25 * time.Hour)
				killed = w.killedAt(n, after, func(s *Service) { _ = s.Sweep(t.Context()) })
				w.ok(s.Sweep(t.Context()))
			}
			steps++
			if string(w.content(s, stays)) != "stays" || len(w.blobs()) != 1 {
				t.Fatalf("step %d: %v", n, w.blobs())
			}
			_, err := s.Of(t.Context(), "ann", gone.ID)
			w.code("what nothing names", err, im.CodeNotFound)
			if n > 200 {
				t.Fatal("no end")
			}
			killed = killed || n < 12
		}
		if steps < 10 {
			t.Errorf("killed in %d steps only", steps)
		}
	}
}
