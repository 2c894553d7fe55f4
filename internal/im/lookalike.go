package im

import (
	"strings"
	"unicode"
)

// UsernameShape is what a username looks like: two that have the same are taken for each
// other. l and 1, o and 0, m and rn, w and vv are told apart by few, and the characters
// between the words of a name by nobody who heard it. It is what the directory's index
// users_shape has.
func UsernameShape(username string) string {
	for _, like := range usernameLikes() {
		username = strings.ReplaceAll(username, like[0], like[1])
	}
	return username
}

// usernameLikes are replaced in this order.
func usernameLikes() [][2]string {
	return [][2]string{{"1", "l"}, {"0", "o"}, {"rn", "m"}, {"vv", "w"}, {"_", "-"}, {".", "-"}}
}

// latin is the letter of the Latin alphabet that a Cyrillic or Greek one looks like, 0 for
// one that looks like none: the common ones of Unicode TS 39 (confusables).
func latin(r rune) rune {
	const (
		others = "авекмнорстухѕіјԁԛԝһӏѵАВЕКМНОРСТУХЅІЈԚԜҺӀѴ" + "ονιαρυτκγχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
		latins = "abekmhopctyxsijdqwhlvABEKMHOPCTYXSIJQWHIV" + "oviaputkyxABEZHIKMNOPTYX"
	)
	at := 0
	for _, other := range others {
		if other == r {
			return rune(latins[at])
		}
		at++
	}
	return 0
}

// lookalike is the first letter of a word that is none of the Latin alphabet, looks like one
// of it, and stands beside letters of another alphabet: 0 if there is none. Nobody writes
// so but who wants to be taken for somebody else: "аdmin", with a Cyrillic а.
func lookalike(name []rune) rune {
	var found rune
	scripts := map[*unicode.RangeTable]bool{}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) {
			found, scripts = 0, map[*unicode.RangeTable]bool{}
			continue
		}
		for _, s := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek} {
			if unicode.Is(s, r) {
				scripts[s] = true
			}
		}
		if found == 0 && latin(r) != 0 {
			found = r
		}
		if found != 0 && len(scripts) > 1 {
			return found
		}
	}
	return 0
}

// reservedNames are those of the server, of who runs it, and of everybody, by which nobody
// is to call themselves.
func reservedNames() []string {
	return []string{
		"admin", "administrator", "root", "superuser", "sysadmin", "system", "server", "skein", "support", "help", "helpdesk", "service",
		"moderator", "mod", "staff", "team", "owner", "operator", "official", "security", "abuse", "webmaster", "postmaster", "hostmaster", "noreply",
		"everyone", "everybody", "all", "here", "channel", "anyone", "nobody", "deleted", "me", "you", "null", "undefined", "bot", "api",
	}
}

// Reserved tells whether a name is one of those that are reserved, or of more, or looks like
// one: whatever the case, with digits for letters, letters of other alphabets, and anything
// between them. Its letters must be in their compatible form (NFKC).
func Reserved(name string, more []string) bool {
	key := reservedKey(name)
	for _, list := range [][]string{reservedNames(), more} {
		for _, r := range list {
			if reservedKey(r) == key {
				return key != ""
			}
		}
	}
	return false
}

// reservedKey is a name without what is between its letters, and with one letter for those
// that look alike.
func reservedKey(name string) string {
	var b strings.Builder
	for _, r := range name {
		if l := latin(r); l != 0 {
			r = l
		}
		switch r = unicode.ToLower(r); {
		case r == 'i' || r == '1' || r == '|':
			r = 'l'
		case r == '0':
			r = 'o'
		case r == '3':
			r = 'e'
		case r == '5' || r == '$':
			r = 's'
		case r == '4' || r == '@':
			r = 'a'
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
