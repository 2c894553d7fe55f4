package im

// Slots is how many parts the conversations of a journal are in, and its users. What
// is in a slot is in one store, and can be found there without a look at the rest.
// Neither it nor SlotOf ever changes: what they say is stored with every row.
const Slots = 4096

// SlotOf is the slot of a conversation, and of a user's marks: the FNV-1a hash of 64
// bits of the name's bytes (offset basis 14695981039346656037, prime
// 1099511628211), modulo Slots.
func SlotOf[S ~string](name S) uint16 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return uint16(h % Slots)
}
