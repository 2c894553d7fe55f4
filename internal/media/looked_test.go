package media

import (
	"encoding/base64"
	"slices"
	"testing"
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
