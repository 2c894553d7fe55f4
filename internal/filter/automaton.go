package filter

import (
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// automaton finds all patterns in one pass over a text (Aho and Corasick, 1975): its states
// are what patterns begin with, and each byte leads from one to the next. It is never changed.
type automaton struct {
	rules []im.FilterRule
	// patterns are those of the rules, in normal form.
	patterns []string
	// class numbers the bytes that patterns have; 0: none has it.
	class   [256]uint8
	classes int32
	// next is the state behind a state, by its number times classes, and a class.
	next []int32
	// ends is the first of the patterns that end in a state, by its number plus 1, and
	// also the next shorter state in which one ends; 0: there is none.
	ends, also []int32
	// same is the next pattern that is the same, by its number plus 1.
	same []int32
}

// compile makes the automaton of rules; nil for none.
func compile(rules []im.FilterRule) *automaton {
	if len(rules) == 0 {
		return nil
	}
	a := &automaton{rules: rules, classes: 1, ends: make([]int32, 1), same: make([]int32, len(rules))}
	for i := range rules {
		p := seen(rules[i].Pattern)
		a.patterns = append(a.patterns, p)
		for _, c := range []byte(p) {
			if a.class[c] == 0 {
				a.class[c] = uint8(a.classes)
				a.classes++
			}
		}
	}
	a.next = make([]int32, a.classes)
	for i, p := range a.patterns {
		state := int32(0)
		for _, c := range []byte(p) {
			at := state*a.classes + int32(a.class[c])
			if a.next[at] == 0 {
				a.next[at] = int32(len(a.ends))
				a.ends = append(a.ends, 0)
				a.next = append(a.next, make([]int32, a.classes)...)
			}
			state = a.next[at]
		}
		a.same[i], a.ends[state] = a.ends[state], int32(i+1)
	}
	a.link()
	return a
}

// link has each state lead on by every byte: where no pattern goes on, to the longest end of
// what was read with which one begins.
func (a *automaton) link() {
	a.also = make([]int32, len(a.ends))
	fail := make([]int32, len(a.ends))
	queue := make([]int32, 0, len(a.ends))
	for _, to := range a.next[:a.classes] {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		back := fail[state]
		if a.also[state] = back; a.ends[back] == 0 {
			a.also[state] = a.also[back]
		}
		for c := range a.classes {
			at, other := state*a.classes+c, a.next[back*a.classes+c]
			if to := a.next[at]; to != 0 {
				fail[to] = other
				queue = append(queue, to)
			} else {
				a.next[at] = other
			}
		}
	}
}

// broken are the rules that texts break, each once, in the order in which they were found.
type broken struct {
	rules []*im.FilterRule
	had   []uint64 // a bit for each rule that there is
}

// find adds the rules that a text in normal form breaks.
func (a *automaton) find(text []byte, c cut, b *broken) {
	if need := (len(a.rules) + 63) / 64; len(b.had) < need {
		b.had = make([]uint64, need)
	}
	state := int32(0)
	for i, x := range text {
		state = a.next[state*a.classes+int32(a.class[x])]
		for s := state; s != 0; s = a.also[s] {
			for n := a.ends[s]; n != 0; n = a.same[n-1] {
				if a.hit(text, i+1, n-1, c, b); len(b.rules) == len(a.rules) {
					return
				}
			}
		}
	}
}

// hit adds a rule whose pattern ends at a place, if it stands there as the rule says.
func (a *automaton) hit(text []byte, end int, n int32, c cut, b *broken) {
	if b.had[n/64]&(1<<(n%64)) != 0 {
		return
	}
	rule, begin := &a.rules[n], end-len(a.patterns[n])
	stands := begin >= c.first
	switch {
	case rule.Kind == im.FilterLink:
		stands = stands && hostAt(text, begin, end, c.more)
	case !rule.Part:
		stands = stands && wordAt(text, begin, end, c.more)
	}
	if stands {
		b.had[n/64] |= 1 << (n % 64)
		b.rules = append(b.rules, rule)
	}
}

// cut says where a text was cut: what begins within its first bytes is looked at no more, and
// more: it goes on behind its end, perhaps with the same word.
type cut struct {
	first int
	more  bool
}

// wordAt tells whether no word goes on before or behind a place.
func wordAt(text []byte, begin, end int, more bool) bool {
	first, _ := utf8.DecodeRune(text[begin:])
	last, _ := utf8.DecodeLastRune(text[:end])
	before, _ := utf8.DecodeLastRune(text[:begin])
	after, _ := utf8.DecodeRune(text[end:])
	goesOn := inWord(after) || more && end == len(text)
	return !(inWord(before) && inWord(first)) && !(inWord(last) && goesOn)
}

// hostAt tells whether a host, or one below it, stands at a place.
func hostAt(text []byte, begin, end int, more bool) bool {
	before, _ := utf8.DecodeLastRune(text[:begin])
	after, n := utf8.DecodeRune(text[end:])
	if after == '.' { // of a sentence, or of a longer name
		end += n
		after, n = utf8.DecodeRune(text[end:])
	}
	return !inHost(before) && !inHost(after) && !(more && n == 0)
}

func inHost(r rune) bool { return r == '-' || inWord(r) }
