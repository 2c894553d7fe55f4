package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"golang.org/x/image/webp"
)

// The flags of a VP8X chunk for what the others hold.
const (
	webpAnimated = 1 << 1
	webpXMP      = 1 << 2
	webpEXIF     = 1 << 3
	webpAlpha    = 1 << 4
)

var errWebP = errors.New("a WebP with parts that do not fit together")

// chunks calls f for each part of a RIFF's content.
func chunks(b []byte, f func(name string, body []byte) error) error {
	for len(b) > 0 {
		if len(b) < 8 {
			return io.ErrUnexpectedEOF
		}
		n := int64(binary.LittleEndian.Uint32(b[4:]))
		if n > int64(len(b)-8) {
			return io.ErrUnexpectedEOF
		}
		if err := f(string(b[:4]), b[8:8+n]); err != nil {
			return err
		}
		b = b[min(int64(len(b)), 8+n+n&1):]
	}
	return nil
}

func appendChunk(out []byte, name string, body []byte) []byte {
	out = append(out, name...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
	out = append(out, body...)
	if len(body)&1 == 1 {
		out = append(out, 0)
	}
	return out
}

// riff is a WebP with that content.
func riff(content []byte) []byte {
	out := append([]byte("RIFF"), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(content)+4))
	return append(append(out, "WEBP"...), content...)
}

// content is what a WebP holds, up to its end.
func content(file []byte) ([]byte, error) {
	if len(file) < 12 || string(file[:4]) != "RIFF" || string(file[8:12]) != "WEBP" {
		return nil, errWebP
	}
	n := int64(binary.LittleEndian.Uint32(file[4:]))
	if n < 4 || n > int64(len(file)-8) {
		return nil, io.ErrUnexpectedEOF
	}
	return file[12 : 8+n], nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// canvas is the size that a VP8X chunk tells.
func canvas(b []byte) (w, h int) { return uint24(b[4:]) + 1, uint24(b[7:]) + 1 }

// webpBounds: of an animation they are those of all of it. Each picture of it is at most
// as large; whatever says otherwise is refused.
func webpBounds(file []byte) (w, h int, err error) {
	b, err := content(file)
	if err != nil {
		return 0, 0, err
	}
	if len(b) < 18 || string(b[:4]) != "VP8X" {
		c, err := webp.DecodeConfig(bytes.NewReader(file))
		return c.Width, c.Height, err
	}
	w, h = canvas(b[8:])
	err = chunks(b, func(name string, body []byte) error {
		switch name {
		case "ANMF":
			if len(body) < 16 || uint24(body[6:])+1 > w || uint24(body[9:])+1 > h {
				return errWebP
			}
			return chunks(body[16:], func(name string, body []byte) error { return fits(name, body, w, h) })
		}
		return fits(name, body, w, h)
	})
	return w, h, err
}

// fits tells that the picture in a chunk is not larger than it says elsewhere.
func fits(name string, body []byte, w, h int) error {
	if name != "VP8 " && name != "VP8L" {
		return nil
	}
	c, err := webp.DecodeConfig(bytes.NewReader(riff(appendChunk(nil, name, body))))
	if err == nil && (c.Width > w || c.Height > h) {
		err = errWebP
	}
	return err
}

// cleanWebP is a WebP without EXIF, XMP and what nobody knows, and its first picture.
func cleanWebP(file []byte) (clean, first []byte, err error) {
	b, err := content(file)
	if err != nil {
		return nil, nil, err
	}
	var out, still []byte
	animated := false
	err = chunks(b, func(name string, body []byte) error {
		switch name {
		case "VP8X":
			if len(body) < 10 {
				return errWebP
			}
			animated = body[0]&webpAnimated != 0
			body = append([]byte{body[0] &^ (webpXMP | webpEXIF)}, body[1:]...)
		case "ANMF":
			parts, alpha, err := frame(body)
			if err != nil {
				return err
			}
			if still == nil {
				still = alone(body, parts, alpha)
			}
			body = append(bytes.Clone(body[:16]), parts...)
		case "VP8 ", "VP8L", "ALPH", "ANIM", "ICCP":
		default:
			return nil
		}
		out = appendChunk(out, name, body)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if clean = riff(out); !animated {
		return clean, clean, nil
	}
	if still == nil {
		return nil, nil, errWebP
	}
	return clean, still, nil
}

// frame is what of a picture of an animation is the picture, and whether that has
// transparent parts.
func frame(body []byte) (parts []byte, alpha bool, err error) {
	if len(body) < 16 {
		return nil, false, errWebP
	}
	err = chunks(body[16:], func(name string, part []byte) error {
		switch name {
		case "ALPH":
			alpha = true
		case "VP8 ", "VP8L":
		default:
			return nil
		}
		parts = appendChunk(parts, name, part)
		return nil
	})
	return parts, alpha, err
}

// alone is a picture of an animation as a WebP of its own.
func alone(body, parts []byte, alpha bool) []byte {
	if !alpha {
		return riff(parts)
	}
	head := append([]byte{webpAlpha, 0, 0, 0}, body[6:12]...)
	return riff(append(appendChunk(nil, "VP8X", head), parts...))
}
