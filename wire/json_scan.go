package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The tokens of JSON, for the reader of the hot frames (json_read.go). Every
// method skips the white space before what it reads, and declines if something
// else stands there: then what it returns means nothing.

// space skips white space.
func (r *jsonReader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

// next skips white space and returns the byte behind it, 0 at the end.
func (r *jsonReader) next() byte {
	if r.space(); r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

// field reads what stands before an object's field, `{` or `,`, and its name,
// or the object's end: then it returns nil. The first separator is `{`.
func (r *jsonReader) field(separator byte) []byte {
	if !r.more(separator, '}') {
		return nil
	}
	name := r.quoted()
	if name == nil || r.next() != ':' {
		r.decline()
		return nil
	}
	r.i++
	return name
}

// item reads what stands before a list's item, `[` or `,`, or the list's end:
// then it returns false.
func (r *jsonReader) item(separator byte) bool { return r.more(separator, ']') }

func (r *jsonReader) more(separator, end byte) bool {
	c := r.next()
	if separator == ',' && c == end {
		r.i++
		return false
	}
	if r.left--; c != separator || r.left < 0 {
		r.decline()
		return false
	}
	r.i++
	if separator != ',' && r.next() == end {
		r.i++
		return false
	}
	return true
}

// quoted reads a string as it stands in the input, up to the first quotation
// mark: a name, base64. Escapes and what is no UTF-8 are in it as they are, so it
// is for values that can have neither. It returns nil if there is no string.
func (r *jsonReader) quoted() []byte {
	if r.next() != '"' {
		r.decline()
		return nil
	}
	b := r.b[r.i+1:]
	n := bytes.IndexByte(b, '"')
	if n < 0 {
		r.decline()
		return nil
	}
	r.i += n + 2
	return b[:n]
}

func (r *jsonReader) texts() []string {
	var list []string
	for more := r.item('['); more; more = r.item(',') {
		list = append(list, r.text())
	}
	return list
}

// contentType spares the copy of the type nearly every message has.
func (r *jsonReader) contentType() string {
	const usual = `"text"`
	if r.next() == '"' && bytes.HasPrefix(r.b[r.i:], []byte(usual)) {
		r.i += len(usual)
		return "text"
	}
	return r.text()
}

// conversation reads the name of a conversation, in memory that is used again if it
// can be.
func (r *jsonReader) conversation() string {
	if r.next() == '"' {
		if b := r.b[r.i+1:]; r.mem.knows(b) {
			r.i += 1 + len(*r.mem.last) + 1
			return *r.mem.last
		}
	}
	c := r.text()
	r.mem.note(c)
	return c
}

func (r *jsonReader) text() string {
	if r.next() != '"' {
		r.decline()
		return ""
	}
	b := r.b[r.i+1:]
	n, ascii := plain(b)
	if n < len(b) && b[n] == '"' {
		r.i += n + 2
		if !ascii && !utf8.Valid(b[:n]) {
			r.decline()
		}
		return string(b[:n])
	}
	return r.escaped(b)
}

// escaped reads a string with escapes, b from behind its quotation mark.
func (r *jsonReader) escaped(b []byte) string {
	end := 0
	for end < len(b) && b[end] != '"' {
		if b[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(b) || !utf8.Valid(b[:end]) {
		r.decline()
		return ""
	}
	r.i += end + 2
	b = b[:end]
	var text strings.Builder
	text.Grow(end)
	for len(b) > 0 {
		n, _ := plain(b)
		text.Write(b[:n])
		if b = b[n:]; len(b) > 0 {
			c, n := unescape(b)
			if n == 0 {
				r.decline()
				return ""
			}
			text.WriteRune(c)
			b = b[n:]
		}
	}
	return text.String()
}

// unescape returns the character that the escape at the beginning of b stands
// for and the escape's length, 0 if it is none.
func unescape(b []byte) (rune, int) {
	if len(b) < 2 || b[0] != '\\' { // else it is a control character
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	c, ok := codeUnit(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(c) {
		return c, 6
	}
	low, ok := codeUnit(b[6:])
	if c = utf16.DecodeRune(c, low); !ok || c == utf8.RuneError {
		return 0, 0
	}
	return c, 12
}

// codeUnit reads `\uXXXX`.
func codeUnit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var n rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// bytes reads base64: of either alphabet, with padding or without. Escapes are
// declined, line breaks among them, which the decoder would skip.
func (r *jsonReader) bytes() []byte {
	b := r.quoted()
	out := make([]byte, (len(b)+3)/4*3)
	return out[:r.decode64(out, b)]
}

// id reads bytes into room if they are as many, as those of an id are, or the text of
// a UUID.
func (r *jsonReader) id(room *[16]byte) []byte {
	var out [18]byte
	b := r.quoted()
	if uuid, ok := parseUUID(b); ok {
		*room = uuid
		return room[:]
	}
	if len(b) > base64.StdEncoding.EncodedLen(len(room)) {
		r.decline() // no id is that long: the gateway will refuse it
		return nil
	}
	if n := r.decode64(out[:], b); n != len(room) {
		return bytes.Clone(out[:n])
	}
	copy(room[:], out[:])
	return room[:]
}

// decode64 decodes b into out, which is long enough, and returns the length.
func (r *jsonReader) decode64(out, b []byte) int {
	standard, url := base64.StdEncoding, base64.URLEncoding
	if len(b)%4 != 0 {
		standard, url = base64.RawStdEncoding, base64.RawURLEncoding
	}
	if bytes.IndexByte(b, '-') >= 0 || bytes.IndexByte(b, '_') >= 0 {
		standard = url
	}
	n, err := standard.Decode(out, b)
	if err != nil || bytes.IndexByte(b, '\n') >= 0 || bytes.IndexByte(b, '\r') >= 0 {
		r.decline()
		return 0
	}
	return n
}

func (r *jsonReader) bool() bool {
	if r.next() == 't' && bytes.HasPrefix(r.b[r.i:], []byte("true")) {
		r.i += len("true")
		return true
	}
	if bytes.HasPrefix(r.b[r.i:], []byte("false")) {
		r.i += len("false")
		return false
	}
	r.decline()
	return false
}

func (r *jsonReader) int() int64 {
	n := r.uint()
	if n > math.MaxInt64 {
		r.decline()
	}
	return int64(n)
}

// uint reads digits, in quotation marks or not. What follows them is for the
// caller to read: anything but the end of a value, a fraction for example, is
// declined there.
func (r *jsonReader) uint() uint64 {
	quoted := r.next() == '"'
	if quoted {
		r.i++
	}
	start, n := r.i, uint64(0)
	for r.i < len(r.b) && '0' <= r.b[r.i] && r.b[r.i] <= '9' {
		d := uint64(r.b[r.i] - '0')
		if n > (math.MaxUint64-d)/10 {
			r.decline()
			return 0
		}
		n = n*10 + d
		r.i++
	}
	if digits := r.i - start; digits == 0 || digits > 1 && r.b[start] == '0' {
		r.decline()
		return 0
	}
	if quoted {
		if r.i == len(r.b) || r.b[r.i] != '"' {
			r.decline()
			return 0
		}
		r.i++
	}
	return n
}

// plain returns how many bytes of b can stand in a JSON string as they are, if
// they are UTF-8: up to a quotation mark, a backslash, a control character or
// the end. If ascii is true they are.
//
// It looks at eight bytes at once. Subtracting from a byte that is less borrows
// from its high bit, so the lowest high bit of found belongs to the first byte
// that is less than a space, or 0 when the quotation mark or the backslash is
// taken off by xor; bytes beyond ASCII are masked out.
func plain(b []byte) (n int, ascii bool) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	seen := uint64(0)
	for ; len(b)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		seen |= x
		control, quote, slash := x-ones*' ', (x^ones*'"')-ones, (x^ones*'\\')-ones
		found := (control | quote | slash) &^ x & highs
		if found != 0 {
			return n + bits.TrailingZeros64(found)/8, seen&highs == 0
		}
	}
	for ; n < len(b); n++ {
		c := b[n]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		seen |= uint64(c)
	}
	return n, seen&highs == 0
}
