package filter

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normal appends to dst the form of a text in which texts and patterns are compared. Two that
// differ in none of these are the same:
//
//   - case, and width (ＡＢＣ, ﬀ and other forms of compatibility);
//   - accents and other marks that may stand on letters of any script (é is e), and the points
//     of Hebrew and Arabic; not the vowels of scripts that always write them as marks;
//   - characters that are not seen: zero-width ones, soft hyphens, marks of direction,
//     variation selectors, control characters;
//   - how much space of which kind stands between words;
//   - what Markdown does not show: \ before punctuation, * and ~ within words.
//
// An ideographic full stop is a full stop, as in the names of hosts.
func normal(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			n := odd(s[i:])
			if n > 0 {
				dst = composed(dst, s[i:i+n])
			} else {
				var r rune
				r, n = utf8.DecodeRuneInString(s[i:])
				dst = plain(dst, r)
			}
			i += n
			continue
		case c == ' ' || c >= '\t' && c <= '\r':
			if n := len(dst); n > 0 && dst[n-1] != ' ' {
				dst = append(dst, ' ')
			}
		case c < ' ' || c == 0x7f:
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		default:
			dst = append(dst, c)
		}
		i++
	}
	return shown(dst)
}

// shown takes away what is not shown of Markdown.
func shown(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 && bytes.IndexByte(s, '*') < 0 && bytes.IndexByte(s, '~') < 0 {
		return s
	}
	n := 0
	for i, c := range s {
		if c != '\\' || i+1 == len(s) || !punctuation(s[i+1]) {
			s[n] = c
			n++
		}
	}
	s, n = s[:n], 0
	for i := 0; i < len(s); {
		marks := i
		for marks < len(s) && (s[marks] == '*' || s[marks] == '~') {
			marks++
		}
		before, _ := utf8.DecodeLastRune(s[:n])
		after, _ := utf8.DecodeRune(s[marks:])
		if !letterOrDigit(before) || !letterOrDigit(after) {
			n += copy(s[n:], s[i:marks])
		}
		for i = marks; i < len(s) && s[i] != '*' && s[i] != '~'; i++ {
			s[n] = s[i]
			n++
		}
	}
	return s[:n]
}

func punctuation(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

func letterOrDigit(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// odd is how many bytes at the beginning of a text are neither ASCII nor what is in its form
// nearly as it stands: most of what is written in Chinese.
func odd(s string) (n int) {
	for n < len(s) && s[n] >= utf8.RuneSelf {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r >= 0x4e00 && r <= 0x9fff || r >= 0xff01 && r <= 0xff5e || r >= 0x3001 && r <= 0x3002 {
			break
		}
		n += size
	}
	return n
}

// plain appends what odd does not count: unified ideographs, full-width forms of ASCII, and
// two marks. No mark that follows one of them makes another letter of it.
func plain(dst []byte, r rune) []byte {
	switch {
	case r >= 0xff21 && r <= 0xff3a:
		return append(dst, byte(r-0xff21+'a'))
	case r >= 0xff01 && r <= 0xff5e:
		return append(dst, byte(r-0xff01+'!'))
	case r == '。':
		return append(dst, '.')
	}
	return utf8.AppendRune(dst, r)
}

// composed is normal for a part of a text that is not ASCII.
func composed(dst []byte, s string) []byte {
	// Composed first: a syllable of Hangul in its parts is one with it. A mark at the
	// beginning belongs to what stands before it, and is dropped all the same.
	for _, r := range string(norm.NFKC.AppendString(nil, s)) {
		if r < utf8.RuneSelf {
			dst = letter(dst, r)
			continue
		}
		parts := norm.NFKD.PropertiesString(string(r)).Decomposition()
		if len(parts) == 0 {
			dst = letter(dst, r)
			continue
		}
		for len(parts) > 0 {
			p, n := utf8.DecodeRune(parts)
			parts = parts[n:]
			dst = letter(dst, p)
		}
	}
	return dst
}

func letter(dst []byte, r rune) []byte {
	switch {
	case unicode.IsSpace(r):
		if n := len(dst); n > 0 && dst[n-1] != ' ' {
			return append(dst, ' ')
		}
		return dst
	case r == '。' || r == '｡':
		r = '.'
	case unicode.IsControl(r) || unseen(r) || unicode.IsMark(r) && unicode.In(r, unicode.Inherited, unicode.Hebrew, unicode.Arabic):
		return dst
	}
	if r = unicode.ToLower(unicode.ToUpper(r)); r == 'ß' {
		return append(dst, "ss"...)
	}
	return utf8.AppendRune(dst, r)
}

// unseen reports whether r has no shape of its own.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800'
}

// unbroken are the scripts whose words stand beside each other without space, and those that
// write particles at the end of them.
var unbroken = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// inWord reports whether a word goes on beside r: in Chinese it may end anywhere. _ is none of
// a word: texts are Markdown, where it stands around what is emphasised.
func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)) && !unicode.In(r, unbroken...)
}
