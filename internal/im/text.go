package im

import (
	"maps"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what users and groups show of themselves.
const (
	// MaxPicture is the longest picture in bytes.
	MaxPicture = 500
	// MaxExtraKeys is how many fields of its own the deployment may keep with a user or
	// a group.
	MaxExtraKeys = 16
)

// PicturePattern is of pictures: nothing, the id of an upload, or an https address as
// RFC 3986 writes it: in ASCII, without a user.
const PicturePattern = `^(https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?([/?#]([!-$&-~]|%[0-9A-Fa-f]{2})*)?|[A-Za-z0-9_-]{0,64})$`

var picture = regexp.MustCompile(PicturePattern)

// CheckPicture accepts what shows a user or a group.
func CheckPicture(s *string) error {
	if s != nil && (len(*s) > MaxPicture || !picture.MatchString(*s)) {
		return Wrong("picture", "must be an https address of at most %d bytes, or an id [A-Za-z0-9_-]{1,64}", MaxPicture)
	}
	return nil
}

// CheckLines accepts text of several lines.
func CheckLines(field string, text *string, most int) error {
	if text == nil {
		return nil
	}
	if !utf8.ValidString(*text) || strings.ContainsFunc(*text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return Wrong(field, "must be text without control characters but tab and line feed")
	}
	if n := utf8.RuneCountInString(*text); n > most {
		return TooLarge(field, "has %d characters; at most %d are allowed", n, most)
	}
	return nil
}

// CheckExtraChange accepts a change of the deployment's own fields.
func CheckExtraChange(extra map[string]string) error {
	for key, value := range extra {
		if !ValidKey(key) {
			return Wrong("extra", "must have keys that match [a-z0-9._-]{1,64}")
		}
		if !utf8.ValidString(value) {
			return Wrong("extra", "must have values that are UTF-8")
		}
	}
	return nil
}

// CheckExtra holds what would be kept of these fields to its bounds; most is of the
// bytes of keys and values together.
func CheckExtra(extra map[string]string, most int) error {
	n := 0
	for key, value := range extra {
		n += len(key) + len(value)
	}
	switch {
	case len(extra) > MaxExtraKeys:
		return TooLarge("extra", "would have %d keys; at most %d are allowed", len(extra), MaxExtraKeys)
	case n > most:
		return TooLarge("extra", "would have %d bytes of keys and values; at most %d are allowed", n, most)
	}
	return nil
}

// withExtra is what a change of such fields makes of them: "" takes one away. Nothing of
// old is written to.
func withExtra(old, change map[string]string) map[string]string {
	if len(change) == 0 {
		return old
	}
	extra := make(map[string]string, len(old)+len(change))
	maps.Copy(extra, old)
	maps.Copy(extra, change)
	maps.DeleteFunc(extra, func(_, value string) bool { return value == "" })
	if len(extra) == 0 {
		return nil
	}
	return extra
}
