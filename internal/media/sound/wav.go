package sound

import (
	"encoding/binary"
	"math"
	"time"
)

// wave is the form of the samples of a WAV file.
type wave struct {
	format         uint16
	channels, bits int
	rate, bytes    uint64 // a second
	block          int    // of one sample of all channels
}

// wav reads the chunks up to the samples. A length that is more than there is, as of a file
// that was written while it was recorded, counts as far as there are bytes.
func (m *measure) wav() (f Facts) {
	if head := m.take(12); head == nil || string(head[:4]) != "RIFF" || string(head[8:12]) != "WAVE" {
		return f
	}
	var w wave
	for {
		head := m.take(8)
		if head == nil {
			return f
		}
		kind, length := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		switch {
		case kind == "data":
			length = min(length, m.left)
			f.Duration = w.lasts(uint64(length))
			if f.Duration > 0 {
				f.Waveform = m.loudness(w, length)
			}
			return f
		case kind == "fmt " && length >= 16 && length <= 1<<10:
			b := m.take(int(length + length&1))
			if b == nil || !w.read(b) {
				return f
			}
		case !m.skip(length + length&1):
			return f
		}
	}
}

func (w *wave) read(b []byte) bool {
	le := binary.LittleEndian
	w.format, w.channels, w.rate = le.Uint16(b), int(le.Uint16(b[2:])), uint64(le.Uint32(b[4:]))
	w.bytes, w.block, w.bits = uint64(le.Uint32(b[8:])), int(le.Uint16(b[12:])), int(le.Uint16(b[14:]))
	if w.format == 0xfffe && len(b) >= 26 { // extensible: the form stands further behind
		w.format = le.Uint16(b[24:])
	}
	return w.channels > 0 && w.channels <= 64 && w.rate > 0
}

// plain tells that the samples are as they are: whole numbers or, of 32 bits, floating.
func (w *wave) plain() bool {
	if w.block != w.channels*w.bits/8 {
		return false
	}
	switch w.bits {
	case 8, 16, 24:
		return w.format == 1
	case 32:
		return w.format == 1 || w.format == 3
	}
	return false
}

func (w *wave) lasts(n uint64) time.Duration {
	if w.plain() {
		return lasts(n/uint64(w.block), w.rate)
	}
	return lasts(n, w.bytes)
}

// loudness reads the samples: of each part the loudest.
func (m *measure) loudness(w wave, length int64) []byte {
	total := length / int64(max(w.block, 1))
	if !w.plain() || total == 0 {
		return nil
	}
	n := min(total, bars)
	out, part, loudest := make([]byte, 0, n), int64(0), 0.0
	buffer := int64(len(m.b)) / int64(w.block)
	for at := int64(0); at < total; {
		b := m.take(int(min(buffer, total-at)) * w.block)
		if b == nil {
			return nil
		}
		for ; len(b) > 0; b = b[w.block:] {
			for c := range w.channels {
				loudest = max(loudest, w.sample(b[c*w.bits/8:]))
			}
			if at++; at*n/total > part || at == total {
				out, part, loudest = append(out, byte(100*min(loudest, 1))), at*n/total, 0
			}
		}
	}
	return out
}

// sample is how far a sample is from silence, of 1.
func (w *wave) sample(b []byte) float64 {
	var v float64
	switch w.bits {
	case 8:
		v = (float64(b[0]) - 128) / 128
	case 16:
		v = float64(int16(binary.LittleEndian.Uint16(b))) / (1 << 15)
	case 24:
		v = float64(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / (1 << 31)
	default:
		u := binary.LittleEndian.Uint32(b)
		if v = float64(int32(u)) / (1 << 31); w.format == 3 {
			v = float64(math.Float32frombits(u))
		}
	}
	if math.IsNaN(v) {
		return 0
	}
	return math.Abs(v)
}
