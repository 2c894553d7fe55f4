package im

import "testing"

func TestUsernameShape(t *testing.T) {
	for _, same := range [][]string{
		{"paul", "pau1"}, {"bob", "b0b"}, {"marta", "rnarta"}, {"wim", "vvim", "vvirn"}, {"john.doe", "john_doe", "john-doe"}, {"l1l1", "llll"},
	} {
		for _, name := range same {
			if got, want := UsernameShape(name), UsernameShape(same[0]); got != want {
				t.Errorf("%s looks like %s, %s like %s", name, got, same[0], want)
			}
		}
	}
	for _, two := range [][2]string{{"paul", "paula"}, {"user1", "user2"}, {"johndoe", "john.doe"}, {"ian", "lan"}, {"b0b", "bib"}} {
		if UsernameShape(two[0]) == UsernameShape(two[1]) {
			t.Errorf("%s is taken for %s", two[0], two[1])
		}
	}
}

// Words that mix alphabets to look like others are refused; those of one alphabet, and of
// several where nothing looks the same, are not.
func TestNamesOfSeveralAlphabets(t *testing.T) {
	for _, bad := range []string{"\u0430dmin", "p\u0430ul", "Paul \u0421mith", "\u039fscar", "Mari\u0430", "adm\u03bfn", "\u03bf\u043do", "x\u04300y", "a\u0301\u0430"} {
		if err := CheckName("displayName", bad, 1, 64); err == nil || Public(err).Field != "displayName" {
			t.Errorf("%q (%U): %v", bad, []rune(bad), err)
		}
	}
	for _, good := range []string{
		"Paul", "\u041c\u0430\u0440\u0438\u044f", "\u041f\u0430\u0432\u0435\u043b Smith", "\u0391\u03bd\u03bd\u03b1", "\u0394t", "Z\u00fcrich", "\u5f20wei", "caf\u00e9", "\u03b1-team", "\u5c71\u7530\u592a\u90ce", "O'Brien", "3\u043e",
	} {
		if err := CheckName("displayName", good, 1, 64); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, table := range []rune{'\u0430', '\u0435', '\u043e', '\u0440', '\u0441', '\u0445', '\u0456', '\u03bf', '\u0391', '\u0412'} {
		if latin(table) == 0 {
			t.Errorf("%U looks like nothing", table)
		}
	}
	for r, want := range map[rune]rune{'\u0456': 'i', '\u03b9': 'i', '\u0443': 'y', '\u03a7': 'X', '\u0475': 'v', '\u0444': 0, 'a': 0} {
		if got := latin(r); got != want {
			t.Errorf("%U looks like %q, want %q", r, got, want)
		}
	}
}

func TestReserved(t *testing.T) {
	for _, name := range []string{"admin", "Admin", "ADM1N", "a.d.m.i.n", "adm\u0456n", "\u0430dmin", "r00t", "supp0rt", "no-reply", "noreply", "Every one", "@ll", "acme"} {
		if !Reserved(name, []string{"ACME"}) {
			t.Errorf("%q is not reserved", name)
		}
	}
	for _, name := range []string{"paul", "adminton", "rooty", "", "...", "supporter"} {
		if Reserved(name, []string{"...", ""}) {
			t.Errorf("%q is reserved", name)
		}
	}
}
