package im

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
)

// Era is a stretch of a journal's history: nothing that was given out in it can
// be mistaken for what another history gave out, as nobody else has its ID.
type Era struct {
	ID uint64
	// Begin is the position the journal had reached when the era began: of what was
	// given out in the eras before it, all up to here is of this history, and nothing
	// beyond.
	Begin uint64
}

// Place is a position, and the era in which it was given out. It is what clients
// hold of a position: the journal can tell for ever whether it is of its history.
type Place struct {
	Era uint64
	Pos uint64
}

// eraChars is how long an era is in a Place's text.
const eraChars = 11

// String is how clients are told a place; to them it is opaque.
func (p Place) String() string {
	var era [8]byte
	binary.BigEndian.PutUint64(era[:], p.Era)
	b := make([]byte, eraChars, eraChars+13)
	base64.RawURLEncoding.Encode(b, era[:])
	return string(strconv.AppendUint(b, p.Pos, 36))
}

// At is another position of the same era, an earlier one.
func (p Place) At(pos uint64) Place { return Place{Era: p.Era, Pos: pos} }

// ParsePlace reads what String wrote.
func ParsePlace(s string) (p Place, ok bool) {
	if len(s) <= eraChars {
		return p, false
	}
	var era [8]byte
	if _, err := base64.RawURLEncoding.Strict().Decode(era[:], []byte(s[:eraChars])); err != nil {
		return p, false
	}
	pos, err := strconv.ParseUint(s[eraChars:], 36, 64)
	return Place{Era: binary.BigEndian.Uint64(era[:]), Pos: pos}, err == nil
}

// MaxEras is how many eras a journal remembers. What was given out in older ones
// counts as another history's: who held on to it for that long reads anew.
const MaxEras = 8192

// Eras are the eras of one history, in order, the newest last.
type Eras []Era

// Hold tells whether a place is of this history, which has reached position now.
func (es Eras) Hold(p Place, now uint64) bool {
	until := now
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].ID == p.Era {
			return p.Pos <= until
		}
		until = es[i].Begin
	}
	return false
}

// And adds an era, and forgets the oldest of too many.
func (es Eras) And(e Era) Eras {
	if len(es) >= MaxEras {
		es = es[len(es)-MaxEras+1:]
	}
	return append(es[:len(es):len(es)], e)
}
