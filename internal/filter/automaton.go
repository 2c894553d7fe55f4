package filter

import (
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// MaxFound is of how many rules is told that a text breaks them.
const MaxFound = 16

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
		p := string(normal(nil, rules[i].Pattern))
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

// find appends the rules that a text in normal form breaks, each once.
func (a *automaton) find(text []byte, found []*im.FilterRule) []*im.FilterRule {
	state := int32(0)
	for i, c := range text {
		state = a.next[state*a.classes+int32(a.class[c])]
		for s := state; s != 0; s = a.also[s] {
			for n := a.ends[s]; n != 0; n = a.same[n-1] {
				if found = a.hit(text, i+1, n-1, found); len(found) >= MaxFound {
					return found
				}
			}
		}
	}
	return found
}

// hit adds a rule whose pattern ends at a place, if it stands there as the rule says.
func (a *automaton) hit(text []byte, end int, n int32, found []*im.FilterRule) []*im.FilterRule {
	rule := &a.rules[n]
	for _, had := range found {
		if had == rule {
			return found
		}
	}
	begin := end - len(a.patterns[n])
	if rule.Kind == im.FilterLink && !hostAt(text, begin, end) || rule.Kind == im.FilterWord && !rule.Part && !wordAt(text, begin, end) {
		return found
	}
	return append(found, rule)
}

// wordAt tells whether no word goes on before or behind a place.
func wordAt(text []byte, begin, end int) bool {
	first, _ := utf8.DecodeRune(text[begin:])
	last, _ := utf8.DecodeLastRune(text[:end])
	before, _ := utf8.DecodeLastRune(text[:begin])
	after, _ := utf8.DecodeRune(text[end:])
	return !(inWord(before) && inWord(first)) && !(inWord(last) && inWord(after))
}

// hostAt tells whether a host, or one below it, stands at a place.
func hostAt(text []byte, begin, end int) bool {
	before, _ := utf8.DecodeLastRune(text[:begin])
	after, n := utf8.DecodeRune(text[end:])
	if after == '.' { // of a sentence, or of a longer name
		after, _ = utf8.DecodeRune(text[end+n:])
	}
	return !inHost(before) && !inHost(after)
}

func inHost(r rune) bool { return r == '-' || inWord(r) }
