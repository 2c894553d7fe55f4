package wire

// FNV-1a, 64 bits.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// HeadHash is what one conversation adds to a digest (SPEC §7.4): fnv1a64 of
// the conversation's id, ":" and the decimal seq, mixed: without that, the hashes of
// one seq and the next differ by little, and two conversations that lack their last
// entries cancel each other in one of five sums. A digest is the sum of the
// hashes modulo 2^64, so it can be kept up to date by subtracting the hash of
// the old head and adding that of the new one.
func HeadHash(conversation string, seq uint64) uint64 {
	h := uint64(fnvOffset)
	for i := 0; i < len(conversation); i++ {
		h = (h ^ uint64(conversation[i])) * fnvPrime
	}
	h = (h ^ ':') * fnvPrime
	var digits [20]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + seq%10)
		if seq /= 10; seq == 0 {
			break
		}
	}
	for ; i < len(digits); i++ {
		h = (h ^ uint64(digits[i])) * fnvPrime
	}
	return mix(h)
}

// mix makes every bit depend on all (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
