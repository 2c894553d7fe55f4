package sound

import (
	"bytes"
	"encoding/binary"
	"time"
)

// stream is the one sound of an Ogg file that is measured: its first.
type stream struct {
	serial  uint32
	opus    bool
	rate    uint64 // of what granules count
	skip    uint64 // samples at the beginning that are not heard
	packets uint64
	samples uint64 // of Opus: what the packets say that they are
	end     uint64 // the last granule
	begun   bool   // this packet's first bytes were seen
}

// ogg walks the pages (RFC 3533). A duration is by the granule of the last page, and not
// more than what the packets have: each packet of Opus says how long it is (RFC 6716 §3.1),
// one of Vorbis has at most 8,192 samples.
func (m *measure) ogg() time.Duration {
	var s stream
	for first := true; ; first = false {
		head := m.take(27)
		if head == nil || string(head[:4]) != "OggS" || head[4] != 0 {
			break
		}
		serial, granule, begins := binary.LittleEndian.Uint32(head[14:]), binary.LittleEndian.Uint64(head[6:]), head[5]&1 == 0
		segments := int(head[26])
		var lacing [255]byte
		table := m.take(segments)
		if table == nil {
			break
		}
		copy(lacing[:], table)
		length := 0
		for _, n := range lacing[:segments] {
			length += int(n)
		}
		body := m.take(length)
		if body == nil {
			break // cut off: the pages before it count
		}
		switch {
		case first:
			if !s.opens(serial, body) {
				return 0
			}
			continue
		case serial != s.serial:
			continue
		}
		if begins {
			s.begun = false
		}
		s.page(lacing[:segments], body)
		if int64(granule) >= 0 {
			s.end = granule
		}
	}
	return s.lasts()
}

// opens reads the first packet of a stream.
func (s *stream) opens(serial uint32, p []byte) bool {
	s.serial = serial
	switch {
	case len(p) >= 19 && bytes.HasPrefix(p, []byte("OpusHead")):
		s.opus, s.rate, s.skip = true, 48000, uint64(binary.LittleEndian.Uint16(p[10:]))
	case len(p) >= 30 && bytes.HasPrefix(p, []byte("\x01vorbis")):
		s.rate = uint64(binary.LittleEndian.Uint32(p[12:]))
	default:
		return false
	}
	return s.rate > 0
}

// page counts the packets of a page. A packet may go on from the page before.
func (s *stream) page(lacing, body []byte) {
	at := 0
	for i := 0; i < len(lacing); {
		from, n, ends := at, 0, false
		for i < len(lacing) && !ends {
			n, ends = n+int(lacing[i]), lacing[i] < 255
			i++
		}
		at += n
		if !s.begun && n > 0 {
			s.packet(body[from:at])
		}
		s.begun = !ends
	}
}

func (s *stream) packet(p []byte) {
	if !s.opus {
		s.packets++
		s.samples += 8192
		return
	}
	if bytes.HasPrefix(p, []byte("OpusTags")) {
		return
	}
	s.packets++
	s.samples += opusSamples(p)
}

// opusSamples is how many samples of 48,000 a second a packet of Opus has: at most 120 ms.
func opusSamples(p []byte) uint64 {
	config, count := p[0]>>3, uint64(1)
	switch p[0] & 3 {
	case 1, 2:
		count = 2
	case 3:
		if len(p) < 2 {
			return 0
		}
		count = uint64(p[1] & 63)
	}
	var frame uint64
	switch {
	case config < 12:
		frame = [4]uint64{480, 960, 1920, 2880}[config&3]
	case config < 16:
		frame = [2]uint64{480, 960}[config&1]
	default:
		frame = [4]uint64{120, 240, 480, 960}[config&3]
	}
	return min(count*frame, 5760)
}

func (s *stream) lasts() time.Duration {
	n := s.end
	if n > s.samples { // a granule that lies, or a stream that was cut out of another
		if !s.opus {
			return 0
		}
		n = s.samples
	}
	if n <= s.skip || s.packets == 0 {
		return 0
	}
	return lasts(n-s.skip, s.rate)
}
