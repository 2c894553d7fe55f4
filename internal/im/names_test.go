package im_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

func TestNamesThatPeopleHave(t *testing.T) {
	for what, name := range map[string]string{
		"ASCII":                       "Ann O'Neill-Smith (3)",
		"accents":                     "Zoë Ångström",
		"accents of their own":        "Zoe\u0308 A\u030angstro\u0308m",
		"Vietnamese, decomposed":      "Nguye\u0302\u0303n",
		"Hebrew with points":          "שָׁלוֹם",
		"Arabic":                      "محمد بن سلمان",
		"Persian with a non-joiner":   "علی\u200cرضا",
		"a number sign of Arabic":     "\u0600\u0661",
		"Hindi with a joiner":         "क्\u200dष",
		"Bengali, a joiner before":    "র\u200d্যাব",
		"Malayalam, at the end":       "ന്\u200d",
		"Burmese, many marks":         "လျှို့ဝှက်",
		"Tibetan":                     "སྒྲུབ་བརྒྱུད",
		"Thai":                        "น้ำผึ้ง",
		"Han":                         "\u9093\u5c0f\u5e73",
		"Han with a variant":          "\u845b\U000e0100\u57ce",
		"Japanese, its own space":     "山田\u3000太郎",
		"Mongolian with a variant":    "\u182d\u180b\u1820",
		"Hangul":                      "김철수",
		"a heart":                     "❤️ Ann",
		"a family":                    "👩‍👩‍👧",
		"a family of several colours": "👩🏽‍🤝‍👨🏻",
		"a scientist":                 "👩🏽‍🔬",
		"a man who runs":              "🏃🏽‍♂️",
		"two who kiss":                "👩‍❤️‍💋‍👨",
		"a head that shakes":          "🙂‍↔️",
		"the rainbow":                 "🏳️‍🌈",
		"a flag":                      "🇩🇪",
		"Scotland":                    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f!",
		"a pirate":                    "🏴‍☠️",
		"a key":                       "1️⃣",
		"of Unicode 17":               "\U0001fac8\u200d\U0001faea",
		"an information":              "ℹ️",
		"as a text":                   "☎︎",
		"a shrug":                     "¯\\_(ツ)_/¯",
		"spaces around":               " a ",
	} {
		if err := im.CheckName("f", name, 1, 64); err != nil {
			t.Errorf("%s: %q: %v", what, name, err)
		}
	}
	if err := im.CheckName("f", "", 0, 64); err != nil {
		t.Errorf("none: %v", err)
	}
	if err := im.CheckName("f", "e"+strings.Repeat("\u0301", im.MaxMarks)+"e\u0301", 1, 64); err != nil {
		t.Errorf("as many marks as there may be, then another one: %v", err)
	}
}

func TestNamesWithTricks(t *testing.T) {
	for what, name := range map[string]string{
		"NUL":                           "a\x00b",
		"a line break":                  "a\nb",
		"a tab":                         "a\tb",
		"delete":                        "a\x7fb",
		"a control character of Latin1": "a\u0085b",
		"a separator of lines":          "a\u2028b",
		"a separator of paragraphs":     "a\u2029b",
		"a zero-width space":            "Ann\u200b",
		"a joiner at the end":           "Ann\u200d",
		"a joiner between letters":      "A\u200dnn",
		"a joiner after an emoji":       "👩\u200d",
		"a joiner after two":            "👩\u200d\u200d👧",
		"a joiner at the beginning":     "\u200d👩",
		"a non-joiner in Latin":         "A\u200cnn",
		"a non-joiner after Arabic":     "علی\u200c",
		"a non-joiner before a space":   "علی\u200c رضا",
		"two non-joiners":               "علی\u200c\u200cرضا",
		"a word joiner":                 "A\u2060nn",
		"a byte order mark":             "\ufeffAnn",
		"a soft hyphen":                 "A\u00adnn",
		"an override":                   "Ann\u202egpj",
		"an embedding":                  "\u202aAnn\u202c",
		"an isolate":                    "\u2067Ann\u2069",
		"a left-to-right mark":          "Ann\u200e",
		"a right-to-left mark":          "\u200fAnn",
		"the mark of Arabic letters":    "\u061cAnn",
		"a grapheme joiner":             "A\u034fnn",
		"a Hangul filler":               "\u3164",
		"another one":                   "Ann\u115f",
		"a narrow one":                  "Ann\uffa0",
		"an annotation":                 "Ann\ufff9x\ufffb",
		"a variant of a letter":         "Ann\ufe0f",
		"a variant of a variant":        "❤\ufe0f\ufe0f",
		"a variant of a digit":          "Ann 1\ufe0f",
		"a Han variant of a letter":     "Ann\U000e0100",
		"a Mongolian variant":           "Ann\u180b",
		"tags":                          "Ann\U000e0067\U000e007f",
		"tags without an end":           "🏴\U000e0067\U000e0062",
		"an end of no tags":             "🏴\U000e007f",
		"many tags":                     "🏴" + strings.Repeat("\U000e0067", 7) + "\U000e007f",
		"tags after the end":            "🏴\U000e0067\U000e007f\U000e0062\U000e007f",
		"an old tag":                    "Ann\U000e0001",
		"a space alone":                 " ",
		"spaces of several widths":      "\u00a0\u2003\u3000",
		"Braille without dots":          "\u2800\u2800",
		"a mark alone":                  "\u0301",
		"a mark on a space":             "Ann \u0301",
		"a flood of marks":              "e" + strings.Repeat("\u0301", im.MaxMarks+1),
		"a flood of several marks":      "Z\u0351\u036b\u0343\u036a\u0302\u036b",
		"a flood, wide ones between":    "က\u1037\u1037\u1037\u103b\u1037\u1037\u1037",
		"invalid UTF-8":                 "a\xffb",
		"none":                          "",
	} {
		err := im.CheckName("f", name, 1, 64)
		if e := (*im.Error)(nil); !errors.As(err, &e) || e.Code != im.CodeInvalidArgument || e.Field != "f" {
			t.Errorf("%s: %q: %v, want invalid_argument that names the field", what, name, err)
		}
	}
	for _, name := range []string{" ", "\u2800", "\u200b"} {
		if err := im.CheckName("f", name, 0, 64); im.CodeOf(err) != im.CodeInvalidArgument {
			t.Errorf("%q, where none is allowed: %v", name, err)
		}
	}
	if err := im.CheckName("f", strings.Repeat("😀", 65), 0, 64); im.CodeOf(err) != im.CodeTooLarge {
		t.Errorf("65 characters: %v", err)
	}
}
