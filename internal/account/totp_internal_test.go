package account

import (
	"testing"
	"time"
)

// The vectors of RFC 6238, appendix B (SHA-1), of which six digits are the last six of
// eight.
func TestTOTPVectors(t *testing.T) {
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		if got := totpAt([]byte("12345678901234567890"), at/30); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

// A code is right for a step before and after its own, and never when it, or a later one,
// was taken.
func TestTOTPWindow(t *testing.T) {
	secret, now := []byte("12345678901234567890"), time.Unix(1111111109, 0)
	this := now.Unix() / 30
	for drift, right := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
		if got := totpFind(secret, totpAt(secret, this+drift), now, 0); (got == this+drift) != right {
			t.Errorf("%d steps off: %d", drift, got)
		}
	}
	if got := totpFind(secret, totpAt(secret, this), now, this); got != 0 {
		t.Error("a code was taken twice")
	}
	if got := totpFind(secret, totpAt(secret, this-1), now, this); got != 0 {
		t.Error("a code of before one that was taken was taken")
	}
	for _, bad := range []string{"", "1", "1234567", "abcdef"} {
		if totpFind(secret, bad, now, 0) != 0 {
			t.Errorf("%q is a code", bad)
		}
	}
}
