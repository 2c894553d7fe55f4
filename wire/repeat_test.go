package wire_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/skein-im/skein/wire"
)

// Of the methods that need no key each is one of services.proto; what is not known
// is taken for what needs one.
func TestRepeatOf(t *testing.T) {
	n := map[wire.Repeat]int{}
	for _, m := range wire.Methods() {
		n[wire.RepeatOf(m.Name())]++
	}
	if want := (map[wire.Repeat]int{wire.RepeatKey: 25, wire.RepeatSame: 11, wire.RepeatReads: 13}); !maps.Equal(n, want) {
		t.Errorf("%v, want %v", n, want)
	}
	for _, unknown := range []string{"", "skein.v1.TeaService/Brew", "skein.v1.GroupService/"} {
		if r := wire.RepeatOf(unknown); r != wire.RepeatKey {
			t.Errorf("%q: %v", unknown, r)
		}
	}
	var words []string
	for r := wire.RepeatKey; r <= wire.RepeatReads; r++ {
		words = append(words, r.String())
	}
	if want := []string{"key", "same", "reads"}; !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
}
