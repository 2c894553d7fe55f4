// Package sound finds out how long sounds and films last, and how loud a sound is, from
// their bytes alone.
//
// It owns the forms: Ogg (Opus, Vorbis), WAV, MP3, AAC (ADTS), AMR, FLAC, and MP4 with its
// kin. It decodes nothing but the samples of WAV, which are as they are; loudnesses of
// others it does not know. It must not know what uploads are, or who sent them.
//
// The bytes are a stranger's. What it guarantees: one pass, with less than 200 KiB of
// memory, in time in proportion to the bytes, whatever they are; and no duration that the
// bytes cannot have: lengths that a file says of itself count as far as there are bytes for
// them. What is broken, cut off or lying has no duration: nothing here is an error.
//
// Goroutines and locks: none.
package sound

import (
	"bufio"
	"io"
	"math"
	"strings"
	"time"
)

const (
	// longest is the longest duration that is told: a day.
	longest = 24 * time.Hour
	// leastRate is how many bytes a second has at least: silence in Opus has about 100.
	leastRate = 32
	// bars is how many loudnesses are told at most.
	bars = 100
)

// Facts are what a file is found to be; zero: unknown.
type Facts struct {
	Duration time.Duration
	// Waveform has at most 100 loudnesses, each the loudest sample of its part, 0 to 100.
	Waveform []byte
}

// Measure reads what it needs of size bytes. It need not read all of it.
func Measure(mime string, r io.Reader, size int64) Facts {
	m := &measure{r: bufio.NewReaderSize(io.LimitReader(r, size), 64<<10), left: size}
	var f Facts
	switch mime {
	case "audio/ogg":
		f.Duration = m.ogg()
	case "audio/wav":
		f = m.wav()
	case "audio/mpeg":
		f.Duration = m.frames(mpegFrame)
	case "audio/aac":
		f.Duration = m.frames(adtsFrame)
	case "audio/amr":
		f.Duration = m.amr()
	case "audio/flac":
		f.Duration = m.flac()
	default:
		if strings.HasPrefix(mime, "video/") || mime == "audio/mp4" {
			f.Duration = m.boxes()
		}
	}
	if f.Duration <= 0 || f.Duration > longest || f.Duration > time.Duration(float64(size)/leastRate*float64(time.Second)) {
		return Facts{}
	}
	return f
}

// measure is what is left of a file.
type measure struct {
	r    *bufio.Reader
	left int64
	b    [64 << 10]byte
}

// take reads n bytes, at most 64 KiB; nil: there are not as many. They are good until the
// next call.
func (m *measure) take(n int) []byte {
	k, err := io.ReadFull(m.r, m.b[:n])
	m.left -= int64(k)
	if err != nil {
		return nil
	}
	return m.b[:n]
}

// skip leaves out n bytes, and tells whether there were as many.
func (m *measure) skip(n int64) bool {
	if n < 0 || n > m.left {
		return false
	}
	k, err := m.r.Discard(int(n))
	m.left -= int64(k)
	return err == nil
}

// lasts is how long n of so many a second last; 0 where that is nonsense.
func lasts(n, rate uint64) time.Duration {
	if rate == 0 {
		return 0
	}
	s := float64(n) / float64(rate)
	if math.IsNaN(s) || s > longest.Seconds() {
		return longest + 1
	}
	return time.Duration(s * float64(time.Second))
}
