package picture

import (
	"errors"
	"io"
)

// cleanGIF is a GIF without its comments, without what applications wrote into it, but
// for how often it is played, and without anything behind its end.
func cleanGIF(file []byte) ([]byte, error) {
	out, at := make([]byte, 0, len(file)), 0
	take := func(n int, keep bool) bool {
		if n < 0 || at+n > len(file) {
			return false
		}
		if keep {
			out = append(out, file[at:at+n]...)
		}
		at += n
		return true
	}
	// blocks are those of one part, up to an empty one.
	blocks := func(keep bool) bool {
		for at < len(file) {
			n := int(file[at])
			if !take(1+n, keep) {
				return false
			}
			if n == 0 {
				return true
			}
		}
		return false
	}
	if len(file) < 13 || !take(13, true) || file[10]&0x80 != 0 && !take(3<<(1+file[10]&7), true) {
		return nil, io.ErrUnexpectedEOF
	}
	for at < len(file) {
		ok := false
		switch file[at] {
		case 0x3b: // the end
			return append(out, 0x3b), nil
		case 0x2c: // a picture
			if at+10 > len(file) {
				return nil, io.ErrUnexpectedEOF
			}
			table := 0
			if flags := file[at+9]; flags&0x80 != 0 {
				table = 3 << (1 + flags&7)
			}
			ok = take(10+table+1, true) && blocks(true)
		case 0x21:
			if at+2 > len(file) {
				return nil, io.ErrUnexpectedEOF
			}
			keep := file[at+1] == 0xf9 // how long it is shown
			if file[at+1] == 0xff && at+14 <= len(file) && file[at+2] == 11 {
				app := string(file[at+3 : at+14])
				keep = app == "NETSCAPE2.0" || app == "ANIMEXTS1.0"
			}
			ok = take(2, keep) && blocks(keep)
		default:
			return nil, errors.New("a GIF with a part that is none")
		}
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return nil, io.ErrUnexpectedEOF
}
