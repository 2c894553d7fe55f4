package importing

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// emojiText has a short name and its emoji on each line: the names that Slack (and
// Mattermost), GitHub and Rocket.Chat use, as emojibase-data 17 (MIT) lists them.
//
//go:embed emoji.txt
var emojiText string

var emojis = sync.OnceValue(func() map[string]string {
	all := make(map[string]string, 4096)
	for line := range strings.Lines(emojiText) {
		name, emoji, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = emoji
	}
	return all
})

// skinTones are the names that skins of people have, from the lightest on.
var skinTones = map[string]rune{"2": 0x1f3fb, "3": 0x1f3fc, "4": 0x1f3fd, "5": 0x1f3fe, "6": 0x1f3ff}

// emoji is what a short name without colons means, in Unicode.
func emoji(name string) (string, bool) {
	name, tone, toned := strings.Cut(strings.ToLower(name), "::skin-tone-")
	if i := strings.LastIndex(name, "_tone"); !toned && i > 0 && len(name) == i+6 && name[i+5] >= '1' && name[i+5] <= '5' {
		name, tone = name[:i], string(name[i+5]+1)
	}
	e, ok := emojis()[name]
	if r := skinTones[tone]; ok && r != 0 { // behind the person, the first of what is joined
		first, rest, joined := strings.Cut(e, "\u200d")
		e = strings.TrimSuffix(first, "\ufe0f") + string(r)
		if joined {
			e += "\u200d" + rest
		}
	}
	return e, ok
}

// reaction is what somebody reacted with there, as it is said here: an emoji, or the name of
// one that the workspace made, between colons. "": it cannot be said.
func reaction(name string) string {
	if e, ok := emoji(name); ok {
		return e
	}
	if e := ":" + strings.ToLower(name) + ":"; name != "" && len(e) <= maxReaction && im.CheckName("reaction", e, 1, maxReaction) == nil {
		return e
	}
	return ""
}

const maxReaction = 64

// withEmoji puts emoji in the places of their short names.
func withEmoji(s string) string {
	if !strings.Contains(s, ":") {
		return s
	}
	var b strings.Builder
	for {
		open := strings.IndexByte(s, ':')
		if open < 0 {
			break
		}
		end := open + 1
		for end < len(s) && end-open < 80 && shortNameByte(s[end]) {
			end++
		}
		if end < len(s) && s[end] == ':' && strings.HasPrefix(s[end:], "::skin-tone-") && len(s) > end+13 && s[end+13] == ':' {
			end += 13
		}
		if end < len(s) && s[end] == ':' && end > open+1 {
			if e, ok := emoji(s[open+1 : end]); ok {
				b.WriteString(s[:open])
				b.WriteString(e)
				s = s[end+1:]
				continue
			}
		}
		b.WriteString(s[:open+1])
		s = s[open+1:]
	}
	return b.String() + s
}

func shortNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '+'
}
