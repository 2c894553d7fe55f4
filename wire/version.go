package wire

// The protocol versions this package speaks, both included (SPEC §1.4).
const (
	VersionMin uint32 = 1
	VersionMax uint32 = 1
)

// Negotiate picks the highest version that is in [min, max], the other side's
// range, and in this package's. It reports false when there is none.
func Negotiate(min, max uint32) (uint32, bool) {
	return negotiate(min, max, VersionMin, VersionMax)
}

func negotiate(min, max, ourMin, ourMax uint32) (uint32, bool) {
	if max > ourMax {
		max = ourMax
	}
	if min > max || max < ourMin {
		return 0, false
	}
	return max, true
}
