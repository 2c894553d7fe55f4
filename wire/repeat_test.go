package wire_test

import (
	"slices"
	"testing"

	"github.com/skein-im/skein/wire"
)

// Of the methods that need no key each is one of services.proto; what is not known
// is taken for what needs one.
func TestRepeatOf(t *testing.T) {
	for name, r := range wire.Repeats() {
		if _, ok := wire.LookupMethod("skein.v1." + name); !ok || wire.RepeatOf("skein.v1."+name) != r || r == wire.RepeatKey {
			t.Errorf("%s, %v", name, r)
		}
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
