package postgres

import (
	"encoding/binary"

	"github.com/skein-im/skein/internal/im"
)

// slotParam is a conversation's slot as a parameter.
func slotParam(c im.ConversationID) []byte { return binary.BigEndian.AppendUint16(nil, im.SlotOf(c)) }

// slotsOf returns an array of the names' slots.
func slotsOf[S ~string](c *column, names []S) []byte {
	c.begin(oidInt2)
	for _, n := range names {
		c.int2(im.SlotOf(n))
	}
	return c.end()
}
