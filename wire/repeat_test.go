package wire_test

import (
	"regexp"
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

// What its name says of a method is what it is: who gets, lists, finds, searches, inspects or
// tests changes nothing, needs no key, and is in the audit log by no act of that kind; all
// others change something, but a link to a file and an export, which read. A method that was
// forgotten in the table counted as one that changes something.
func TestNamesSayWhatReads(t *testing.T) {
	reads := regexp.MustCompile(`/(Get|List|Find|Search|Inspect|Test)[A-Z]`)
	others := []string{"skein.v1.MediaService/LinkMedia", "skein.v1.AdminService/ExportUser"}
	n := 0
	for _, m := range wire.Methods() {
		want := reads.MatchString(m.Name()) || slices.Contains(others, m.Name())
		if got := wire.RepeatOf(m.Name()) == wire.RepeatReads; got != want {
			t.Errorf("%s: reads only: %v, want %v", m.Name(), got, want)
		}
		n++
	}
	if n < 140 {
		t.Errorf("%d methods", n)
	}
}
