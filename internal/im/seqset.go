package im

import (
	"encoding/binary"
	"iter"
	"slices"
)

// SeqRange are the entries from First to Last, both included.
type SeqRange struct{ First, Last uint64 }

// SeqSet is a set of seqs, as few stretches as there are: each as how far it lies behind
// the one before and how long it is. It is a value: two that hold the same are equal.
type SeqSet string

// NewSeqSet makes a set of stretches in any order, which may overlap.
func NewSeqSet(ranges ...SeqRange) SeqSet {
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, func(a, b SeqRange) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	var b []byte
	var end uint64 // of the last stretch that is written
	for i := 0; i < len(ranges); {
		r := ranges[i]
		for i++; i < len(ranges) && ranges[i].First <= r.Last+1; i++ {
			r.Last = max(r.Last, ranges[i].Last)
		}
		b = binary.AppendUvarint(b, r.First-end)
		b = binary.AppendUvarint(b, r.Last-r.First)
		end = r.Last
	}
	return SeqSet(b)
}

// All are the stretches of the set, ascending; no two of them touch.
func (s SeqSet) All() iter.Seq[SeqRange] {
	return func(yield func(SeqRange) bool) {
		var end uint64
		for b := []byte(s); len(b) > 0; {
			gap, n := binary.Uvarint(b)
			if n <= 0 {
				return
			}
			length, k := binary.Uvarint(b[n:])
			if k <= 0 {
				return
			}
			b = b[n+k:]
			r := SeqRange{end + gap, end + gap + length}
			if end = r.Last; !yield(r) {
				return
			}
		}
	}
}

// Len is how many stretches the set has.
func (s SeqSet) Len() (n int) {
	for range s.All() {
		n++
	}
	return n
}

// Has tells whether a seq is in the set.
func (s SeqSet) Has(seq uint64) bool {
	for r := range s.All() {
		if seq <= r.Last {
			return seq >= r.First
		}
	}
	return false
}

// With is the set and another one together.
func (s SeqSet) With(other SeqSet) SeqSet {
	return NewSeqSet(append(slices.Collect(s.All()), slices.Collect(other.All())...)...)
}

// Within are the stretches of the set that lie after one seq and up to another, cut where
// they reach beyond.
func (s SeqSet) Within(after, until uint64) []SeqRange {
	var in []SeqRange
	for r := range s.All() {
		if r = (SeqRange{max(r.First, after+1), min(r.Last, until)}); r.First <= r.Last {
			in = append(in, r)
		}
	}
	return in
}
