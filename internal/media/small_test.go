package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media/picture"
)

// A picture that the server got is kept small, as nobody's upload: it is fetched where a
// message names it, and thrown away when none does.
func TestKeepSmall(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	var large bytes.Buffer
	w.ok(png.Encode(&large, image.NewGray(image.Rect(0, 0, 3000, 1500))))
	id, err := s.KeepSmall(t.Context(), large.Bytes())
	w.ok(err)
	u, err := w.db.Upload(t.Context(), id)
	w.ok(err)
	if !u.Ready || u.Owner != im.ServerUploads || u.Width != 320 || u.Height != 160 || u.MIME != "image/jpeg" {
		t.Errorf("%+v", u)
	}
	_, err = s.Find(t.Context(), "ann", id, Place{})
	w.code("nobody names it", err, im.CodeNotFound)
	for what, file := range map[string][]byte{
		"svg": []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "html": []byte("<html>"), "nothing": nil, "cut off": large.Bytes()[:100], "a beginning": []byte("GIF89a"),
	} {
		if id, err := s.KeepSmall(t.Context(), file); err == nil {
			t.Errorf("%s is kept as %s", what, id)
		}
	}
	bomb := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), 0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0, 8, 2, 0, 0, 0)
	bomb = binary.BigEndian.AppendUint32(bomb, crc32.ChecksumIEEE(bomb[12:]))
	if _, err := s.KeepSmall(t.Context(), bomb); !errors.Is(err, picture.ErrLarge) {
		t.Errorf("100,000 × 100,000 pixels: %v", err)
	}
	w.now = w.now.Add(unnamedTime + time.Minute)
	w.ok(s.Sweep(t.Context()))
	if _, err := w.db.Upload(t.Context(), id); im.CodeOf(err) != im.CodeNotFound {
		t.Error("it is kept though nothing names it:", err)
	}
}

// full is a place without room.
type full struct{ Store }

func (full) Put(context.Context, string, io.Reader) (int64, error) { return 0, syscall.ENOSPC }

// What could not be kept has no id: a message that named it would be refused with it.
func TestSmallThatIsNotKept(t *testing.T) {
	w := newWorld(t)
	w.store = full{w.store}
	id, err := w.service().KeepSmall(t.Context(), somePicture(t))
	if w.code("without room", err, im.CodeStorageFull); id != "" {
		t.Errorf("it is %q", id)
	}
}

// What the server wrote itself is not shown to the scanner, and waits for none.
func TestSmallIsNotScanned(t *testing.T) {
	w := newWorld(t)
	fake, s := w.scanner()
	fake.Close()
	id, err := s.KeepSmall(t.Context(), somePicture(t))
	w.ok(err)
	u, err := w.db.Upload(t.Context(), id)
	if w.ok(err); !u.Ready {
		t.Errorf("%+v", u)
	}
	w.scans(s, 0, 0, 0)
}
