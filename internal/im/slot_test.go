package im_test

import (
	"hash/fnv"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// A slot is stored with every row: it never changes.
func TestSlotsNeverChange(t *testing.T) {
	for name, want := range map[im.ConversationID]uint16{"": 805, "grp:g": 583, "dm:ann:bob": 610, "me:ann": 110} {
		if got := im.SlotOf(name); got != want {
			t.Errorf("%q is in slot %d, was in %d", name, got, want)
		}
		h := fnv.New64a()
		h.Write([]byte(name))
		if got := uint64(im.SlotOf(name)); got != h.Sum64()%4096 {
			t.Errorf("%q: %d is not its hash", name, got)
		}
	}
}
