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
		b = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, w.First), w.Until), w.Hidden)
	}
	return b
}

func decodeWindows(b []byte) (ws []skein.Window, err error) {
	for len(b) > 0 {
		var w skein.Window
		for _, p := range []*uint64{&w.First, &w.Until, &w.Hidden} {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, errors.New("stored times of membership are damaged")
			}
			*p, b = v, b[n:]
		}
		ws = append(ws, w)
	}
	return ws, nil
}

// The periods in which what is said disappears are a row of varints, four for each.

func encodeLifetimes(ls []skein.Lifetime) []byte {
	b := []byte{}
	for _, l := range ls {
		b = binary.AppendUvarint(binary.AppendUvarint(b, l.After), l.Until)
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(l.Seconds)), l.Gone)
	}
	return b
}

func decodeLifetimes(b []byte) (ls []skein.Lifetime, err error) {
	for len(b) > 0 {
		var l skein.Lifetime
		var seconds uint64
		for _, p := range []*uint64{&l.After, &l.Until, &seconds, &l.Gone} {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, errors.New("what is stored of disappearing messages is damaged")
			}
			*p, b = v, b[n:]
		}
		l.Seconds = uint32(seconds)
		ls = append(ls, l)
	}
	return ls, nil
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
