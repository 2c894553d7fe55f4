package media

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media/blob"
)

// away is a service without a directory, which asks another one.
func (w *world) away(store Store) *Service {
	there := w.service()
	o := w.options()
	o.Elsewhere = &Elsewhere{Ask: func(ctx context.Context, method string, _ bool, payload []byte) ([]byte, error) {
		return there.Answer(ctx, method, payload)
	}}
	o.Uploads, o.Names, o.Messages, o.Store = o.Elsewhere, nil, nil, store
	return New(o)
}

// What is uploaded through a node without the directory is there for all, to whom it is to
// read alone; and what is refused, is.
func TestElsewhere(t *testing.T) {
	w := newWorld(t)
	s := w.away(w.store)
	ctx := t.Context()
	content := strings.Repeat("0123456789", 5000)
	u, err := s.Begin(ctx, "ann", int64(len(content)), im.MediaFacts{Name: "a.txt", Waveform: []byte{1, 2}})
	w.ok(err)
	_, err = s.Write(ctx, "ann", u.ID, 0, strings.NewReader(content[:20_000]), nil)
	w.ok(err)
	got, err := s.Of(ctx, "ann", u.ID)
	if w.ok(err); got.Received != 20_000 || got.Name != "a.txt" || string(got.Waveform) != "\x01\x02" || !got.Expires.Equal(u.Expires) {
		t.Errorf("%+v", got)
	}
	_, err = s.Write(ctx, "ann", u.ID, 5, strings.NewReader("x"), nil)
	w.code("at another place", err, im.CodeConflict)
	_, err = s.Of(ctx, "bob", u.ID)
	w.code("another one's", err, im.CodeNotFound)
	got, err = s.Write(ctx, "ann", u.ID, 20_000, strings.NewReader(content[20_000:]), nil)
	if w.ok(err); !got.Ready {
		t.Errorf("%+v", got)
	}
	for _, by := range []*Service{s, w.service()} {
		found, err := by.Find(ctx, "ann", u.ID, Place{})
		w.ok(err)
		r, err := by.Open(ctx, found, false, 10)
		w.ok(err)
		all, err := io.ReadAll(r)
		if w.ok(err); string(all) != content[10:] {
			t.Errorf("%d bytes", len(all))
		}
		w.ok(r.Close())
		_, err = by.Find(ctx, "bob", u.ID, Place{})
		w.code("who may not", err, im.CodeNotFound)
	}
	_, err = s.Begin(ctx, "ann", w.quota.Bytes, im.MediaFacts{})
	w.code("too much", err, im.CodeTooLarge)
	picture, err := s.Begin(ctx, "ann", int64(len(pngOf(t, 400))), im.MediaFacts{})
	w.ok(err)
	shown, err := s.Write(ctx, "ann", picture.ID, 0, strings.NewReader(string(pngOf(t, 400))), nil)
	if w.ok(err); shown.Thumbnail == "" || shown.Width != 400 {
		t.Errorf("%+v", shown)
	}
	w.ok(s.Drop(ctx, "ann", picture.ID))
	_, err = w.service().Find(ctx, "ann", picture.ID, Place{})
	w.code("thrown away", err, im.CodeNotFound)
	_, err = w.service().Answer(ctx, "unheard of", []byte("{}"))
	w.code("what nobody knows", err, im.CodeUnimplemented)
	_, err = w.service().Answer(ctx, "piece", []byte("{}"))
	w.code("a piece without one", err, im.CodeInternal)
}

// A node that keeps bytes in another place takes nothing and gives nothing, and says so.
func TestAnotherPlace(t *testing.T) {
	w := newWorld(t)
	other, err := blob.Open(filepath.Join(t.TempDir(), "other"), "")
	w.ok(err)
	s := w.away(other)
	_, err = s.Begin(t.Context(), "ann", 100, im.MediaFacts{})
	w.code("begin", err, im.CodeUnavailable)
	_, err = s.Find(t.Context(), "ann", strings.Repeat("A", 26), Place{})
	w.code("find", err, im.CodeUnavailable)
}

func pngOf(t *testing.T, side int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
