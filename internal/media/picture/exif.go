package picture

import "encoding/binary"

// orientation is how a JPEG is to be turned, 1 to 8, as its EXIF says; 1 without one, and
// where it cannot be read.
func orientation(file []byte) int {
	for at := 2; at+4 <= len(file) && file[at] == 0xff; {
		marker, n := file[at+1], int(binary.BigEndian.Uint16(file[at+2:]))
		if marker == 0xda || n < 2 || at+2+n > len(file) { // the picture itself
			return 1
		}
		if part := file[at+4 : at+2+n]; marker == 0xe1 && len(part) > 6 && string(part[:6]) == "Exif\x00\x00" {
			return tiffOrientation(part[6:])
		}
		at += 2 + n
	}
	return 1
}

// progressive tells that a JPEG comes in several scans. One whose parts cannot be read is
// taken for one.
func progressive(file []byte) bool {
	for at := 2; at+4 <= len(file) && file[at] == 0xff; {
		switch marker := file[at+1]; {
		case marker == 0xff: // fills
			at++
			continue
		case marker == 0xc0, marker == 0xc1:
			return false
		}
		at += 2 + int(binary.BigEndian.Uint16(file[at+2:]))
	}
	return true
}

// tiffOrientation reads the tag 0x0112 of the first directory.
func tiffOrientation(b []byte) int {
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(b[:2]) {
	case "MM":
		order = binary.BigEndian
	case "II":
	default:
		return 1
	}
	at := uint64(order.Uint32(b[4:]))
	if at+2 > uint64(len(b)) {
		return 1
	}
	n := uint64(order.Uint16(b[at:]))
	for i := range n {
		e := at + 2 + 12*i
		if e+12 > uint64(len(b)) {
			return 1
		}
		if order.Uint16(b[e:]) == 0x0112 {
			if o := int(order.Uint16(b[e+8:])); o >= 1 && o <= 8 {
				return o
			}
			return 1
		}
	}
	return 1
}
