package im

import (
	"strings"
	"testing"
)

func TestParseFolder(t *testing.T) {
	long := strings.Repeat("é", MaxFolder)
	for name, want := range map[string]string{"": "", "Work": "Work", " \u00a0Work and more ": "Work and more", long: long, " " + long + strings.Repeat("\u3000", 200): long, "👩\u200d🍳": "👩\u200d🍳"} {
		if got, err := ParseFolder(name); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]Code{
		long + "x": CodeTooLarge, " " + long + "x": CodeTooLarge, "a\xffb": CodeInvalidArgument, "Work\n": CodeInvalidArgument, "\tWork": CodeInvalidArgument, "\u202emoor": CodeInvalidArgument,
		"  ": CodeInvalidArgument,
	} {
		if got, err := ParseFolder(name); CodeOf(err) != want || got != "" {
			t.Errorf("%q: %q, %v; want %s", name, got, err, want)
		}
	}
}
