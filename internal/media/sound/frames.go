package sound

import (
	"encoding/binary"
	"time"
)

// strays is how many bytes may lie between frames before a file counts as ended: tags.
const strays = 64 << 10

// frame reads the head of a frame: its length, how many samples it has and how many there
// are in a second. ok is false for what is none.
type frame func(head []byte) (length int, samples, rate uint64, ok bool)

// frames walks frames, whose lengths are in their heads of 7 bytes, over tags and strays.
// Durations of frames with different rates are added as they are.
func (m *measure) frames(of frame) time.Duration {
	var total float64
	counted := 0
	for stray := 0; ; {
		head, err := m.r.Peek(10)
		if len(head) < 7 {
			break
		}
		if err == nil && string(head[:3]) == "ID3" && counted == 0 {
			n := int64(head[6]&127)<<21 | int64(head[7]&127)<<14 | int64(head[8]&127)<<7 | int64(head[9]&127)
			if !m.skip(10 + n) {
				return 0
			}
			continue
		}
		length, samples, rate, ok := of(head)
		if !ok {
			if stray++; stray > strays || !m.skip(1) {
				break
			}
			continue
		}
		if !m.skip(int64(length)) {
			break // cut off
		}
		total += float64(samples) / float64(rate)
		counted++
		stray = 0
	}
	if counted < 2 || total > longest.Seconds() { // one alone is found in anything
		return 0
	}
	return time.Duration(total * float64(time.Second))
}

var (
	mpegRates    = [3]uint64{44100, 48000, 32000}
	mpegBitrates = [5][16]int{
		{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448}, // version 1, layer 1
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},    // version 1, layer 2
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},     // version 1, layer 3
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},    // version 2, layer 1
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},         // version 2, layers 2 and 3
	}
)

// mpegFrame is of MPEG audio (ISO 11172-3), layers 1 to 3.
func mpegFrame(h []byte) (length int, samples, rate uint64, ok bool) {
	if h[0] != 0xff || h[1]&0xe0 != 0xe0 {
		return 0, 0, 0, false
	}
	version, layer, bits, hz := h[1]>>3&3, 4-int(h[1]>>1&3), h[2]>>4, h[2]>>2&3
	if version == 1 || layer == 4 || bits == 0 || bits == 15 || hz == 3 {
		return 0, 0, 0, false
	}
	row := layer - 1
	rate, samples = mpegRates[hz], 1152
	if version != 3 { // 2, or 2.5
		rate /= 2
		if row = min(layer+2, 4); layer == 3 {
			samples = 576
		}
	}
	if version == 0 {
		rate /= 2
	}
	padding, kbit := int(h[2]>>1&1), mpegBitrates[row][bits]
	if layer == 1 {
		return (12*kbit*1000/int(rate) + padding) * 4, 384, rate, true
	}
	return int(samples)/8*kbit*1000/int(rate) + padding, samples, rate, true
}

var adtsRates = [13]uint64{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

// adtsFrame is of AAC (ISO 13818-7), one to four blocks of 1,024 samples.
func adtsFrame(h []byte) (length int, samples, rate uint64, ok bool) {
	hz := h[2] >> 2 & 15
	if h[0] != 0xff || h[1]&0xf6 != 0xf0 || int(hz) >= len(adtsRates) {
		return 0, 0, 0, false
	}
	length = int(h[3]&3)<<11 | int(h[4])<<3 | int(h[5])>>5
	return length, 1024 * (uint64(h[6]&3) + 1), adtsRates[hz], length >= 7
}

// amr walks the frames of a narrow-band or wide-band file (RFC 4867 §5), 20 ms each.
func (m *measure) amr() time.Duration {
	sizes := [16]int64{12, 13, 15, 17, 19, 20, 26, 31, 5, -1, -1, -1, -1, -1, -1, 0}
	magic := m.take(6)
	if magic == nil || string(magic[:5]) != "#!AMR" {
		return 0
	}
	if magic[5] == '-' {
		if rest := m.take(3); rest == nil || string(rest) != "WB\n" {
			return 0 // with more channels: nobody sends those
		}
		sizes = [16]int64{17, 23, 32, 36, 40, 46, 50, 58, 60, 5, -1, -1, -1, -1, 0, 0}
	}
	for n := uint64(0); ; n++ {
		head := m.take(1)
		if head == nil || !m.skip(sizes[head[0]>>3&15]) {
			return lasts(n, 50)
		}
	}
}

// flac reads STREAMINFO, which is first.
func (m *measure) flac() time.Duration {
	b := m.take(42)
	if b == nil || string(b[:4]) != "fLaC" || b[4]&127 != 0 {
		return 0
	}
	v := binary.BigEndian.Uint64(b[18:])
	return lasts(v&(1<<36-1), v>>44)
}
