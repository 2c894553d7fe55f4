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

// What was recalled after the read mark is a row of varints: how many more there
// are than are named, and each one's distance from the one before. Empty: none.

func encodeRecalled(c *skein.ConversationRecord) []byte {
	b := []byte{}
	if len(c.Recalled) == 0 && c.RecalledMore == 0 {
		return b
	}
	b = binary.AppendUvarint(b, c.RecalledMore)
	var last uint64
	for _, seq := range c.Recalled {
		b = binary.AppendUvarint(b, seq-last)
		last = seq
	}
	return b
}

func decodeRecalled(b []byte, c *skein.ConversationRecord) error {
	var last uint64
	for first := true; len(b) > 0; first = false {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errors.New("what is stored of recalled messages is damaged")
		}
		if b = b[n:]; first {
			c.RecalledMore = v
			continue
		}
		last += v
		c.Recalled = append(c.Recalled, last)
	}
	return nil
}
