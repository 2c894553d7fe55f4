package picture

import (
	"bytes"
	"encoding/binary"
)

// orientation is how a picture is to be turned, 1 to 8, as its EXIF says; 1 without one, and
// where it cannot be read. GIFs and animations say none.
func orientation(mime string, file []byte) int {
	switch mime {
	case "image/jpeg":
		return jpegOrientation(file)
	case "image/png":
		return pngOrientation(file)
	case "image/webp":
		return webpOrientation(file)
	}
	return 1
}

func jpegOrientation(file []byte) int {
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

// pngOrientation looks for the part eXIf, which may lie before or behind the picture.
func pngOrientation(file []byte) int {
	const signature = 8
	for at := uint64(signature); at+8 <= uint64(len(file)); {
		n := uint64(binary.BigEndian.Uint32(file[at:]))
		if at+8+n > uint64(len(file)) {
			return 1
		}
		switch string(file[at+4 : at+8]) {
		case "eXIf":
			return tiffOrientation(file[at+8 : at+8+n])
		case "IEND":
			return 1
		}
		at += 8 + n + 4 // and a checksum
	}
	return 1
}

// webpOrientation looks for the part EXIF of a single picture. Some writers begin it as in a
// JPEG.
func webpOrientation(file []byte) int {
	b, err := content(file)
	if err != nil {
		return 1
	}
	o, animated := 1, false
	err = chunks(b, func(name string, body []byte) error {
		switch name {
		case "VP8X":
			animated = animated || len(body) > 0 && body[0]&webpAnimated != 0
		case "EXIF":
			o = tiffOrientation(bytes.TrimPrefix(body, []byte("Exif\x00\x00")))
		}
		return nil
	})
	if err != nil || animated {
		return 1
	}
	return o
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
