package im

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A set of seqs is what a map of them is, whatever is added in whatever order.
func TestSeqSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var s SeqSet
		model := map[uint64]bool{}
		for range rng.IntN(12) {
			first := rng.Uint64N(60) + 1
			r := SeqRange{first, first + rng.Uint64N(4)}
			s = s.With(NewSeqSet(r))
			for seq := r.First; seq <= r.Last; seq++ {
				model[seq] = true
			}
		}
		after, until := rng.Uint64N(70), rng.Uint64N(70)
		stretches := 0
		var in, want []uint64
		for _, r := range s.Within(after, until) {
			for seq := r.First; seq <= r.Last; seq++ {
				in = append(in, seq)
			}
		}
		for seq := uint64(0); seq < 80; seq++ {
			if s.Has(seq) != model[seq] {
				t.Fatalf("%d: %t of %v", seq, model[seq], slices.Collect(s.All()))
			}
			if model[seq] && !model[seq-1] {
				stretches++
			}
			if model[seq] && seq > after && seq <= until {
				want = append(want, seq)
			}
		}
		if s.Len() != stretches || !slices.Equal(in, want) || NewSeqSet(slices.Collect(s.All())...) != s {
			t.Fatalf("%v: %d stretches, want %d; after %d until %d: %v", slices.Collect(s.All()), s.Len(), stretches, after, until, in)
		}
	}
	if NewSeqSet() != "" || SeqSet("").Len() != 0 || NewSeqSet(SeqRange{3, 4}, SeqRange{5, 5}) != NewSeqSet(SeqRange{3, 5}) {
		t.Error("sets that hold the same differ")
	}
}

// What is no set, because it was damaged, ends where it is damaged.
func TestSeqSetDamaged(t *testing.T) {
	for _, s := range []SeqSet{"\x80", "\x01\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		if n := s.Len(); n != 0 || s.Has(1) {
			t.Errorf("%q has %d stretches", s, n)
		}
	}
}
