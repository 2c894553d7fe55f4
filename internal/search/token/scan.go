package token

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// class is what a piece of text is.
type class uint8

const (
	separator class = iota
	word
	run
	symbol
	ignored // it belongs to its neighbour and says nothing
)

// piece is a part of a text, folded.
type piece struct {
	class class
	text  []rune
	// from and to are where each character begins and ends in the text, in bytes.
	from, to []int32
}

// runs are the scripts that are written without spaces between words.
var runs = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// plainRun reports whether r is a character of a run that is its own folded form.
func plainRun(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3 || r >= 0x3041 && r <= 0x3096 || r >= 0x30a1 && r <= 0x30fa
}

// classOf tells what a folded character is.
func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return word
		}
		if r == '+' || r == '#' || r == '$' {
			return symbol
		}
		return separator
	case plainRun(r) || r == 'ー': // which no script has to itself
		return run
	case r == '\u200b': // a space without width
		return separator
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return ignored
	case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
		if unicode.In(r, runs...) {
			return run
		}
		return word
	case unicode.In(r, unicode.So, unicode.Sc, unicode.Sm) || r >= 0x1f000 && r <= 0x1faff && !unicode.Is(unicode.Sk, r):
		return symbol
	case unicode.Is(unicode.Sk, r) && r >= 0x1f000: // the colours of skin
		return ignored
	}
	return separator
}

// scanner folds a text and cuts it into pieces.
type scanner struct {
	fold  cases.Caser
	piece piece
	emit  func(*piece) bool
	done  bool
	joins bool // the next sign is one with that before it
}

// joiner makes one sign of two.
const joiner = '\u200d'

// scan calls emit with each piece of a text, until it is false. The piece is emit's only
// while it runs.
func scan(text string, emit func(*piece) bool) {
	s := scanner{fold: cases.Fold(), emit: emit}
	for at := 0; at < len(text) && !s.done; {
		at = s.step(text, at)
	}
	s.end()
}

// step takes what is one character for a reader, and returns where the next one begins.
func (s *scanner) step(text string, at int) (next int) {
	r, n := utf8.DecodeRuneInString(text[at:])
	if r == utf8.RuneError && n == 1 {
		s.end()
		return at + 1
	}
	if (r < utf8.RuneSelf || plainRun(r)) && s.alone(text[at+n:]) {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		s.take(r, at, at+n)
		return at + n
	}
	n = norm.NFKC.NextBoundaryInString(text[at:], true)
	if n <= 0 {
		n = len(text) - at
	}
	folded := norm.NFD.String(s.fold.String(norm.NFKC.String(text[at : at+n])))
	bare := make([]rune, 0, len(folded))
	for _, r := range folded {
		if !diacritic(r) {
			bare = append(bare, r)
		}
	}
	for _, r := range norm.NFC.String(string(bare)) {
		s.take(r, at, at+n)
	}
	return at + n
}

// diacritic reports whether a decomposed character says how another one is read and
// nothing more: accents, the vowel signs of Arabic and Hebrew.
func diacritic(r rune) bool {
	return r >= 0x300 && r <= 0x36f || r >= 0x64b && r <= 0x655 || r > 0x36f && r < 0x700 && unicode.Is(unicode.Mn, r) && unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Inherited)
}

// flagged reports whether r is one half of a flag.
func flagged(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// alone reports whether what follows a character cannot change it.
func (s *scanner) alone(rest string) bool {
	if rest == "" || rest[0] < utf8.RuneSelf {
		return true
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return plainRun(r)
}

// take adds a folded character that comes from text[from:to].
func (s *scanner) take(r rune, from, to int) {
	c := classOf(r)
	if s.piece.class == symbol && (c == ignored || r == 0x20e3) { // it changes the sign before it
		s.piece.to[len(s.piece.to)-1] = int32(to)
		s.joins = r == joiner
		return
	}
	switch {
	case s.done, c == ignored:
		return
	case unicode.IsMark(r) && s.piece.class != word && s.piece.class != run:
		return // a mark on nothing, or on a sign
	case unicode.IsMark(r):
		c = s.piece.class
	}
	if c != s.piece.class || c == symbol && !s.joins && !(flagged(r) && len(s.piece.text) == 1 && flagged(s.piece.text[0])) {
		s.end()
	}
	s.joins = false
	if c == symbol && r < utf8.RuneSelf {
		r += 0xfee0 // its wide form: tokens have no ASCII but letters and digits
	}
	if c == separator || s.done {
		return
	}
	s.piece.class = c
	s.piece.text = append(s.piece.text, r)
	s.piece.from = append(s.piece.from, int32(from))
	s.piece.to = append(s.piece.to, int32(to))
}

// end hands the piece on that is being made.
func (s *scanner) end() {
	if len(s.piece.text) > 0 && !s.done {
		s.done = !s.emit(&s.piece)
	}
	s.piece.class, s.joins = separator, false
	s.piece.text, s.piece.from, s.piece.to = s.piece.text[:0], s.piece.from[:0], s.piece.to[:0]
}
