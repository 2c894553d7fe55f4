package token

import (
	"cmp"
	"slices"
)

// Query is what somebody looks for: all of its pieces, in any order. The last one, if it
// is a word, may be the beginning of one.
type Query struct{ pieces []wanted }

type wanted struct {
	class  class
	text   []rune
	prefix bool
}

// Parse reads a query. One that has nothing to look for (spaces, punctuation) is Empty.
func Parse(text string) Query {
	var q Query
	scan(text, func(p *piece) bool {
		q.pieces = append(q.pieces, wanted{class: p.class, text: slices.Clone(p.text)})
		return true
	})
	if n := len(q.pieces); n > 0 && q.pieces[n-1].class == word {
		q.pieces[n-1].prefix = true
	}
	return q
}

// Empty reports whether there is nothing to look for.
func (q *Query) Empty() bool { return len(q.pieces) == 0 }

// Terms are the tokens that every text has which the query means, at most MaxTerms, each
// once. Others may have them, too: Match knows.
func (q *Query) Terms() []Term {
	var out []Term
	add := func(text []rune, prefix bool) {
		t := Term{string(text), prefix}
		if len(out) < MaxTerms && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, w := range q.pieces {
		switch {
		case w.class == run && len(w.text) == 1:
			add(w.text, true)
		case w.class == run:
			for i := range len(w.text) - 1 {
				add(w.text[i:i+2], false)
			}
		case len(w.text) > MaxWord:
			add(w.text[:MaxWord], false)
		default:
			add(w.text, w.prefix)
		}
	}
	return out
}

// Range is a part of a text, in bytes: text[Start:End].
type Range struct{ Start, End int }

// MaxRanges is how many places of a text a query is found at, at most.
const MaxRanges = 64

// Matches is what a query finds in several texts of one message.
type Matches struct {
	q     *Query
	found []bool    // by piece of the query
	texts [][]Range // by text
}

// Match begins to look for the query.
func (q *Query) Match() Matches { return Matches{q: q, found: make([]bool, len(q.pieces))} }

// In looks for the query in one text more.
func (m *Matches) In(text string) {
	var at []Range
	scan(text, func(p *piece) bool {
		for i := range m.q.pieces {
			before := len(at)
			at = m.q.pieces[i].in(p, at)
			m.found[i] = m.found[i] || len(at) > before
		}
		at = at[:min(len(at), 2*MaxRanges)]
		return true
	})
	m.texts = append(m.texts, joined(at))
}

// All reports whether every piece of the query is in one of the texts.
func (m *Matches) All() bool { return !slices.Contains(m.found, false) }

// Ranges are where it was found in each of the texts, ascending, without overlaps, at
// most MaxRanges of each.
func (m *Matches) Ranges() [][]Range { return m.texts }

// in adds where a piece of a text has what is wanted.
func (w *wanted) in(p *piece, at []Range) []Range {
	n := len(w.text)
	if p.class != w.class || len(p.text) < n {
		return at
	}
	if w.class != run {
		if w.prefix && slices.Equal(p.text[:n], w.text) || slices.Equal(p.text, w.text) {
			at = append(at, Range{int(p.from[0]), int(p.to[n-1])})
		}
		return at
	}
	for i := 0; i+n <= len(p.text); i++ {
		if slices.Equal(p.text[i:i+n], w.text) {
			at = append(at, Range{int(p.from[i]), int(p.to[i+n-1])})
		}
	}
	return at
}

// joined sorts ranges and makes one of those that overlap.
func joined(at []Range) []Range {
	slices.SortFunc(at, func(a, b Range) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	var out []Range
	for _, r := range at {
		if n := len(out); n > 0 && r.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out[:min(len(out), MaxRanges)]
}
