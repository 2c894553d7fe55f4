package media

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// someWAV is a second of 8,000 samples of one byte, half as loud as may be.
func someWAV() []byte {
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), 36+8000)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, 8000)
	return append(b, bytes.Repeat([]byte{64}, 8000)...)
}

// What is measured stands in the place of what the uploader said, and stays with the upload;
// what is not measured is as they said.
func TestMeasured(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	for _, tc := range []struct {
		content []byte
		want    time.Duration
		loud    byte
	}{{someWAV(), time.Second, 50}, {append([]byte("OggS\x00\x02"), make([]byte, 100)...), time.Hour, 7}} {
		u, err := s.Begin(t.Context(), "ann", int64(len(tc.content)), im.MediaFacts{Name: "v", Duration: time.Hour, Waveform: bytes.Repeat([]byte{7}, 100)})
		w.ok(err)
		_, err = s.Write(t.Context(), "ann", u.ID, 0, bytes.NewReader(tc.content), nil)
		w.ok(err)
		u, err = s.Of(t.Context(), "ann", u.ID)
		w.ok(err)
		if u.Duration != tc.want || !bytes.Equal(u.Waveform, bytes.Repeat([]byte{tc.loud}, 100)) || !bytes.Equal(w.content(s, u), tc.content) {
			t.Errorf("%s lasts %v, %v", u.MIME, u.Duration, u.Waveform)
		}
	}
}
