package im

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMarks is how many marks that take no room of their own (accents, vowel signs) may
// follow one another in a name. No written language needs more; some dozens of them
// paint over the lines above and below.
const MaxMarks = 5

// CheckName accepts what somebody or something is called, as others are shown it: a
// name, a nickname, a tag, a remark. It is text of one line, of least to most
// characters, and shows something, unless it is empty and may be. It has no characters
// that are not seen, or that change the direction of what stands around it, and few
// marks upon marks: two names that look the same by such tricks, or a name that looks
// like none, or that writes over its neighbours, are refused. What is not seen and is
// needed to write a language or an emoji is taken where it is needed alone:
//
//   - a joiner between two emojis (a family), or next to a virama (the scripts of
//     India), and a non-joiner between two letters of a script like Arabic (Persian);
//   - a variation selector after what has variants: ❤️, 1️⃣, Han, Mongolian;
//   - tags behind a black flag: the flags of Scotland and others.
//
// A word of Latin, Cyrillic and Greek letters together is refused where one of them looks
// like one of another alphabet (lookalike).
//
// (The nickname profile of RFC 8266 refuses these emojis, so it is not what is used.)
func CheckName(field, name string, least, most int) error {
	if !utf8.ValidString(name) {
		return Wrong(field, "must be UTF-8")
	}
	if n := utf8.RuneCountInString(name); n > most {
		return TooLarge(field, "has %d characters; at most %d are allowed", n, most)
	}
	runes := []rune(name)
	marks := 0
	for i, r := range runes {
		switch {
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			return Wrong(field, "must not have control characters or several lines (%U)", r)
		case unseen(r) && !needed(runes, i):
			return Wrong(field, "must not have characters that are not seen or change the direction of text (%U)", r)
		case !unicode.IsMark(r):
			marks = 0
		case i == 0 || unicode.IsSpace(runes[i-1]):
			return Wrong(field, "must not have a mark without a character below it (%U)", r)
		case unicode.In(r, unicode.Mn, unicode.Me) && !variation(r):
			if marks++; marks > MaxMarks {
				return Wrong(field, "must not have more than %d marks on one character", MaxMarks)
			}
		}
	}
	if r := lookalike(runes); r != 0 {
		return Wrong(field, "must not mix letters of several alphabets that look the same in one word (%U)", r)
	}
	if !strings.ContainsFunc(name, shows) && (name != "" || least > 0) {
		return Wrong(field, "must show something, in %d to %d characters", max(least, 1), most)
	}
	return nil
}

// shows reports whether one sees r by itself. U+2800 is a letter of Braille without
// dots.
func shows(r rune) bool {
	return r != '\u2800' && !unicode.IsSpace(r) && !unicode.IsMark(r) && !unseen(r)
}

// unseen reports whether r has no shape of its own, whatever it does to others: what
// Unicode calls ignorable by default, and marks of annotations.
func unseen(r rune) bool {
	return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) &&
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func variation(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	blackFlag = '\U0001f3f4'
	endOfTags = '\U000e007f'
	maxTags   = 6
)

// needed reports whether the unseen character at i has something to do there.
func needed(name []rune, i int) bool {
	if i == 0 {
		return false
	}
	r, before, after := name[i], name[i-1], rune(' ')
	if i+1 < len(name) {
		after = name[i+1]
	}
	switch {
	case r == joiner:
		return virama(before) || virama(after) || emoji(bearer(name[:i])) && emoji(after)
	case r == nonJoiner:
		return virama(before) || virama(after) || cursive(bearer(name[:i])) && cursive(after)
	case r == '\ufe0e' || r == '\ufe0f':
		return emoji(before) || after == '\u20e3' && strings.ContainsRune("0123456789#*", before) || unicode.Is(unicode.Han, before)
	case unicode.Is(unicode.Mongolian, r): // its own selectors
		return unicode.IsLetter(before) && unicode.Is(unicode.Mongolian, before)
	case variation(r):
		return unicode.Is(unicode.Han, before) || unicode.Is(unicode.Sm, before)
	}
	return tag(r) && flagged(name, i)
}

// bearer is the last character that is more than a mark or a tag on another one.
func bearer(name []rune) rune {
	for i := len(name) - 1; i >= 0; i-- {
		if r := name[i]; !unicode.IsMark(r) && !tag(r) {
			return r
		}
	}
	return ' '
}

// emoji reports whether r may be one, or a part of one: all symbols, those that are
// newer than this program's tables, and the few that are none by their class.
func emoji(r rune) bool {
	return unicode.IsSymbol(r) || r >= 0x1f000 && r <= 0x1faff || strings.ContainsRune("‼⁉〰ℹ", r)
}

// cursive reports whether r is a letter that joins the one beside it.
func cursive(r rune) bool {
	return unicode.IsLetter(r) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Adlam, unicode.Hanifi_Rohingya)
}

// virama reports whether r takes the vowel away, upon which a joiner says what becomes of
// the letters around it.
func virama(r rune) bool {
	return strings.ContainsRune("\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca", r)
}

// tag reports whether r may be in the name of a flag: letters and digits, or the end.
func tag(r rune) bool {
	return r >= 0xe0030 && r <= 0xe0039 || r >= 0xe0061 && r <= 0xe007a || r == endOfTags
}

// flagged reports whether the tag at i is in a flag: a black one, one to six tags, and
// the end of them.
func flagged(name []rune, i int) bool {
	first, end := i, i
	for first > 0 && tag(name[first-1]) && name[first-1] != endOfTags {
		first--
	}
	for end < len(name) && tag(name[end]) && name[end] != endOfTags {
		end++
	}
	n := end - first
	return first > 0 && name[first-1] == blackFlag && end < len(name) && name[end] == endOfTags && n >= 1 && n <= maxTags
}
