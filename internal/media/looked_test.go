package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// A WebP that is turned is no WebP any more, and the upload says so.
func TestTurnedWebP(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	one, err := base64.StdEncoding.DecodeString("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
	w.ok(err)
	said := "EXIF\x16\x00\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"
	file := slices.Concat([]byte("RIFF\x52\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"), one[12:], []byte(said))
	u := w.up(s, "ann", file)
	if got := string(w.content(s, u)[:3]); u.MIME != "image/jpeg" || got != "\xff\xd8\xff" || u.Width != 1 || u.Height != 1 {
		t.Errorf("%+v: %q", u, got)
	}
}

// boxOf is a box of a film or a HEIC.
func boxOf(kind string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), []byte(kind), body)
}

// What is kept of a film does not say where it was made, though that lies over the end of a
// piece; its hash is of what is kept, and what is played is as it came. A HEIC that is cut off
// is not taken, and one that is whole says as little.
func TestSaysNoPlace(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	place := boxOf("moov", boxOf("udta", bytes.Repeat([]byte("+52.5200+013.4050/"), 2000)), boxOf("mvhd", make([]byte, 12), []byte{0, 0, 3, 232, 0, 0, 7, 208}))
	played := pattern(pieceBytes - 20_000)
	film := slices.Concat(boxOf("ftyp", []byte("qt  \x00\x00\x00\x00")), boxOf("mdat", played), place, boxOf("free", pattern(100)))
	u := w.up(s, "ann", film)
	kept := w.content(s, u)
	sum := sha256.Sum256(kept)
	if len(kept) != len(film) || bytes.Contains(kept, []byte("52.5")) || bytes.Contains(kept, []byte("+013")) || !bytes.Contains(kept, played) {
		t.Errorf("%d bytes of %d, %d places", len(kept), len(film), bytes.Count(kept, []byte("52.5")))
	}
	if u.Hash != hex.EncodeToString(sum[:]) || u.Duration.Seconds() != 2 {
		t.Errorf("%+v", u)
	}
	heic := slices.Concat(boxOf("ftyp", []byte("heic\x00\x00\x00\x00")), boxOf("mdat", played[:1000]), boxOf("uuid", []byte("+52.5200+013.4050/")))
	if kept := w.content(s, w.up(s, "ann", heic)); bytes.Contains(kept, []byte("52.5")) || !bytes.Contains(kept, played[:1000]) {
		t.Errorf("%q", kept[len(kept)-40:])
	}
	cut, err := s.Begin(t.Context(), "ann", int64(len(heic)-1), im.MediaFacts{})
	w.ok(err)
	_, err = s.Write(t.Context(), "ann", cut.ID, 0, bytes.NewReader(heic[:len(heic)-1]), nil)
	w.code("cut off", err, im.CodeInvalidArgument)
	_, err = s.Of(t.Context(), "ann", cut.ID)
	w.code("thrown away", err, im.CodeNotFound)
}

// Pieces are read anywhere as if they were one file, also over their ends; what is not there,
// or is shorter than it is noted to be, is an error.
func TestWindow(t *testing.T) {
	w := newWorld(t)
	all := pattern(5*windowBytes + 77)
	var pieces []im.MediaPiece
	for at := 0; at < len(all); {
		n := min(len(all)-at, []int{1, 3, windowBytes, 2 * windowBytes, 500}[len(pieces)%5])
		p := im.MediaPiece{Start: int64(at), Size: int64(n), Blob: newBlob("piece")}
		_, err := w.store.Put(t.Context(), p.Blob, bytes.NewReader(all[at:at+n]))
		w.ok(err)
		pieces, at = append(pieces, p), at+n
	}
	in := &window{ctx: t.Context(), store: w.store, pieces: pieces}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		at := random.IntN(len(all))
		b := make([]byte, random.IntN(1+min(len(all)-at, 3*windowBytes)))
		if n, err := in.ReadAt(b, int64(at)); err != nil || n != len(b) || !bytes.Equal(b, all[at:at+n]) {
			t.Fatalf("%d bytes at %d: %d, %v", len(b), at, n, err)
		}
	}
	if n, err := in.ReadAt(make([]byte, 9), int64(len(all)-4)); n != 4 || !errors.Is(err, io.EOF) {
		t.Errorf("over the end: %d, %v", n, err)
	}
	w.ok(w.store.Delete(t.Context(), pieces[2].Blob))
	pieces[3].Size++
	in = &window{ctx: t.Context(), store: w.store, pieces: pieces}
	for at, want := range map[int64]error{pieces[2].Start: fs.ErrNotExist, pieces[3].Start + pieces[3].Size - 1: io.EOF} {
		if _, err := in.ReadAt(make([]byte, 1), at); !errors.Is(err, want) {
			t.Errorf("at %d: %v, %v wanted", at, err, want)
		}
	}
}
