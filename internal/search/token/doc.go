// Package token is what the search of messages takes text for: how a text is cut into
// tokens for an index, a query into the tokens to ask for, and what of a text a query
// means. Every engine of the index stores and asks for these tokens, and has no analysis
// of its own, so that all of them find the same.
//
// Text is compared folded: compatibility forms as one (NFKC: full and half width, circled
// digits), without case, without diacritics (é is e, the vowel signs of Arabic and Hebrew
// are not there; the marks of Japanese, Thai and the scripts of India stay). Then it is cut into pieces:
//
//   - a run: characters of scripts that are written without spaces (Chinese, Japanese,
//     Korean, Thai, Lao, Khmer, Burmese). Its tokens are every two neighbours and the last
//     character by itself, so one character is found by what begins with it;
//   - a word: letters, digits and their marks. Its token is the word, cut after MaxWord
//     characters;
//   - a symbol: an emoji or another sign (☃, €, + # $), by itself. Flags and what joiners
//     make one are one; what only changes another one (skin, variants) is left out.
//
// All else separates. Golden tests hold it (testdata): tokens are stored, so a change of
// them needs a new Version.
//
// No goroutines, no locks, no state.
package token

// Version is that of the tokens, and of which texts of a message they are (package
// search): an index with those of another one is built anew.
const Version = 3

// MaxWord is how many characters of a word its token has.
const MaxWord = 32

// MaxTerms is how many tokens of a query are asked for. What lies behind them is
// compared with the text alone.
const MaxTerms = 16
