package export

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A name in the zip is one that is a file's name on every system, in the folder where it is
// to be, and says what it seems to say.
func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{
		"":                        "",
		"plan.pdf":                "plan.pdf",
		"../../etc/passwd":        "_.._etc_passwd",
		`C:\x.exe`:                "C__x.exe",
		"..":                      "",
		" . ":                     "",
		"a\x00b\x1b[2J\nc.txt":    "ab[2Jc.txt",
		"photo\u202egpj.exe":      "photogpj.exe",
		"\u2066x\u2069\u200b.txt": "x.txt",
		"日本 ä\u00a0b.txt":         "日本 ä b.txt",
		"x|y?<z>*\".txt":          "x_y__z___.txt",
		"a\xffb":                  "a_b",
		"end. ":                   "end",
	} {
		if got := SafeName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	long := SafeName(strings.Repeat("ä", 200) + ".jpeg")
	if len(long) > maxSafe || !utf8.ValidString(long) || !strings.HasSuffix(long, "ä.jpeg") {
		t.Errorf("%q", long)
	}
}
