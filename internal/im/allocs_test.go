package im_test

import (
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// Every message passes here, and nearly none is wrong: that cost each an allocation.
func TestInOfNothingAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		if im.In("poll", nil) != nil {
			t.Error("nothing is an error")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
