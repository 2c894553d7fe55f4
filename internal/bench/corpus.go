package bench

import (
	"math"
	"math/rand/v2"
)

// corpus makes texts as people write them, as far as a search is concerned: half of them
// in English, half in Chinese, words and characters as rare as in a language (Zipf). No
// two workers write the same; not safe for concurrent use.
type corpus struct {
	rnd   *rand.Rand
	words *rand.Zipf // of a language with spaces
	pairs *rand.Zipf // words of two characters
}

const (
	corpusWords      = 20_000
	corpusPairs      = 40_000
	corpusCharacters = 3_000
)

func newCorpus(seed uint64) *corpus {
	rnd := rand.New(rand.NewPCG(seed, 0x5ea7c4))
	return &corpus{rnd: rnd, words: rand.NewZipf(rnd, 1.07, 4, corpusWords-1), pairs: rand.NewZipf(rnd, 1.05, 8, corpusPairs-1)}
}

// text appends a text of at most 200 bytes.
func (c *corpus) text(dst []byte) []byte {
	if c.rnd.IntN(2) == 0 {
		for i := range 4 + c.rnd.IntN(14) {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = appendWord(dst, c.words.Uint64())
		}
		return dst
	}
	for i := range 3 + c.rnd.IntN(12) {
		if i > 0 && i%6 == 0 {
			dst = append(dst, "，"...)
		}
		dst = appendPair(dst, c.pairs.Uint64())
	}
	return dst
}

// appendWord spells a word: common ones are short.
func appendWord(dst []byte, n uint64) []byte {
	const consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
	for {
		dst = append(dst, consonants[n%uint64(len(consonants))])
		n /= uint64(len(consonants))
		dst = append(dst, vowels[n%uint64(len(vowels))])
		if n /= uint64(len(vowels)); n == 0 {
			return dst
		}
	}
}

// appendPair writes a word of two characters: common ones are of common characters.
func appendPair(dst []byte, n uint64) []byte {
	root := uint64(math.Sqrt(float64(n))) * corpusCharacters / uint64(math.Sqrt(corpusPairs))
	dst = append(dst, string(rune(0x4e00+root%corpusCharacters))...)
	return append(dst, string(rune(0x4e00+n*7919%corpusCharacters))...)
}
