package sqlitestore

import (
	"encoding/binary"
	"errors"

	skein "github.com/skein-im/skein/sdk/go"
)

// The earlier times of membership are a row of varints, three for each.

func encodeWindows(ws []skein.Window) []byte {
	b := []byte{}
	for _, w := range ws {
		b = appendUints(b, w.First, w.Until, w.Hidden)
	}
	return b
}

func decodeWindows(b []byte) (ws []skein.Window, err error) {
	for len(b) > 0 {
		var w skein.Window
		if b, err = takeUints(b, "stored times of membership are damaged", &w.First, &w.Until, &w.Hidden); err != nil {
			return nil, err
		}
		ws = append(ws, w)
	}
	return ws, nil
}

// The periods in which what is said disappears are a row of varints, four for each.

func encodeLifetimes(ls []skein.Lifetime) []byte {
	b := []byte{}
	for _, l := range ls {
		b = appendUints(b, l.After, l.Until, uint64(l.Seconds), l.Gone)
	}
	return b
}

func decodeLifetimes(b []byte) (ls []skein.Lifetime, err error) {
	for len(b) > 0 {
		var l skein.Lifetime
		var seconds uint64
		if b, err = takeUints(b, "what is stored of disappearing messages is damaged", &l.After, &l.Until, &seconds, &l.Gone); err != nil {
			return nil, err
		}
		l.Seconds = uint32(seconds)
		ls = append(ls, l)
	}
	return ls, nil
}

func appendUints(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// takeUints reads some numbers, and returns what follows them.
func takeUints(b []byte, damaged string, to ...*uint64) ([]byte, error) {
	for _, p := range to {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errors.New(damaged)
		}
		*p, b = v, b[n:]
	}
	return b, nil
}

// Messages after the read mark, those that were recalled and those that mention the
// user, are a row of varints: how many more there are than are named, and each one's
// distance from the one before. Empty: none.

func encodeSeqs(seqs []uint64, more uint64) []byte {
	b := []byte{}
	if len(seqs) == 0 && more == 0 {
		return b
	}
	b = binary.AppendUvarint(b, more)
	var last uint64
	for _, seq := range seqs {
		b = binary.AppendUvarint(b, seq-last)
		last = seq
	}
	return b
}

func decodeSeqs(b []byte) (seqs []uint64, more uint64, err error) {
	var last uint64
	for first := true; len(b) > 0; first = false {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, 0, errors.New("what is stored of recalled messages or mentions is damaged")
		}
		if b = b[n:]; first {
			more = v
			continue
		}
		last += v
		seqs = append(seqs, last)
	}
	return seqs, more, nil
}
