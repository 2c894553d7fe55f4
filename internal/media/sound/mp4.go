package sound

import (
	"encoding/binary"
	"time"
)

// mostBoxes is how many boxes are looked at: a film in fragments has one for each second.
const mostBoxes = 1 << 20

// boxes looks for the duration of an MP4 (ISO 14496-12): in `mvhd`, or of one in fragments
// in `mehd`. Both are in `moov`, which may lie before or behind what is played.
func (m *measure) boxes() time.Duration {
	var scale, length uint64
	end := int64(-1) // of moov: how much is left behind it
	for range mostBoxes {
		if end >= 0 && m.left <= end {
			break
		}
		name, size := m.box()
		switch kind := string(name[:]); { // not kept, so not allocated
		case name == [4]byte{}:
			return 0
		case kind == "moov" && end < 0:
			if size > m.left {
				return 0
			}
			end = m.left - size
		case kind == "mvex" && end >= 0: // its boxes are among those of moov
		case kind == "mvhd" && end >= 0:
			if scale, length = m.times(size, true); scale == 0 {
				return 0
			}
		case kind == "mehd" && end >= 0:
			if _, fragments := m.times(size, false); fragments > 0 {
				length = fragments
			}
		case !m.skip(size):
			return 0
		}
	}
	return lasts(length, scale)
}

// box reads the head of a box, and how much is behind it; zeros: there is none.
func (m *measure) box() (kind [4]byte, size int64) {
	none := [4]byte{}
	head := m.take(8)
	if head == nil {
		return none, 0
	}
	kind, size = [4]byte(head[4:8]), int64(binary.BigEndian.Uint32(head))-8
	switch size {
	case -8: // to the end
		return kind, m.left
	case -7:
		if head = m.take(8); head == nil {
			return none, 0
		}
		size = int64(binary.BigEndian.Uint64(head)&(1<<62-1)) - 16
	}
	if size < 0 {
		return none, 0
	}
	return kind, size
}

// times reads a duration, behind a scale or alone. A duration of only ones is not known.
func (m *measure) times(size int64, scaled bool) (scale, length uint64) {
	if size < 8 || size > 1<<10 {
		return 0, 0
	}
	b := m.take(int(size))
	if b == nil {
		return 0, 0
	}
	long, at := b[0] == 1, 4
	need := 4
	if scaled {
		if at, need = 12, 8; long {
			at = 20
		}
	}
	if long {
		need += 4
	}
	if len(b) < at+need {
		return 0, 0
	}
	if scaled {
		scale, at = uint64(binary.BigEndian.Uint32(b[at:])), at+4
	}
	if !long {
		if length = uint64(binary.BigEndian.Uint32(b[at:])); length == 1<<32-1 {
			length = 0
		}
	} else if length = binary.BigEndian.Uint64(b[at:]); length == 1<<64-1 {
		length = 0
	}
	return scale, length
}
