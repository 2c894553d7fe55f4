package filter

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normal appends to dst the form of a text in which texts and patterns are compared. Two that
// differ in none of these are the same:
//
//   - case, and width (ＡＢＣ, ﬀ and other forms of compatibility);
//   - accents and other marks that stand on letters of any script (é is e);
//   - characters that are not seen: zero-width ones, soft hyphens, marks of direction,
//     variation selectors, control characters;
//   - how much space of which kind stands between words.
//
// An ideographic full stop is a full stop, as in the names of hosts.
func normal(dst []byte, s string) []byte {
	space := len(dst) == 0 // none at the beginning
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			return composed(dst, s[i:])
		case c == ' ' || c >= '\t' && c <= '\r':
			if !space {
				dst = append(dst, ' ')
			}
			space = true
			continue
		case c < ' ' || c == 0x7f:
			continue
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		dst, space = append(dst, c), false
	}
	return dst
}

// composed is normal for a text that is not ASCII, or the rest of one.
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
	case unicode.IsControl(r) || unseen(r) || unicode.IsMark(r) && unicode.Is(unicode.Inherited, r):
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

// inWord reports whether a word goes on beside r: in Chinese it may end anywhere.
func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_'
	}
	return (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)) && !unicode.In(r, unbroken...)
}
