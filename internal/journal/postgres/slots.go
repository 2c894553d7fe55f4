package postgres

import (
	"encoding/binary"

	"github.com/skein-im/skein/internal/im"
)

// slots is how many parts the keys of a database are in. Neither it nor slotOf ever
// changes: what they say is stored with every row.
const slots = 4096

// slotOf is the slot of a conversation, and of a user's marks: the FNV-1a hash of 64
// bits of the name's bytes (offset basis 14695981039346656037, prime
// 1099511628211), modulo slots.
func slotOf[S ~string](name S) uint16 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return uint16(h % slots)
}

// slotParam is a conversation's slot as a parameter.
func slotParam(c im.ConversationID) []byte { return binary.BigEndian.AppendUint16(nil, slotOf(c)) }

// slotsOf returns an array of the names' slots.
func slotsOf[S ~string](c *column, names []S) []byte {
	c.begin(oidInt2)
	for _, n := range names {
		c.int2(slotOf(n))
	}
	return c.end()
}
